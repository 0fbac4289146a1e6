"""Looking at a table before it is published: who could be recognised, what gives values away.

Enters: columns as codes and some of their values. Leaves: findings with measured figures, in words
that quote no value. Must not know: files, how an engine reads, how anything is published.
"""

from countveil.publishing.safety.column_kinds import (
    little_histogram,
    looks_missing,
    sounds_sensitive,
)
from countveil.publishing.safety.concerns import (
    Concerns,
    check_safe,
    find_concerns,
    giveaway_sentence,
    sample_size,
)
from countveil.publishing.safety.giveaways import Giveaway, find_giveaways
from countveil.publishing.safety.identifiers import identifier_reason

__all__ = [
    "Concerns",
    "Giveaway",
    "check_safe",
    "find_concerns",
    "find_giveaways",
    "giveaway_sentence",
    "identifier_reason",
    "little_histogram",
    "looks_missing",
    "sample_size",
    "sounds_sensitive",
]
