"""Mechanism A': from the composition of groups and a stream to what each row publishes.

Enters: group templates, value codes of rows block by block, streams. Leaves: published codes. Must
not know: column names, values, other columns, files. Start at `draw`, then `deal`; `split` is for
tables whose partitions are dealt separately.
"""

from countveil.maths.mechanism.deal import Dealer
from countveil.maths.mechanism.draw import PublishedTable, draw_column, draw_published

__all__ = ["Dealer", "PublishedTable", "draw_column", "draw_published"]
