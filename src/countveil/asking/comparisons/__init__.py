"""Estimates joined with each other: arithmetic on aggregates, groups compared, tests.

Enters: estimated totals, or a release and conditions. Leaves: estimates with errors that know how
totals depend on each other, and p-values. Must not know: the publisher's side.
"""
