"""What goes beyond the paper: skewed columns, columns crossed, bounds on the odds.

Enters: numbers. Leaves: Markdown, and the captions of the figures. Must not know: how figures are
drawn. Sentences that compare methods are chosen by the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from study.page.numbers import BANDS, Numbers

# A ratio of variances that is larger says nothing more.
_BEYOND = 10_000
_SKEWED = {
    "random": "random groups",
    "common": "common values",
    "pram": "invariant PRAM, same mean belief",
    "response": "randomised response, same mean belief",
    "laplace-0.05": "Laplace, epsilon 0.05, 100 queries",
    "ours-removed": "mixed groups, rows removed",
    "anatomy-removed": "Anatomy, rows removed",
}
_CROSSED = {
    "together": "together",
    "together-unbiased": "together, unbiased",
    "apart": "apart",
    "apart-unbiased": "apart, unbiased",
    "together-matched": "together, belief at most that of apart",
    "pram": "invariant PRAM, belief as together",
    "response": "randomised response, belief as together",
    "anatomy": "Anatomy of combinations",
    "laplace-0.05": "Laplace, epsilon 0.05, 100 queries",
}
_ODDS = {
    "noised": "countveil, bounded",
    "noised-unbiased": "countveil, bounded, unbiased",
    "noised-random": "countveil, bounded, random groups",
    "ours": "countveil, no bound",
    "response-odds": "randomised response, same K",
    "response": "randomised response, same mean belief",
    "pram": "invariant PRAM, same mean belief",
    "laplace-odds": "Laplace, same K, 100 queries",
    "anatomy": "Anatomy",
}


def skewed(n: Numbers) -> str:
    """Columns that groups of different values cannot publish."""
    bands = (0.001, 0.005, 0.01, 0.02)
    lines = []
    for share in n.results.different("skewed", "share"):
        column = n.results.where("skewed", share=share)[0]["column"]
        which = "race" if column == "Race" else '"none"'
        for name, text in _SKEWED.items():
            wanted = {"method": name, "share": share}
            if not n.has("skewed", **wanted):
                continue
            found = " | ".join(n.if_any("skewed", kind="band", low=low, **wanted) for low in bands)
            belief = n.mean("skewed", "belief", kind="protection", **wanted)
            top = n.mean("skewed", "belief_top", kind="protection", **wanted)
            kept = n.mean("skewed", "kept", kind="protection", **wanted)
            over = _number(n, "skewed", "distance", **wanted)
            lines.append(
                f"| {which}, {share:.0%} | {text} | {belief:.3f} | {top:.2f} | {kept:.0%} | {over} "
                f"| {found} |"
            )
    text = "\n".join(lines)
    return f"""## Columns with a very frequent value

The paper's groups hold different values, so no value may have more than 1/ell of the rows. Here
occupation has one more value, "none", for half of the people and for 83% (made up: the young and the
old have it more often), and race is taken as it is, with few values. At ell = 5 there are no groups of
different values. Random groups and common values publish these columns as they are; rows with the most
frequent value can be removed until the others work, which race does not allow.
Invariant PRAM and randomised response have the parameter at which the mean belief in the true value is
that of random groups, where somebody links a row and knows the shares. Mean relative errors by
selectivity, belief in the true value on average and over the most exposed 1% of the rows, rows
published, and how many times the least possible total variance at its mean belief an unbiased estimate
has ([the frontier](theory/frontier.md)):

| most frequent | method | belief | most exposed 1% | rows | over the bound | 0.1-0.5% | 0.5-1% | 1-2% | 2-5% |
|---|---|---|---|---|---|---|---|---|---|
{text}

Invariant PRAM is what random groups are seen from one row: own value or that of anybody, with the same
probabilities. What groups add is that counts of the whole table stay nearly exact, since values are
exchanged and not drawn anew; what the default estimate adds is the shrinking. {_skewed_lost(n)}
Randomised response spends its noise alike on all values: at the same mean belief small counts are far
off, and the most exposed are nearly certain. Removing rows hides best, from those that are left: the
others are gone, and with them most of what a count of "none" within conditions could be estimated from;
it is in the last two columns."""


def _skewed_lost(n: Numbers) -> str:
    """Where another method is more accurate than random groups."""
    ahead = []
    for share in n.results.different("skewed", "share"):
        for name in ("pram", "response", "ours-removed", "anatomy-removed"):
            lows = [
                f"{100 * low:g}-{100 * high:g}%"
                for low, high in ((0.001, 0.005), (0.005, 0.01), (0.01, 0.02), (0.02, 0.05))
                if _less(n, "skewed", name, "random", kind="band", low=low, share=share)
            ]
            if lows:
                short = _SKEWED[name].split(",")[0]
                ahead.append(f"{short} at {', '.join(lows)} (share {share:.0%})")
    if not ahead:
        return "No other method is more accurate than random groups in any of these classes."
    return f"More accurate than random groups are: {'; '.join(ahead)}."


def crossed(n: Numbers) -> str:
    """Two and three columns, together and apart."""
    lines = []
    for columns in n.results.different("crossed", "columns"):
        for ell in n.results.different("crossed", "ell", columns=columns):
            for name, text in _CROSSED.items():
                wanted = {"method": name, "columns": columns, "ell": ell}
                if not n.has("crossed", **wanted):
                    continue
                shown = text
                if name == "together-matched":
                    used = n.mean("crossed", "used_ell", kind="protection", **wanted)
                    shown = f"{text} (ell {used:.0f})"
                small = n.results.values("crossed", "off", kind="small", **wanted)
                hidden = f"{sum(small) / len(small):.2f}" if small else "-"
                lines.append(
                    f"| {columns} | {ell} | {shown} | {_number(n, 'crossed', 'mean_belief', **wanted)} | "
                    f"{n.mean('crossed', 'belief_top', kind='protection', **wanted):.2f} | "
                    f"{_number(n, 'crossed', 'distance', **wanted)} | "
                    f"{n.if_any('crossed', kind='band', low=0.0005, **wanted)} | "
                    f"{n.if_any('crossed', kind='passing', **wanted)} | {hidden} |"
                )
    text = "\n".join(lines)
    return f"""## Several sensitive columns, crossed

Counts that cross occupation with age in ten classes, and with marital status as a third column. *Apart*,
each column has groups and a draw of its own (mixed groups; random ones for marital status, of which one
value is too frequent), as in the paper. *Together*, a row publishes the whole combination of a row of
its random group. The others work on the grid of all combinations. Mean belief in the true combination,
of somebody who links a row and knows the share of each combination; belief over the most exposed 1% of
the rows; total variance over the least possible one at that belief; mean relative errors by
selectivity; counts to 10 that are off by more than 30%:

| columns | ell | method | mean belief | most exposed 1% | over the bound | 0.05-0.1% | 0.1-0.7% | small hidden |
|---|---|---|---|---|---|---|---|---|
{text}

{_crossed_said(n)}"""


def _crossed_said(n: Numbers) -> str:
    ells = n.results.different("crossed", "ell", columns=2)
    parts = []
    for ell in ells:
        together, apart, matched = (
            n.mean("crossed", kind="passing", method=name, columns=2, ell=ell)
            for name in ("together", "apart", "together-matched")
        )
        parts.append(
            f"{together:.3f} against {apart:.3f} at ell = {ell} ({matched:.3f} at equal belief)"
        )
    lost = _ahead(n, "crossed", "together-matched", ("apart", "anatomy"), "columns", _CROSSED)
    plain = _ahead(
        n, "crossed", "together", ("apart", "pram", "response", "anatomy"), "columns", _CROSSED
    )
    return f"""With two columns, together has {", ".join(parts)}. Apart, the weights of the columns multiply, so the
unbiased answers become useless as ell grows, and what is left of the default estimate is independence,
corrected by what little the release tells. Together has random groups' channel for combinations, which
is on the bound; it gives away more about a combination at the same ell, and a published combination is
some real person's. {_sentence("At the same ell", plain, "together")} {_sentence("Together with the ell that gives away no more than apart", lost, "it")}
Anatomy tells for everybody that the true combination is one of ell: its mean belief is 1/ell, many times
that of the others."""


def bounded_odds(n: Numbers) -> str:
    """Noise first, so that no row changes odds by more than K."""
    lines = []
    for odds in n.results.different("bounded_odds", "odds"):
        for name, text in _ODDS.items():
            wanted = {"method": name, "odds": odds}
            if not n.has("bounded_odds", **wanted):
                continue
            found = " | ".join(
                n.if_any("bounded_odds", kind="band", low=low, **wanted)
                for low in (0.001, 0.005, 0.01, 0.02)
            )
            lines.append(
                f"| {odds} | {text} | {_number(n, 'bounded_odds', 'largest_odds', 1, **wanted)} | "
                f"{_number(n, 'bounded_odds', 'mean_belief', **wanted)} | "
                f"{n.mean('bounded_odds', 'belief_top', kind='protection', **wanted):.2f} | "
                f"{_number(n, 'bounded_odds', 'distance', **wanted)} | {found} |"
            )
    text = "\n".join(lines)
    return f"""## A bound on the odds

Occupation at ell = 5 with its 50 values declared, and noise before the groups so that a linked row changes
the odds of a value by at most K ([how](theory/odds.md)). Beside it plain randomised response with the
same K; randomised response and invariant PRAM with the same mean belief as ours; Anatomy, which has no
such bound; Laplace noise whose 100 answers together change the odds between two values of a person by at
most K. The largest factor of any row, mean belief, belief over the most exposed 1% (for Laplace a
bound), total variance over the least possible one, and mean relative errors by selectivity:

| K | method | largest odds | mean belief | most exposed 1% | over the bound | 0.1-0.5% | 0.5-1% | 1-2% | 2-5% |
|---|---|---|---|---|---|---|---|---|---|
{text}

{_odds_said(n)}"""


def _odds_said(n: Numbers) -> str:
    odds = n.results.different("bounded_odds", "odds")
    cost = ", ".join(f"{_ratio(n, 'noised', 'ours', k):.2f} times at K = {k}" for k in odds)
    response = [k for k in odds if _ratio(n, "response-odds", "noised", k) < 1]
    laplace = [k for k in odds if _ratio(n, "laplace-odds", "noised", k) < 1]
    belief = {
        name: n.mean("bounded_odds", "mean_belief", method=name, odds=odds[-1], kind="protection")
        for name in ("noised", "response-odds")
    }
    first = (
        f"At the same K plain randomised response is the more accurate one at K = "
        f"{_listed(response)} (1-2%): groups never win on this yardstick, beyond what the default "
        f"estimate adds."
        if response
        else "At the same K our default estimate is more accurate at 1-2% for every K tried."
    )
    second = (
        f" Laplace noise, which publishes no rows and answers 100 questions, is at K = "
        f"{_listed(laplace)}."
        if laplace
        else ""
    )
    return f"""The bound costs, in error at 1-2% against ours without it, {cost}. {first}{second} What groups add
is that frequent values are not given away: at K = {odds[-1]} the mean belief is {belief["noised"]:.3f} with ours and
{belief["response-odds"]:.3f} with randomised response, which then keeps nearly every value. At the same mean belief
randomised response is the less accurate one; invariant PRAM is close to ours, and bounds no odds."""


Caption = Callable[[Numbers], str]


def _skewed_caption(share: float) -> Caption:
    def caption(n: Numbers) -> str:
        found = {
            method: " / ".join(
                n.if_any("skewed", kind="band", low=low, method=method, share=share)
                for low, _ in BANDS
            )
            for method in ("random", "common", "pram", "response", "ours-removed")
        }
        return (
            f"At 2-5% / 1-2% / 0.5-1% random groups have errors of {found['random']} and common "
            f"values {found['common']}. At the same mean belief invariant PRAM has "
            f"{found['pram']} and randomised response {found['response']}; removing rows until "
            f"mixed groups exist gives {found['ours-removed']}."
        )

    return caption


def _crossed_caption(columns: int) -> Caption:
    def caption(n: Numbers) -> str:
        ell = n.results.different("crossed", "ell", columns=columns)[-1]
        found = {
            name: n.mean("crossed", kind="passing", method=name, columns=columns, ell=ell)
            for name in ("together", "apart", "together-unbiased", "apart-unbiased")
        }
        return (
            f"At ell = {ell} together has {found['together']:.3f} and apart {found['apart']:.3f}; "
            f"without shrinking it is {found['together-unbiased']:.2f} and "
            f"{found['apart-unbiased']:.1f}, which is beyond the figure. The other methods have the "
            f"mean belief of together, but for Anatomy."
        )

    return caption


def _crossed_belief(n: Numbers) -> str:
    ell = n.results.different("crossed", "ell", columns=2)[-1]
    apart, matched = (
        n.mean("crossed", "mean_belief", kind="protection", method=name, columns=2, ell=ell)
        for name in ("apart", "together-matched")
    )
    return (
        f"Further left a linked row tells less, further down counts are nearer to the truth; points "
        f"of one line differ in ell. The columns apart at ell = {ell} have a mean belief of "
        f"{apart:.2%}, and together with a larger ell {matched:.2%}."
    )


def _odds_bound(n: Numbers) -> str:
    first, last = (n.results.different("bounded_odds", "odds")[place] for place in (0, -1))
    ours, response = (
        {
            k: n.mean("bounded_odds", kind="band", low=0.01, method=name, odds=k)
            for k in (first, last)
        }
        for name in ("noised", "response-odds")
    )
    return (
        f"Ours with the bound goes from {ours[first]:.3f} at K = {first} to {ours[last]:.3f} at "
        f"K = {last}, where the noise hardly matters any more. Plain randomised response goes from "
        f"{response[first]:.3f} to {response[last]:.3f}: it has no groups to pay for."
    )


def _odds_belief(n: Numbers) -> str:
    last = n.results.different("bounded_odds", "odds")[-1]
    top = n.mean("bounded_odds", "belief_top", kind="protection", method="response-odds", odds=last)
    return (
        f"The same points by mean belief: randomised response at the same K is far to the right, "
        f"with the most exposed 1% believed at {top:.2f} for K = {last}. At equal belief ours and "
        f"invariant PRAM are close, and randomised response lies above them."
    )


CAPTIONS: Mapping[str, Caption] = {
    "skewed-half": _skewed_caption(0.5),
    "skewed-most": _skewed_caption(0.83),
    "crossed-two": _crossed_caption(2),
    "crossed-three": _crossed_caption(3),
    "crossed-belief": _crossed_belief,
    "odds-bound": _odds_bound,
    "odds-belief": _odds_belief,
}


def _number(n: Numbers, table: str, column: str, digits: int = 3, /, **wanted: object) -> str:
    """The mean of a column of the protection rows, or a dash."""
    values = n.results.values(table, column, kind="protection", **wanted)
    if not values:
        return "-"
    value = sum(values) / len(values)
    return f"{value:,.{digits}f}" if value < _BEYOND else f"over {_BEYOND:,}"


def _less(n: Numbers, table: str, one: str, other: str, /, **wanted: object) -> bool:
    if not n.has(table, method=one, **wanted) or not n.has(table, method=other, **wanted):
        return False
    return n.mean(table, method=one, **wanted) < n.mean(table, method=other, **wanted)


def _ahead(
    n: Numbers, table: str, ours: str, others: Sequence[str], by: str, names: Mapping[str, str]
) -> list[str]:
    """Which others are more accurate at 0.1-0.7%, and where."""
    found = []
    for name in others:
        places = [
            f"ell = {ell} ({columns} columns)"
            for columns in n.results.different(table, by)
            for ell in n.results.different(table, "ell", columns=columns)
            if _less(n, table, name, ours, kind="passing", columns=columns, ell=ell)
        ]
        if places:
            found.append(f"{names[name].split(',')[0]} at {_listed(places)}")
    return found


def _sentence(where: str, ahead: Sequence[str], ours: str) -> str:
    if not ahead:
        return f"{where}, no other method is more accurate than {ours} at 0.1-0.7%."
    return f"{where}, more accurate than {ours} at 0.1-0.7%: {'; '.join(ahead)}."


def _ratio(n: Numbers, one: str, other: str, odds: int) -> float:
    first, second = (
        n.mean("bounded_odds", kind="band", low=0.01, method=name, odds=odds)
        for name in (one, other)
    )
    return first / second


def _listed(items: Sequence[object]) -> str:
    texts = [str(item) for item in items]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
