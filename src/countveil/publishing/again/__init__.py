"""Publishing again: a release that continues earlier ones through a ledger.

Enters: an open ledger, the prepared table, settings. Leaves: what is counted, drawn, said and
written down. Must not know: how groups are formed, SQL. Start at `continuing`. Theory:
docs/theory/cases.md.
"""
