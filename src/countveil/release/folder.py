"""The layout of a release folder.

Enters: a path. Leaves: its manifest, checked. Must not know: what the data say.
"""

from __future__ import annotations

from pathlib import Path

from countveil.address import refuse_as_folder
from countveil.errors import ReleaseError
from countveil.release.manifest import Manifest

MANIFEST_NAME = "manifest.json"
DATA_FOLDER = "data"
REPORT_NAME = "report.html"
_MANIFEST_LIMIT = 256 * 1024 * 1024


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the release in `folder`."""
    path = folder / MANIFEST_NAME
    try:
        if not folder.exists():
            refuse_as_folder(folder)
            raise ReleaseError(f"There is no release at {folder}: the folder does not exist.")
        if not folder.is_dir():
            raise ReleaseError(f"{folder} is a file. A release is a folder with a {MANIFEST_NAME}.")
        if not path.is_file():
            raise ReleaseError(f"{folder} is not a release: it has no {MANIFEST_NAME}.")
        if path.stat().st_size > _MANIFEST_LIMIT:
            raise ReleaseError(f"{path} is too large to be a manifest.")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReleaseError(f"{path} is damaged: it is not UTF-8 text.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not a possible one"
        raise ReleaseError(f"{path} cannot be read: {why}.") from error
    try:
        return Manifest.from_json(text)
    except ReleaseError as error:
        raise ReleaseError(f"{path}: {error}") from error
