"""Releases that lie in a database, and SQL for databases that are not ours.

Enters: addresses, expressions. Leaves: statements in a database's own words, tallies counted inside
it. Must not know: estimators, the publisher's side.
"""
