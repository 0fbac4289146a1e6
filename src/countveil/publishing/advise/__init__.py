"""Before publishing: what is in a table, and which ell to choose.

    inspect      identifiers, giveaways, eligible ells          -> `Inspection`
    advise       every method and ell, tried out on the table   -> `Advice`

Enters: a table, columns to protect, goals. Leaves: figures, a recommendation, sentences. Must not
know: how an engine reads. Nothing is written.
"""
