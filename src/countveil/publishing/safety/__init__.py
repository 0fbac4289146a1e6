"""What must stop a publication: who could be recognised, what gives sensitive values away.

Enters: columns as codes and some of their values. Leaves: concerns with measured figures, in words
that quote no value. Must not know: files, how an engine reads, how anything is published. Start at
`concerns.find_concerns`.

    patterns       what values look like by themselves, and cells that do not look like the others
    identifiers    who somebody is: by a column's name (vocabulary), by its values, by a value that
                   comes back with the same sex and year of birth
    giveaways      plain columns that give a sensitive value away on average; too rare values
    slices         plain columns that give one away in a part of the table
    concerns       all of them, and the error that stops
"""

from countveil.publishing.safety.concerns import (
    Concerns,
    check_safe,
    find_concerns,
    identifier_sentence,
    sample_size,
    to_leave_out,
    with_whole_table,
)
from countveil.publishing.safety.giveaways import (
    Fineness,
    Giveaway,
    about_odds,
    find_giveaways,
    fine_remedy,
    fineness_of,
    fineness_sentence,
    giveaway_sentence,
)
from countveil.publishing.safety.identifiers import (
    Facts,
    Suspicion,
    sounds_sensitive,
    suspicion,
    uniqueness,
)
from countveil.publishing.safety.patterns import looks_missing
from countveil.publishing.safety.slices import SliceGiveaway, find_slices, slice_sentence

__all__ = [
    "Concerns",
    "Facts",
    "Fineness",
    "Giveaway",
    "SliceGiveaway",
    "Suspicion",
    "about_odds",
    "check_safe",
    "find_concerns",
    "find_giveaways",
    "find_slices",
    "fine_remedy",
    "fineness_of",
    "fineness_sentence",
    "giveaway_sentence",
    "identifier_sentence",
    "looks_missing",
    "sample_size",
    "slice_sentence",
    "sounds_sensitive",
    "suspicion",
    "to_leave_out",
    "uniqueness",
    "with_whole_table",
]
