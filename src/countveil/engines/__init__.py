"""Engines do the work on tables: they count, publish and tally. Start at `contract`.

Enters: descriptions (source, query). Leaves: counts, files. An engine has no statistics and no
policy; it reads, calls the kernels of `maths.mechanism`, and writes. Heavy libraries are imported
here only, and only when an engine is used. `choice` picks one: `local/` for this process,
`databases/` for releases in a database, `spark/` for a cluster.
"""
