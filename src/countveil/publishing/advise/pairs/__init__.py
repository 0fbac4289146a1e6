"""Two protected columns: published apart, each with its own groups, or together, in one draw.

    association   figures from shares alone, for `inspect` and for a warning of `publish`
    trials        trial releases of pairs, with the default estimates
    columns       which pairs are compared, and on which rows
    compare       both ways at several ells, and which one to take       -> `PairAdvice`
    advice        the same as tables and sentences

Enters: the codes of two sensitive columns, plain ones to ask about. Leaves: figures, sentences.
Must not know: how an engine reads, where anything is printed.
"""
