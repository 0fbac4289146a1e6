"""Two sentences for every figure.

Enters: numbers. Leaves: text with figures filled in. Must not know: how figures are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from study.page import beyond
from study.page.numbers import Numbers, slashed, span

Caption = Callable[[Numbers], str]


def _utility(n: Numbers) -> str:
    at = {row["count"]: row for row in n.results.where("guarantees", question="utility", ell=10)}
    return (
        f"The published count of 100 people is off by 20% or more with probability "
        f"{at[100]['exact']:.3f} ({at[100]['measured']:.3f} in {at[100]['draws']:,} draws); the "
        f"paper's formula says {at[100]['printed']:.4f}, Chebyshev's bound {at[100]['chebyshev']:.2f}. "
        f"The formula divides by the number of trials twice, so its curve falls much too fast and "
        f"is no bound."
    )


def _privacy(n: Numbers) -> str:
    at = {row["count"]: row for row in n.results.where("guarantees", question="privacy", ell=5)}
    return (
        f"At ell = 5 a count of 10 is off by more than 30% with probability {at[10]['exact']:.2f}, "
        f"one of 40 with {at[40]['exact']:.2f}. The points are draws from the mechanism itself and "
        f"lie on the exact curves; the steps come from rounding 0.7 f and 1.3 f to whole people."
    )


def _by_ell_paper(n: Numbers) -> str:
    five = n.bands("by_ell", method="paper", ell=5)
    two = n.bands("by_ell", method="paper", ell=2)
    return (
        f"At ell = 5 the errors are {slashed(five)} at 2-5% / 1-2% / 0.5-1%, at ell = 2 "
        f"{slashed(two)}: the shape that the paper describes, with large counts off by a fifth. "
        f"It is bias, not noise: the bars are short, and more rows do not help."
    )


def _by_ell_ours(n: Numbers) -> str:
    five = n.bands("by_ell", method="ours", ell=5)
    ten = n.bands("by_ell", method="ours", ell=10)
    return (
        f"At ell = 5 the errors are {slashed(five, 3)} at 2-5% / 1-2% / 0.5-1%, on the same pools. "
        f"They grow with ell without a dip, to {slashed(ten)} at ell = 10: more protection costs "
        f"accuracy, always."
    )


def _passing(n: Numbers) -> str:
    paper = n.mean("by_ell", method="paper", kind="passing", low=0.005, ell=5)
    ours = n.mean("by_ell", method="ours", kind="passing", low=0.005, ell=5)
    return (
        f"Averaged as in the paper, over all queries from 0.5% to 5%, ell = 5 gives {paper:.2f} with "
        f"its choices and {ours:.3f} with ours. The order of the thresholds and the shapes are those "
        f"of the separate bands."
    )


def _small_error(n: Numbers) -> str:
    paper = n.by("by_ell", "ell", method="paper", kind="small")
    ours = n.by("by_ell", "ell", method="ours", kind="small")
    return (
        f"From ell = 2 to 10 the mean relative error grows from {paper[2]:.1f} to {paper[10]:.1f} "
        f"with the paper's choices and from {ours[2]:.1f} to {ours[10]:.1f} with ours. An error of 1 "
        f"means that the answer is off by as much as the count itself."
    )


def _small_off(n: Numbers) -> str:
    ours = n.by("by_ell", "ell", method="ours", kind="small")
    off = [
        n.mean("by_ell", "off", method="ours", kind="small", ell=ell) for ell in ours if ell >= 5
    ]
    paper = n.mean("by_ell", "off", method="paper", kind="small", ell=5)
    return (
        f"From ell = 5 on, {span(off)} of the counts from 1 to 10 are off by more than 30% with ours, "
        f"{paper:.2f} at ell = 5 with the paper's choices. Here accuracy and protection pull apart: "
        f"a better estimate hides small counts a little less."
    )


def _alone_ell(n: Numbers) -> str:
    paper = n.mean("alone", method="paper", kind="small", ell=5)
    ours = n.mean("alone", method="ours", kind="small", ell=5)
    large = n.mean("alone", method="ours", kind="passing", ell=5)
    return (
        f"Counts to 10 are off by {ours:.2f} on average at ell = 5 ({paper:.2f} with greedy groups), "
        f"those from 0.5% of 100,000 rows by {large:.3f}. The published count is the estimate whatever "
        f"the groups, so both choices agree, and ell hardly matters: the variance is f (1 - 1/ell)."
    )


def _alone_selectivity(n: Numbers) -> str:
    lows = n.results.different("alone", "low", kind="band")
    line = [n.mean("alone", method="ours", kind="band", low=low, ell=5) for low in lows]
    return (
        f"At ell = 5 the error falls from {line[0]:.3f} at 0.1-0.5% to {line[-1]:.3f} at 5-10% of the "
        f"rows. It follows the root of the count, as section 6 of the paper expects."
    )


def _rows(method: str, name: str, remark: str) -> Caption:
    def caption(n: Numbers) -> str:
        sizes = n.results.different("by_rows", "rows")
        first, last = (
            n.bands("by_rows", method=method, rows=rows) for rows in (sizes[0], sizes[-1])
        )
        return (
            f"{name}: {slashed(first, 3)} at 2-5% / 1-2% / 0.5-1% with {sizes[0]:,} rows, "
            f"{slashed(last, 3)} with {sizes[-1]:,}. {remark}"
        )

    return caption


def _methods(n: Numbers) -> str:
    names = (
        "ours",
        "laplace-0.05",
        "laplace-0.01",
        "global-bayes",
        "global-stopped",
        "global-printed",
    )
    at = {name: n.mean("by_method", method=name, kind="fine", low=0.01) for name in names}
    return (
        f"At 1-2%, Laplace noise has an error of {at['laplace-0.05']:.2f} (epsilon 0.05) and {at['laplace-0.01']:.1f} (0.01), ours {at['ours']:.3f}. "
        f"Mechanism A has {at['global-bayes']:.3f} with its own channel, by both estimates, {at['global-stopped']:.3f} when the iteration is stopped at 1%, and {at['global-printed']:.2f} when it is read with the matrix printed for decoy groups."
    )


def _close(n: Numbers) -> str:
    names = ("ours", "global-bayes", "response", "pram", "anatomy")
    at = {name: n.bands("by_method", method=name) for name in names}
    return (
        f"At 2-5% / 1-2% / 0.5-1%: ours {slashed(at['ours'], 3)}, PRAM {slashed(at['pram'], 3)}, mechanism A {slashed(at['global-bayes'], 3)}, Anatomy {slashed(at['anatomy'], 3)}. "
        f"Randomised response that never exceeds a belief of 1/ell pays for it with {slashed(at['response'])}; what a linked row gives away differs among all of them (table above)."
    )


def _queries(n: Numbers) -> str:
    noise = n.by("by_queries", "queries", method="laplace-0.05")
    strong = n.by("by_queries", "queries", method="laplace-0.01")
    ours = n.mean("by_queries", method="ours")
    return (
        f"Laplace noise grows from {noise[10]:.2f} to {noise[100]:.2f} (epsilon 0.05) and from "
        f"{strong[10]:.2f} to {strong[100]:.1f} (0.01) as m goes from 10 to 100, ours stays at "
        f"{ours:.3f}. A release may be asked any number of questions; a budget is spent once."
    )


def _two(n: Numbers) -> str:
    at = {
        method: n.by("two_columns", "ell", method=method, kind="passing")
        for method in ("paper", "ours", "mixed-unbiased")
    }
    return (
        f"At ell = 2 / 5 / 8: {slashed([at['paper'][ell] for ell in (2, 5, 8)])} with the paper's "
        f"choices, {slashed([at['ours'][ell] for ell in (2, 5, 8)])} with ours. The unbiased answer, "
        f"the product of two corrections, is good at ell = 2 ({at['mixed-unbiased'][2]:.2f}) and "
        f"useless at ell = 5 ({at['mixed-unbiased'][5]:.1f}), where its noise exceeds every count."
    )


def _errata(n: Numbers) -> str:
    at = {
        step: n.mean("errata", method=step, kind="passing", ell=5)
        for step in (
            "paper",
            "greedy-exact",
            "mixed-printed",
            "mixed-exact-stopped",
            "mixed-exact",
            "ours",
        )
    }
    two = {
        step: n.mean("errata", method=step, kind="passing", ell=2)
        for step in ("greedy-exact", "mixed-printed", "mixed-exact")
    }
    return (
        f"At ell = 5: {at['paper']:.2f} with the paper's choices; {at['greedy-exact']:.2f} with the "
        f"right matrix but greedy groups; {at['mixed-printed']:.2f} with mixed groups but the printed "
        f"matrix; {at['mixed-exact-stopped']:.2f} with both right but the stop at 1%; "
        f"{at['mixed-exact']:.3f} when converged, {at['ours']:.3f} with our estimate. At ell = 2 the "
        f"printed matrix alone costs {two['mixed-printed']:.2f} against {two['mixed-exact']:.3f}, and "
        f"greedy groups {two['greedy-exact']:.2f}: no single repair suffices."
    )


def _publishing(n: Numbers) -> str:
    def seconds(method: str, work: str) -> list[float]:
        ells = n.results.different("publishing", "ell")
        return [n.middle("publishing", "seconds", method=method, work=work, ell=e) for e in ells]

    return (
        f"Groups, draw and dealing take {span(seconds('ours', 'mechanism'))} s with mixed groups and "
        f"{span(seconds('paper', 'mechanism'))} s with greedy ones; the whole way to a release on disk "
        f"{span(seconds('ours', 'publish'))} s and {span(seconds('paper', 'publish'))} s. The paper "
        f"reports less than 10 s on its machine; times are not comparable across machines, their order is."
    )


def _answering(n: Numbers) -> str:
    ours = sorted(n.results.values("answering", "tally_seconds", method="ours"))
    return (
        f"Eight counts in SQLite and the iteration take "
        f"{1e3 * n.middle('answering', 'tally_seconds', method='paper'):.0f} ms in the median, "
        f"`Release.count` {1e3 * n.middle('answering', 'tally_seconds', method='ours'):.1f} ms (at most "
        f"{1e3 * ours[-1]:.0f} ms). Ours estimates all pairs of values of the predicate to answer for "
        f"one, and gives an interval."
    )


def _rounds(n: Numbers) -> str:
    values = sorted(n.results.values("answering", "rounds", method="paper"))
    return (
        f"Half of {len(values)} questions need {n.middle('answering', 'rounds', method='paper'):.0f} "
        f"rounds or fewer, the average is {sum(values) / len(values):.0f}, the most {values[-1]:.0f}. "
        f"The long tail, which the paper reports too, are counts that creep towards 0."
    )


CAPTIONS: Mapping[str, Caption] = {
    "utility-guarantee": _utility,
    "privacy-guarantee": _privacy,
    "error-by-ell-paper": _by_ell_paper,
    "error-by-ell-ours": _by_ell_ours,
    "error-passing-by-ell": _passing,
    "small-counts-error": _small_error,
    "small-counts-hidden": _small_off,
    "alone-by-ell": _alone_ell,
    "alone-by-selectivity": _alone_selectivity,
    "rows-anatomy": _rows(
        "anatomy",
        "Anatomy",
        "Its error is what groups cannot tell, and hardly falls with the rows.",
    ),
    "rows-paper": _rows(
        "paper",
        "The paper's choices",
        "They do not gain from more rows either, and stay above Anatomy.",
    ),
    "rows-ours": _rows(
        "ours",
        "Ours",
        "The error falls as the root of the rows, and lies below Anatomy everywhere.",
    ),
    "methods": _methods,
    "methods-close": _close,
    "queries": _queries,
    "two-columns": _two,
    **beyond.CAPTIONS,
    "errata": _errata,
    "publishing-time": _publishing,
    "answering-time": _answering,
    "answering-rounds": _rounds,
}
