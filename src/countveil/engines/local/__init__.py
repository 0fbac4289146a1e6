"""The engine inside the process: DuckDB, Arrow and NumPy.

Enters: a source (`engine`), or the files of a release (`release_table`). Leaves: an opened
table with the verbs of the contract. The two sides are imported separately: an analyst loads
nothing of the publisher's.
"""
