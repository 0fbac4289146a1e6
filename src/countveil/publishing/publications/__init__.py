"""Was this table published before? A private record beside the releases may know.

Enters: a table that is published, the folder of its release. Leaves: a line in a private file
beside it, and a warning where earlier lines show the same people. Must not know: groups, draws.

    record    the file and its entries
    sketch    who is in a table, as a few hundred hashes
    overlap   how many of a table's people an earlier entry has, and the warning
"""
