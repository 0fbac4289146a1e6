"""The channel: P(published value | true value), and what an analyst can know of it.

Enters: plain arrays (counts, number of rows, ell, group templates). Leaves: probabilities.
Must not know: where the numbers come from. Pure mathematics, shared by both sides of a release:
the publisher aims at the design of `design.py` (mixed groups) or runs `greedy_templates`, and an
analyst fits the same design, or runs the same public algorithm, on the published histogram.
Theory: docs/theory/channel.md.
"""

from countveil.maths.channel.design import Design, design_channel, expected_pairs, fit_design
from countveil.maths.channel.greedy import greedy_templates
from countveil.maths.channel.templates import Templates, channel_matrix
from countveil.maths.channel.view import (
    GROUP_METHODS,
    RESIDUES,
    ChannelView,
    b_exact,
    keep_probability,
    view_of_release,
)

__all__ = [
    "GROUP_METHODS",
    "RESIDUES",
    "ChannelView",
    "Design",
    "Templates",
    "b_exact",
    "channel_matrix",
    "design_channel",
    "expected_pairs",
    "fit_design",
    "greedy_templates",
    "keep_probability",
    "view_of_release",
]
