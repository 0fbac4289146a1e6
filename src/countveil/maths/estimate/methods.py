"""The estimators by name, and what goes together.

Enters: names and numbers as a user wrote them. Leaves: nothing, or a refusal. Must not know: SQL,
files.
"""

from __future__ import annotations

from countveil.errors import SettingsError
from countveil.maths.channel import CHANNELS

METHODS = ("shrunk", "unbiased", "bayes")


def check_method(method: str, channel: str, level: float) -> None:
    """Refuse what does not exist or does not go together."""
    if method not in METHODS:
        raise SettingsError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if channel not in CHANNELS:
        raise SettingsError(f"channel must be one of {', '.join(CHANNELS)}, got {channel!r}.")
    if method != "bayes" and channel == "printed":
        raise SettingsError(
            "channel 'printed' goes with method 'bayes' only: it reproduces the paper's iteration. "
            "With it no other estimate would be right."
        )
    if not 0 < level < 1:
        raise SettingsError(f"level must lie between 0 and 1, such as 0.95; got {level}.")
