"""Models of a release: regressions, and the weights of rows with which anybody can fit them.

Enters: formulas, columns. Leaves: coefficients with errors, Arrow streams of weights. Must not
know: the publisher's side, engines. Loaded only when it is asked for.
"""
