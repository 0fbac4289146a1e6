"""Tables before they are published: where they are, how they are read, their columns and roles.

Enters: whatever the publisher names or passes, and options. Leaves: checked descriptions and
options; blocks of encoded columns. Must not know: groups, draws, which engine publishes. The
modules of this folder describe and read no data file, except the small ones in which a publisher
lists values; only `readers/` reads data.

Start at `sources` (what was named, and which reader opens it) and `options` (how to read and shape
it), then `readers/`; `encoded/` is how rows are represented, `storage/` where they are kept.
"""

from countveil.tables.classes import Bins, Classes, put_into_classes
from countveil.tables.columns import Column, Roles, TableFacts, assign_roles, check_named
from countveil.tables.options import (
    PLAIN_CSV,
    CsvStyle,
    Reading,
    Shaping,
    SourceOptions,
    table_options,
)
from countveil.tables.sources import (
    DatabaseSource,
    FileSource,
    FrameSource,
    Source,
    describe_source,
    input_files,
)

__all__ = [
    "PLAIN_CSV",
    "Bins",
    "Classes",
    "Column",
    "CsvStyle",
    "DatabaseSource",
    "FileSource",
    "FrameSource",
    "Reading",
    "Roles",
    "Shaping",
    "Source",
    "SourceOptions",
    "TableFacts",
    "assign_roles",
    "check_named",
    "describe_source",
    "input_files",
    "put_into_classes",
    "table_options",
]
