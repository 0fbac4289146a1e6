"""The audit: attacks on our own releases, compared with what is promised. Start at `auditor`.

Enters: the publisher's table, and a release of it or the settings of a planned one. Leaves: an
`Audit`. Must not know: how a command or a page shows it.

    auditor    the path from a table to an audit
    case       what is audited: table and release, brought together (`linking`, `target`)
    attacks/   one file per adversary, and the table of all of them
    findings   what an attack returns, and the verdicts; `summary` shows them
    chance     p-values and intervals; `beliefs` computes what an adversary believes
"""
