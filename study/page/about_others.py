"""Claims of section 9 about other methods, and about what everything costs."""

from __future__ import annotations

from study.page.claims import Judged
from study.page.numbers import BANDS, Numbers, slope, span


def against_anatomy(numbers: Numbers) -> Judged:
    """Figures 4 and 5 of the comparison."""
    sizes = numbers.results.different("by_rows", "rows")
    wins = {"paper": 0, "ours": 0}
    worst = {"paper": 0.0, "ours": 0.0, "anatomy": 0.0}
    for rows in sizes:
        for low, _ in BANDS:
            found = {
                method: numbers.mean("by_rows", method=method, kind="band", low=low, rows=rows)
                for method in worst
            }
            for method in wins:
                wins[method] += found[method] < found["anatomy"]
            worst = {method: max(worst[method], found[method]) for method in worst}
    everything = len(sizes) * len(BANDS)
    return Judged(
        "At ell = 5 the error is below that of Anatomy for most N and selectivities: at most 30%, "
        "while Anatomy's can be over 40%",
        f"below Anatomy in {wins['paper']} of {everything} cases; at most {worst['paper']:.2f}, "
        f"Anatomy at most {worst['anatomy']:.2f}",
        f"below Anatomy in {wins['ours']} of {everything} cases; at most {worst['ours']:.2f}",
        wins["paper"] > everything / 2,
        wins["ours"] > everything / 2,
    )


def no_correlation_with_rows(numbers: Numbers) -> Judged:
    """The remark on the size of the table."""
    ratio = {}
    sizes = numbers.results.different("by_rows", "rows")
    for method in ("paper", "anatomy", "ours"):
        first, last = (
            sum(numbers.bands("by_rows", method=method, rows=rows))
            for rows in (sizes[0], sizes[-1])
        )
        ratio[method] = last / first
    return Judged(
        "The error shows no obvious correlation with N",
        f"{sizes[-1]:,} rows have {ratio['paper']:.2f} times the error of {sizes[0]:,} (Anatomy "
        f"{ratio['anatomy']:.2f}): what is left is bias",
        f"{ratio['ours']:.2f} times; the root of the rows would be "
        f"{(sizes[0] / sizes[-1]) ** 0.5:.2f}",
        0.85 < ratio["paper"] < 1.15,
        0.85 < ratio["ours"] < 1.15,
    )


def against_laplace(numbers: Numbers) -> Judged:
    """The comparison with differential privacy, m = 100."""
    names = ("paper", "ours", "laplace-0.01", "laplace-0.05")
    found = {name: numbers.fine(name) for name in names}
    return Judged(
        "Laplace noise (m = 100, epsilon 0.01 and 0.05) is unacceptable at small selectivities; "
        "the impact of selectivity on ours is limited",
        f"from 4-5% to 1-2%: {_ends(found['paper'])}; Laplace {_ends(found['laplace-0.05'])} "
        f"(0.05) and {_ends(found['laplace-0.01'], 1)} (0.01)",
        f"{_ends(found['ours'])}",
        found["paper"][-1] < 1 < found["laplace-0.05"][-1],
        found["ours"][-1] < 1 < found["laplace-0.05"][-1],
    )


def _ends(line: list[float], digits: int = 2) -> str:
    return f"{line[0]:.{digits}f} to {line[-1]:.{digits}f}"


def linear_in_queries(numbers: Numbers) -> Judged:
    """The comparison against m."""
    lines = {
        method: numbers.by("by_queries", "queries", method=method)
        for method in ("laplace-0.05", "laplace-0.01", "paper", "ours")
    }
    straight = min(slope(lines[method])[1] for method in ("laplace-0.05", "laplace-0.01"))
    noise = lines["laplace-0.05"]
    first = next((m for m, error in noise.items() if error > lines["ours"][m]), None)
    below = [m for m, error in noise.items() if error < lines["ours"][m]]
    lost = (
        f"Laplace at 0.05 is the better one up to m = {max(below)}"
        if below
        else f"Laplace at 0.05 is worse from m = {first} on, the smallest that was asked"
    )
    return Judged(
        "The error of Laplace noise grows linearly with m; ours does not depend on m",
        f"epsilon 0.05: {noise[10]:.2f} to {noise[100]:.2f} at m = 10 to 100 (correlation "
        f"{straight:.3f} or more); the paper's choices {lines['paper'][10]:.2f} at any m",
        f"{lines['ours'][10]:.3f} at any m; {lost}",
        straight > 0.98,
        straight > 0.98,
    )


def against_mechanism_a(numbers: Numbers) -> Judged:
    """The comparison with global randomisation, at the selectivities of the figure."""
    kinds = ("bayes", "unbiased", "stopped", "printed")
    names = ("paper", "ours", *(f"global-{kind}" for kind in kinds))
    found = {name: numbers.fine(name) for name in names}
    return Judged(
        "Mechanism A' has much better utility than global randomisation (mechanism A, p = 1/ell) at all selectivities from 1% to 5%",
        f"from 4-5% to 1-2%: {_ends(found['paper'])}; A with its own channel {_ends(found['global-bayes'])} (Bayes) and {_ends(found['global-unbiased'])} (unbiased), stopped at 1% {_ends(found['global-stopped'])}, with the matrix printed for A' {_ends(found['global-printed'])}",
        f"{_ends(found['ours'], 3)}; A has {_ends(found['global-bayes'], 3)}: close",
        _much_better(found["paper"], found["global-bayes"]),
        _much_better(found["ours"], found["global-bayes"]),
    )


def _much_better(ours: list[float], other: list[float]) -> bool:
    return all(mine < 0.5 * theirs for mine, theirs in zip(ours, other, strict=True))


def publishing_time(numbers: Numbers) -> Judged:
    """Running time on the largest table."""
    seconds = {
        (method, work): [
            numbers.middle("publishing", "seconds", method=method, work=work, ell=ell)
            for ell in numbers.results.different("publishing", "ell")
        ]
        for method in ("paper", "ours")
        for work in ("mechanism", "publish")
    }
    rows = numbers.results.different("publishing", "rows")[-1]
    return Judged(
        f"{rows:,} rows are published within 10 seconds at every ell",
        f"greedy groups, draw and dealing {span(seconds['paper', 'mechanism'])} s; from table to "
        f"release {span(seconds['paper', 'publish'])} s",
        f"{span(seconds['ours', 'mechanism'])} s; {span(seconds['ours', 'publish'])} s",
        max(seconds["paper", "publish"]) < 10,
        max(seconds["ours", "publish"]) < 10,
    )


def answering_time(numbers: Numbers) -> Judged:
    """Two sensitive attributes: the iteration and the querying."""
    tally = 1e3 * numbers.mean("answering", "tally_seconds", method="paper")
    iterate = 1e3 * numbers.mean("answering", "iterate_seconds", method="paper")
    one = 1e3 * numbers.mean("answering", "tally_seconds", method="ours")
    many = 1e3 * numbers.mean("answering", "tally_seconds", method="ours-together")
    return Judged(
        "An answer over two sensitive attributes takes 1,612 ms on average, nearly all of it in "
        "SQLite; the iteration less than 1 ms",
        f"SQLite {tally:.0f} ms, the iteration {iterate:.2f} ms (a question's part when all are iterated together)",
        f"{one:.1f} ms one by one, {many:.1f} ms each when asked together",
        iterate < 0.05 * tally,
        one < tally + iterate,
    )


def rounds(numbers: Numbers) -> Judged:
    """How long the iteration runs."""
    values = sorted(numbers.results.values("answering", "rounds", method="paper"))
    average = sum(values) / len(values)
    middle = numbers.middle("answering", "rounds", method="paper")
    return Judged(
        "The iteration is short for most questions and long for a few: 16 rounds in the median, 325 on average",
        f"{middle:.0f} in the median, {average:.0f} on average, {values[-1]:.0f} at most",
        "no iteration: the default answer is computed directly",
        average > 2 * middle,
        False,
    )
