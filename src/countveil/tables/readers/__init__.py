"""Readers: any source as blocks of encoded columns.

Enters: a source description. Leaves: blocks that can be read span by span, again and again. Must
not know: what the columns are for.

`open_blocks` in `tables/sources.py` chooses a reader; `blocks` says what every reader provides.
What can be read only once goes through `streams`; `row_filter` applies `--where` and `--columns`.
"""
