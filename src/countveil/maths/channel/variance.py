"""The variance of the unbiased estimate of one count, by how groups are formed.

Enters: the true count x among n rows, the count f in the whole table of `rows` rows, the chance to
keep a value. Leaves: the variance. Must not know: where the numbers come from. Theory:
docs/theory/estimates.md, "Unbiased, one column", and docs/theory/frontier.md.

b is computed from the histogram of the same release. Its noise is shared with y and works as a
control variate, so leaving it out gives intervals that are far too wide for large predicates.

**Groups of different values.** With b' = db/df, E = x + (n - x) min(b/a, 1) the rows of P whose
group contains s, and H = (n - x) (b/a) (1 - b/a) (1 - (n - x)/(N - f)) the variance of how many of
the others' groups do:

    Var = [ (E - 2 (n - x) b' E + ((n - x) b')^2 f / a) a (1 - a) + a^2 H ] / (a - b)^2

which is f (1 - 1/ell) at n = N.

**Random groups.** With p = f/N, a = k + (1 - k) p, b = (1 - k) p, D = x - n p and k the chance that
a row publishes what is its own:

    Var = [ x a (1 - a) + (n - x) b (1 - b) + (1 - k) k / N (D^2 - n^2 p (1 - p))
            - (1 - k)^2 (1 + k) n^2 p (1 - p) / N - 2 (1 - k)^2 k n (1 - 2 p) D / N ] / (a - b)^2

which is f (1 - p) (1 - k) at n = N. Both are quadratics in x.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unbiased_variance(x: Floats, n: Floats, f: Floats, rows: float, keep: float) -> Floats:
    """With groups of different values, when x of the n rows, and f of all rows, have the value."""
    whole = n == rows
    # At n = N the formula is f (1 - a) whatever a - b is; there x is f.
    divisor = np.where(whole, 1.0, (rows * keep - f) / (rows - f))
    others = n - x
    shared = np.minimum(f * (1 - keep) / ((rows - f) * keep), 1.0)
    slope = (1 - keep) * rows / (rows - f) ** 2
    with_s = x + others * shared
    drawn = with_s - 2 * others * slope * with_s + (others * slope) ** 2 * f / keep
    grouped = others * shared * (1 - shared) * (1 - others / (rows - f))
    variance = (drawn * keep * (1 - keep) + keep**2 * grouped) / divisor**2
    result: Floats = np.where(whole, x * (1 - keep), variance)
    return result


def random_variance(x: Floats, n: Floats, f: Floats, rows: float, keep: Floats | float) -> Floats:
    """With random groups. `keep` is k; with it the estimate divides by k - (1 - k)/(rows - 1)."""
    p = f / rows
    a, b = keep + (1 - keep) * p, (1 - keep) * p
    beyond, spread = x - n * p, p * (1 - p)
    single = x * a * (1 - a) + (n - x) * b * (1 - b)
    pairs = (1 - keep) * keep * (beyond**2 - n**2 * spread)
    histogram = (1 - keep) ** 2 * ((1 + keep) * n**2 * spread + 2 * keep * n * (1 - 2 * p) * beyond)
    gap = keep - (1 - keep) / max(rows - 1, 1)
    variance = (single + (pairs - histogram) / rows) / gap**2
    # For the whole table x is f, and the estimate is the published count itself.
    result: Floats = np.where(n == rows, x * (1 - x / rows) * (1 - keep), variance)
    return result
