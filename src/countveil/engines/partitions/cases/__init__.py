"""Persons with several rows on a cluster: their cases, wherever the rows of a case are.

Enters: the partitions of a table, what every case publishes. Leaves: the cases of the table on the
driver, and the rows of each partition as they are published. Must not know: draws. Start at
`tasks`, which says how a task and the driver speak of the same cases.
"""
