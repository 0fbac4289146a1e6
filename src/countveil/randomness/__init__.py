"""The only room that makes randomness.

Enters: nothing (a fresh 256-bit key from the operating system) or, for experiments, a seed.
Leaves: fresh keys, and one labelled `Stream` per purpose. Must not know: what the numbers are for.
Streams are loaded when they are first named: the app's first page needs a secret, and no arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from countveil.randomness.keys import fresh_key

if TYPE_CHECKING:
    from countveil.randomness.streams import Randomness, Stream, TaskKey, Word

__all__ = ["Randomness", "Stream", "TaskKey", "Word", "fresh_key"]


def __getattr__(name: str) -> object:
    """Load the streams, and with them all of their names."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    streams = import_module("countveil.randomness.streams")
    names: dict[str, object] = {each: getattr(streams, each) for each in __all__}
    globals().update(names)
    return names[name]
