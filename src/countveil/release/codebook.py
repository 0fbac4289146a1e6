"""The labels that a release gives to its columns and values, and the descriptions beside its data.

Enters: labels that may be public; what a manifest lists. Leaves: both as JSON and back, checked.
Must not know: the source of labels, what is in a description.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from countveil.release.manifest import METADATA_NAMES, ReportFile, is_whole

if TYPE_CHECKING:
    from countveil.release.manifest import PublishedColumn


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """What a column is called in words, and what some of its published values stand for.

    Values that were replaced by their labels are in the `Preparation` of the release instead.
    """

    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values for the manifest; what says nothing is left out."""
        parts = {"label": self.label, "values": dict(self.values)}
        return {name: part for name, part in parts.items() if part}


def read_codebook(content: Any, columns: Sequence[PublishedColumn]) -> dict[str, ColumnLabels]:
    """The labels of columns; ValueError or TypeError says what cannot be right."""
    if not isinstance(content, dict) or not set(content) <= {column.name for column in columns}:
        raise ValueError("'codebook' names a column that the release does not have")
    codebook = {name: ColumnLabels(**entry) for name, entry in content.items()}
    for entry in codebook.values():
        if not isinstance(entry.values, dict):
            raise TypeError("the labels of values are not an object")
        if not all(isinstance(text, str) for text in (entry.label, *entry.values.values())):
            raise TypeError("a label is not text")
        if not entry.as_json():
            raise ValueError("a column of 'codebook' has no label")
    return codebook


def read_metadata(content: Any) -> dict[str, ReportFile]:
    """The descriptions beside the data; ValueError or TypeError says what cannot be right."""
    if not isinstance(content, dict) or not set(content) <= set(METADATA_NAMES):
        raise ValueError("'metadata' lists an unknown format")
    files = {name: ReportFile(**entry) for name, entry in content.items()}
    if not all(is_whole(file.bytes, 1) and isinstance(file.sha256, str) for file in files.values()):
        raise ValueError("the size or checksum of a description is impossible")
    return files
