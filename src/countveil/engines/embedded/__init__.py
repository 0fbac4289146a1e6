"""The engine inside the process: DuckDB, Arrow and NumPy.

Enters: a source, or the files of a release. Leaves: an opened table with the verbs of the contract.
"""

from countveil.engines.embedded.release_table import open_release_table
from countveil.engines.embedded.source_table import open_source_table

__all__ = ["open_release_table", "open_source_table"]
