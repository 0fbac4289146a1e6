"""The method as mathematics: arrays in, arrays out.

Enters: counts, codes, ell, streams of random numbers. Leaves: groups, published codes, estimates,
probabilities. Must not know: columns by name, files, engines, SQL.

Start at `channel/` and `groups/`; docs/theory has the derivations.

    channel/      P(published value | true value), and what an analyst can know of it
    groups/       the publisher's decoy groups for a histogram
    mechanism/    which value each row publishes
    estimate/     true counts, estimated from published ones
    guarantees/   how near published counts are to the true ones, and the promise in words
    adversary/    what somebody believes about a person, without a release and with it
    bounds        from which error on an answer is not shown
    paper/        what only the paper computes, kept for comparison
"""
