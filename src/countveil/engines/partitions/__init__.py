"""What all engines share whose tables are in partitions: Spark's and Dask's.

Enters: the rows of one partition, in a task; or what tasks counted, on the driver. Leaves: counts,
plans, rows as they are published. Must not know: any engine library, how tasks are started.

    table        the verbs of `SourceTable` that need nothing but counts by partition
    tasks        what runs where a partition is
    task_inputs  what the driver tells the tasks, encrypted
    counts       what tasks count, on the driver
    cases/       persons with several rows
"""

# What a task raises whose rows are not those that were counted. Here, so that whoever runs tasks to
# answer questions loads nothing of the publisher's side.
CHANGED = "The table changed while it was read"
