"""Groups by the paper's greedy creation, for the publisher.

Enters: the true histogram, ell. Leaves: the composition. Must not know: tuples, randomness.

The algorithm itself is public mathematics and lives with the channel, where an analyst can reach it
without reaching anything of the publisher's. Similar frequencies meet again and again in these
groups, which is bad for accuracy and lets an adversary narrow candidates down.
"""

from countveil.channel import greedy_templates as anatomy_groups

__all__ = ["anatomy_groups"]
