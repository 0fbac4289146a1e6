"""Which ell: what each one would cost and protect, tried out on the table itself.

Enters: histograms, codes of some rows, wishes. Leaves: figures per ell, what stands in the way of a
larger one, a recommendation, words. Must not know: files, engines.
"""
