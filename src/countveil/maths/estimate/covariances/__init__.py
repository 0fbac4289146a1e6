"""How errors depend on each other: what rows share in one draw, and what follows for comparisons.

`draw` has the covariance of totals of one column, `one_column` what answers use of it,
`whole_table` what is left where a part of the table says nothing. Must not know: SQL. Theory:
docs/theory/covariance.md.
"""
