"""What differs between a session in this process and one of Spark Connect.

Enters: a session. Leaves: the same verbs for both: numbers of partitions, settings, files, inputs
at the workers. Must not know: what is published.

With Spark Connect this process is a client: there is no context, no RDD, no broadcast and no way to
Java. Data frames are the same, so all that is done to rows is the same code. Start at `kinds`.
"""
