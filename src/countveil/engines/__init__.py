"""Engines do the work on tables: three verbs, histogram, publish and tally.

Enters: descriptions (source, query). Leaves: counts, files. An engine holds no statistics and no
policy; it reads, calls the kernels of `mechanism`, and writes. Heavy libraries are imported here
only, and only when an engine is used.
"""
