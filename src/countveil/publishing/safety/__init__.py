"""What must stop a publication: who could be recognised, what gives sensitive values away.

Enters: columns as codes and some of their values. Leaves: concerns with measured figures, in words
that quote no value. Must not know: files, how an engine reads, how anything is published. Start at
`concerns.find_concerns`.
"""

from countveil.publishing.safety.concerns import (
    Concerns,
    Giveaway,
    check_safe,
    find_concerns,
    find_giveaways,
    giveaway_sentence,
    sample_size,
)
from countveil.publishing.safety.identifiers import (
    identifier_reason,
    looks_missing,
    sounds_sensitive,
)

__all__ = [
    "Concerns",
    "Giveaway",
    "check_safe",
    "find_concerns",
    "find_giveaways",
    "giveaway_sentence",
    "identifier_reason",
    "looks_missing",
    "sample_size",
    "sounds_sensitive",
]
