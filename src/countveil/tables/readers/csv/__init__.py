"""CSV files as blocks. Start at `reader`.

Enters: paths, and how the files are written. Leaves: blocks of typed columns. Must not know: what
the columns are for.

    decoding -> chunks -> types -> reader       bytes, records, types that fit, blocks
"""
