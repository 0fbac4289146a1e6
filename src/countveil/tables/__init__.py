"""What a table is before it is published: where it lives, its format, its columns and their roles.

Enters: whatever the publisher handed over. Leaves: a description that an engine can read.
Must not know: how it is read, what happens to it next. Nothing here opens a data file; the small
files in which a publisher lists values are read here.
"""

from countveil.tables.classes import Bins, Classes, put_into_classes
from countveil.tables.columns import Column, Roles, assign_roles, check_named
from countveil.tables.locate import (
    DatabaseSource,
    FileSource,
    FrameSource,
    Source,
    describe_source,
)
from countveil.tables.options import (
    PLAIN_CSV,
    CsvStyle,
    Reading,
    Shaping,
    SourceOptions,
    table_options,
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
    "assign_roles",
    "check_named",
    "describe_source",
    "put_into_classes",
    "table_options",
]
