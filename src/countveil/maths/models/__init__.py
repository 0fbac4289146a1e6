"""Models fitted to what a release publishes: regressions and quantiles.

Enters: counted rows by plain values and published values, and the channels. Leaves: coefficients
and quantiles with their errors. Must not know: formulas, SQL, engines. Theory:
docs/theory/models.md.
"""
