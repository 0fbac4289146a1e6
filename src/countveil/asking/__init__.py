"""Asking: from a release to answers. The analyst's side.

Enters: a release (a folder, or a table in a database) and questions. Leaves: estimates with errors,
intervals and verdicts; the release in a database; SQL that another program can run. Must not know:
the publisher's side.

Start at `release.Release`: open -> parse -> tally -> estimate -> answer.

    release      the public class, and `open`
    answer       one question: tallies become estimates, filtered, ordered and labelled
    batch        many counts at once
    result       what a question returns; `crosstab` lays it out as a matrix
    comparisons/ aggregates joined by arithmetic, groups compared, tests
    export       a release loaded into a database
    portable/    the same answers as plain SQL, for databases without countveil
"""
