"""The engine on a cluster: Apache Spark runs the same kernels where the rows are.

Enters: a table that Spark can read (`engine`), or a release on a file system that it reaches
(`release_table`). Leaves: an opened table with the verbs of the contract. No row passes through
the driver, which is this process; it has counts, what was drawn from them, and the list of files.

    count     every task counts the values of its partition of the table
    split     the driver draws Y and splits it over the partitions
    deal      every task deals its partition's share to its rows, and draws a key for each row
    exchange  rows go where their key says, and are put in the order of the keys
    write     one file per partition of the exchange
"""
