"""What a table is before it is published: where it lives, its format, its columns and their roles.

Enters: whatever the publisher handed over. Leaves: a description that an engine can read.
Must not know: how it is read, what happens to it next. Nothing here opens a data file.
"""

from countveil.source.columns import Column, Roles, assign_roles
from countveil.source.locate import FileSource, FrameSource, Source, describe_source

__all__ = [
    "Column",
    "FileSource",
    "FrameSource",
    "Roles",
    "Source",
    "assign_roles",
    "describe_source",
]
