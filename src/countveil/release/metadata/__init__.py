"""Descriptions of a release for archives and catalogues: DDI-Codebook, Croissant, DCAT.

Enters: the manifest of a release. Leaves: the text of each description that was asked for. Must not
know: anything else. So a description holds only what is published anyway, and whoever has a release
can make the same one again. Start at `described`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from countveil.errors import SettingsError, option
from countveil.release.draft import ReleaseDraft
from countveil.release.manifest import METADATA_NAMES, Manifest


def chosen_formats(given: str | Iterable[str]) -> tuple[str, ...]:
    """The formats that a caller named, in a text with commas or in a list; each once."""
    listed = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(text, str) for text in listed):
        raise SettingsError(f"Formats of {option('metadata')} are texts: {_known()}.")
    names = [name.strip().lower() for text in listed for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METADATA_NAMES:
            raise SettingsError(
                f"There is no metadata format {name!r} for {option('metadata')}. Available: "
                f"{_known()}."
            )
    return tuple(dict.fromkeys(names))


def with_metadata(manifest: Manifest, draft: ReleaseDraft, formats: Sequence[str]) -> Manifest:
    """Put descriptions into a draft; the manifest that lists them."""
    texts = metadata_texts(manifest, formats)
    files = {name: draft.add_file(METADATA_NAMES[name], text) for name, text in texts.items()}
    return replace(manifest, metadata=files)


def metadata_texts(manifest: Manifest, formats: Sequence[str]) -> dict[str, str]:
    """By format, the description of the release; it depends on the manifest alone."""
    from countveil.release.metadata.croissant import croissant_text
    from countveil.release.metadata.dcat import dcat_text
    from countveil.release.metadata.ddi import ddi_text
    from countveil.release.metadata.described import described

    release = described(manifest)
    writers = {"ddi": ddi_text, "croissant": croissant_text, "dcat": dcat_text}
    return {name: writers[name](release) for name in formats}


def _known() -> str:
    return ", ".join(METADATA_NAMES)
