"""Series of releases that a ledger holds together, as an adversary has them: linked, by cases.

Enters: a table and a plan, or the releases of a series. Leaves: a `LinkedSeries`. Must not know:
attacks, reports.

    linked      what the linked rows of all releases publish, by cases and batches
    simulated   a series like the planned one, published with a ledger of its own
    finished    releases that are there, linked by their plain columns
"""
