"""What is random behaves as the mathematics says, for any seed.

Every test states how often it fails although nothing is wrong: at most once in a million runs
(`bounds.FALSE_ALARM`). The bounds are proven for finite samples, not asymptotic.
"""
