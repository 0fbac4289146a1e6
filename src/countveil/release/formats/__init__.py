"""The formats of a release's data files. Start at `data_files`.

Enters: data files, or Arrow tables. Leaves: rows with exactly the types that the manifest lists.
Must not know: what the rows are for. `stata_spss` has the two formats that need a library.
"""
