"""The engine on a Dask cluster, or on Dask's threads: the kernels of `engines/partitions`.

Enters: Parquet files that all workers reach, or a data frame of Dask (`engine`); a release in a
folder that they reach (`release_table`). Leaves: an opened table with the verbs of the contract. No
row passes through the driver, which is this process.

    count     every task counts the values of its partition of the table
    split     the driver draws Y and splits it over the partitions
    deal      every task deals its own share to its rows, draws a key for each row, and writes the
              rows in the order of the keys, encrypted, into the draft's folder
    merge     one task for every data file reads its range of keys from all of them

The exchange goes through the folder of the release, which all workers must reach anyway: the graph
has a task for each partition and one for each file, no task needs more memory than these, and what
Dask does with a lost worker cannot change a row (see `exchange`).
"""
