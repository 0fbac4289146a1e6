"""Encoded columns: some rows in few bytes (`encoding`), and what a whole column holds (`survey`).

Enters: Arrow arrays, stripped of all that is not their rows (`plain_arrays`). Leaves: encoded
columns, and a survey of every column. Must not know: where rows come from, where they go, which
machine they are on.
"""
