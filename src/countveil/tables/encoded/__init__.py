"""Columns as every engine sees them: Arrow arrays, their values as codes, what all rows hold.

Enters: arrays of some rows. Leaves: pieces in few bytes, and a survey of the whole column. Must not
know: where rows come from, where they go, which machine they are on.
"""
