"""A made-up census, to try things on. Start at `census.generate`.

Enters: a number of rows, perhaps a seed. Leaves: a table or a file. Must not know: anything about
publishing. People, shares and dependences are invented; they only look like a census.
"""

from countveil.synthetic.census import generate
from countveil.synthetic.people import COLUMNS, expected_shares, people

__all__ = ["COLUMNS", "expected_shares", "generate", "people"]
