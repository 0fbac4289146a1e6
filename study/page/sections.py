"""The prose of the page, with its numbers filled in.

Enters: numbers. Leaves: Markdown. Must not know: how claims are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from study.page.claims import FAILS, HOLDS, WITH_ERRATUM, Judged
from study.page.numbers import BANDS, Numbers, slashed

HEADINGS: Mapping[str, str] = {
    "utility-guarantee": "T_E against T_f",
    "privacy-guarantee": "Expected error of small sums",
    "error-by-ell-paper": "Relative error against ell, the paper's choices",
    "error-by-ell-ours": "Relative error against ell, countveil",
    "error-passing-by-ell": "Relative error of all queries that pass a threshold",
    "small-counts-error": "Small counts: relative error",
    "small-counts-hidden": "Small counts: how many are hidden",
    "alone-by-ell": "Sensitive attribute alone against ell",
    "alone-by-selectivity": "Sensitive attribute alone against selectivity",
    "rows-anatomy": "Anatomy against the rows",
    "rows-paper": "The paper's choices against the rows",
    "rows-ours": "countveil against the rows",
    "methods": "Laplace noise, global randomisation and ours",
    "methods-close": "Methods that come near",
    "queries": "Error against the number of queries",
    "two-columns": "Two sensitive attributes",
    "skewed-half": "A value that half of the rows have",
    "skewed-most": "A value that 83% of the rows have",
    "crossed-two": "Two columns, together and apart",
    "crossed-three": "Three columns, together and apart",
    "crossed-belief": "Two columns: error by belief",
    "odds-bound": "Error against the bound on the odds",
    "odds-belief": "Bounds on the odds: error by belief",
    "errata": "What each of the paper's choices costs",
    "publishing-time": "Publishing time",
    "answering-time": "Query time",
    "answering-rounds": "Rounds of the iteration",
}
BARS = (
    "Bars are 95% intervals of the mean over repetitions; each repetition has a pool and releases of "
    "its own. Selectivity is the true count over the rows."
)
TARGETS = (0.06, 0.085, 0.125)
_SHORT = {
    "ours": "countveil", "paper": "the paper's choices", "anatomy": "Anatomy",
    "global-bayes": "mechanism A", "response": "randomised response", "pram": "invariant PRAM",
    "laplace-0.05": "Laplace at 0.05",
}  # fmt: skip
_COMPARED = (
    ("band", 0.0001, 0.001), ("band", 0.001, 0.005), ("band", 0.005, 0.01), ("fine", 0.01, 0.02),
    ("fine", 0.02, 0.03), ("fine", 0.03, 0.04), ("fine", 0.04, 0.05),
)  # fmt: skip


def opening(numbers: Numbers, claims: Sequence[Judged]) -> str:
    """What this is."""
    about = numbers.results.about
    count = {
        verdict: sum(c.verdict == verdict for c in claims)
        for verdict in (HOLDS, WITH_ERRATUM, FAILS)
    }
    return f"""# The paper's study, done again

Section 9 of the paper (and the figures of section 6), measured on **{about["data"]}**
({about["rows"]:,} rows; 100,000 unless said otherwise) with the paper's own choices (greedy groups, the
printed transition matrix, the Bayes iteration stopped at 1%) and with countveil's defaults (mixed
groups, the exact channel, shrunk estimates). Occupation with 50 values is sensitive. Of {len(claims)}
claims, {count[HOLDS]} hold, {count[WITH_ERRATUM]} hold only with the erratum (that is: not with what the
paper prints, but with the corrected method), {count[FAILS]} do not hold.

This page is made from `study/results` by `python -m study page`; no measured number on it was typed. How
everything was measured stands [at the end](#how-it-was-measured), the mathematics of the errata in
[the channel](theory/channel.md) and [the estimates](theory/estimates.md).

## The claims"""


def explained(n: Numbers) -> str:
    """Where the paper's picture differs, and why."""
    names = ("paper", "global-bayes", "global-stopped", "global-printed")
    fine = {name: n.fine(name) for name in names}
    below = sum(
        n.mean("by_rows", method="paper", kind="band", low=low, rows=rows)
        < n.mean("by_rows", method="anatomy", kind="band", low=low, rows=rows)
        for low, _ in BANDS
        for rows in n.results.different("by_rows", "rows")
    )
    cases = len(BANDS) * len(n.results.different("by_rows", "rows"))
    step = {
        name: n.mean("errata", method=name, kind="passing", ell=5)
        for name in (
            "paper",
            "greedy-printed",
            "greedy-exact",
            "mixed-printed",
            "mixed-exact",
            "ours",
        )
    }
    dip = n.by("by_ell", "ell", method="paper", kind="band", low=0.02)
    two = {
        name: n.mean("errata", method=name, kind="passing", ell=2)
        for name in ("mixed-printed", "mixed-exact")
    }
    return f"""## Where the picture differs, and why

- **The paper's choices are biased, not noisy.** The levels of its text come out: about 20% for large
  counts, about 40% for smaller ones. But they are below Anatomy in {below} of {cases} cases, since three
  things go wrong together: greedy groups, the printed matrix, the early stop. Over all queries of
  0.5-5% at ell = 5: {step["paper"]:.2f} as printed, {step["greedy-printed"]:.2f} when the iteration may
  converge, {step["greedy-exact"]:.2f} with the exact matrix but greedy groups, {step["mixed-printed"]:.2f}
  with mixed groups but the printed matrix, {step["mixed-exact"]:.3f} with both right, {step["ours"]:.3f}
  with the shrunk estimate.
- **Mechanism A is not much worse.** From 4-5% to 1-2% it has {slashed(fine["global-bayes"], 3)} with its own
  exact channel, where the paper's choices have {slashed(fine["paper"])}. The paper does not say how it
  estimated. With the iteration stopped at 1% A has {slashed(fine["global-stopped"])}; with the matrix
  that is printed for decoy groups {slashed(fine["global-printed"])}, which is what the paper describes: to
  be much worse, A has to be read with a matrix that is not its own. What speaks against A is not its
  accuracy but that the belief in a published value depends on the value (table below).
- **The dip along ell** is a fall. At 2-5% the error goes from {dip[2]:.2f} at ell = 2 to {dip[5]:.2f} at
  ell = 5 and {dip[10]:.2f} at ell = 10: the printed matrix is most wrong at ell = 2, where it alone costs
  {two["mixed-printed"]:.2f} against {two["mixed-exact"]:.3f} with the exact one (mixed groups, converged,
  0.5-5%). Without it, errors only rise with ell.
- **The guarantee of large counts** (T_E, T_f) begins at more than ten times the count that is printed;
  the one of small counts is right.
- **Errors do fall with the rows** once the bias is gone; that they do not, in the paper, is a sign of it."""


def promised(n: Numbers) -> str:
    """What countveil has to reach, and does."""
    lines = []
    for (low, high), target in zip(BANDS, TARGETS, strict=True):
        wanted = {"kind": "band", "low": low, "ell": 5}
        releases = len(n.results.values("by_ell", "error", method="ours", **wanted))
        lines.append(
            f"| {100 * low:g}-{100 * high:g}% | at most {target:g} | "
            f"{n.interval('by_ell', method='ours', **wanted)} | "
            f"{n.interval('by_ell', method='paper', **wanted)} | {releases} |"
        )
    kinds = {
        "people": "values of a random person (the study's)",
        "distinct": "the same, every predicate at most once",
        "domain": "values drawn from the domains, at most once",
    }
    pools, missed = [], []
    for kind, name in kinds.items():
        found = n.bands("pools", method="ours", pool=kind)
        pools.append(
            f"| {name} | {slashed(found, 3)} | {slashed(n.bands('pools', method='paper', pool=kind))} | "
            f"{n.mean('pools', 'off', method='ours', pool=kind, kind='small'):.2f} |"
        )
        missed += [
            f"{name}, {100 * low:g}-{100 * high:g}% ({error:.4f})"
            for error, target, (low, high) in zip(found, TARGETS, BANDS, strict=True)
            if error > target
        ]
    releases = len(n.results.values("pools", "error", method="ours", pool="people", kind="small"))
    above = f"Above what is wanted: {'; '.join(missed)}." if missed else "All are within it."
    text = "\n".join(lines)
    others = "\n".join(pools)
    return f"""## What countveil has to reach

Mean relative error at ell = 5 with 100,000 rows, mean of all releases:

| selectivity | wanted | countveil | the paper's choices | releases |
|---|---|---|---|---|
{text}

It depends on the pool. Frequent predicates are asked more often in ours, as when people ask; other
ways to draw queries give (2-5% / 1-2% / 0.5-1%, and counts to 10 off by more than 30%; {releases} releases
each). {above}

| pool | countveil | the paper's choices | hidden |
|---|---|---|---|
{others}"""


def lost(n: Numbers) -> str:
    """Where others are ahead of us."""
    points = []
    ours = n.mean("by_method", "off", method="ours", kind="small")
    more = {
        name: off
        for name in ("paper", "pram", "global-bayes", "response", "laplace-0.05")
        if (off := n.mean("by_method", "off", method=name, kind="small")) > ours
    }
    if more:
        others = ", ".join(f"{_SHORT[name]} {off:.2f}" for name, off in more.items())
        plain = n.mean("errata", "off", method="mixed-unbiased", kind="small", ell=5)
        points.append(
            f"**Small counts are hidden less** than by others: {ours:.2f} of the counts to 10 are off by more than 30% at ell = 5 ({others}). "
            f"It is the estimate that is better, not the release that tells more: read without shrinking, the same releases give {plain:.2f}. Whoever wants to know takes the better estimate, so {ours:.2f} is what counts."
        )
    ten = n.results.where("guarantees", question="privacy", ell=5, count=10)[0]["exact"]
    points.append(
        f"**The attribute alone is hardly hidden**, with any groups: a count of 10 in the whole table is off by more than 30% with a probability of only {ten:.2f} at ell = 5. What is hidden are counts that combine the value with other columns."
    )
    for name in ("global-bayes", "pram", "response", "anatomy"):
        ahead = [
            f"{100 * low:g}-{100 * high:g}% ({n.mean('by_method', method=name, kind=kind, low=low):.3f} "
            f"against {n.mean('by_method', method='ours', kind=kind, low=low):.3f})"
            for kind, low, high in _COMPARED
            if n.has("by_method", kind=kind, low=low)
            and n.mean("by_method", method=name, kind=kind, low=low)
            < n.mean("by_method", method="ours", kind=kind, low=low)
        ]
        if ahead:
            points.append(f"**{_capital(_SHORT[name])} is ahead** at {', '.join(ahead)}.")
    for name in ("global-bayes", "pram", "response"):
        left = n.mean("by_method", "candidates", method=name, kind="protection")
        mine = n.mean("by_method", "candidates", method="ours", kind="protection")
        if left > mine:
            points.append(
                f"**{_capital(_SHORT[name])} leaves more candidates** to whoever links a row: "
                f"{left:.1f} against {mine:.1f}."
            )
    noise = n.by("by_queries", "queries", method="laplace-0.05")
    mine = n.mean("by_queries", method="ours")
    few = [m for m, error in noise.items() if error < mine]
    if few:
        points.append(f"**Laplace noise is better for few queries**: up to m = {max(few)} (0.05).")
    two = n.by("two_columns", "ell", method="mixed-unbiased", kind="passing")
    useless = [ell for ell, error in two.items() if error > 1]
    if useless:
        points.append(
            f"**Two sensitive columns** have no usable answer without shrinking from ell = {min(useless):g} on (an error of {two[min(useless)]:.1f} at 0.1-0.7%); the default leans on independence where the release tells too little."
        )
    greedy, mixed = (
        n.middle("publishing", "seconds", method=m, work="mechanism") for m in ("paper", "ours")
    )
    if mixed > greedy:
        points.append(
            f"**Mixed groups take longer** to form than greedy ones: {mixed:.2f} s against "
            f"{greedy:.2f} s with draw and dealing (medians over ell)."
        )
    points.append(
        "**With few values** Anatomy can be the more accurate one: [comparing](guides/comparing.md) shows a column with ten."
    )
    return "## Where we lose\n\n" + "\n".join(f"- {point}" for point in points)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def protection(n: Numbers) -> str:
    """What a linked row gives away."""
    shown = {
        **_SHORT,
        "response": "randomised response, no belief above 1/ell",
        "laplace-0.05": "Laplace, epsilon 0.05 (a bound)",
    }
    lines = []
    for method, name in shown.items():
        wanted = {"method": method, "kind": "protection"}
        off = n.mean("by_method", "off", method=method, kind="small")
        lines.append(
            f"| {name} | {n.mean('by_method', 'belief', **wanted):.3f} | "
            f"{n.mean('by_method', 'belief_top', **wanted):.2f} | "
            f"{n.mean('by_method', 'candidates', **wanted):.1f} | {off:.2f} |"
        )
    text = "\n".join(lines)
    return f"""## What a linked row gives away

At ell = 5, 100,000 rows: somebody links a row to a person and updates by Bayes, with the shares of the
values as belief before. Belief in the true value, on average and over the most exposed 1% of the rows;
candidates left (perplexity, median row); counts to 10 off by more than 30%.

| method | belief | most exposed 1% | candidates | small counts hidden |
|---|---|---|---|---|
{text}

Whoever knows more beforehand learns more; `countveil audit` measures that on a given table."""


def method(n: Numbers) -> str:
    """How it was measured."""
    about = n.results.about
    seconds = about.get("cpu_seconds")
    cost = f", which cost {seconds / 60:.0f} minutes of one core in all" if seconds else ""
    return f"""## How it was measured

**Data.** {about["data"]}, {about["rows"]:,} people, in an order drawn once: the first N are the sample of N.
Plain columns: age, gender, education, marital status, race, class of worker. Sensitive: occupation in
50 classes; for two columns also age in ten classes of equal frequency, which is then not asked about.
Without other instructions the study takes ACS 2024 where `../shared/data/acs2024` has it, else the
made-up census of `countveil generate`, so that it runs for anyone; every CSV names its data. No raw
data is part of this project.

**Files of the Census Bureau.** `make study DATA=csv_pus.zip` takes the person files of the American
Community Survey as they are shipped (www2.census.gov, `programs-surveys/acs/data/pums/YEAR/1-Year/`):
`csv_pus.zip` with `psam_pusa.csv` and `psam_pusb.csv`, the zip of one state, an unpacked CSV, or a
folder of them. AGEP, SEX, SCHL, MAR, RAC1P, COW and OCCP are read (`study/data/pums.py`); people of 17
and older with an occupation are kept, OCCP is put into classes of 200 codes, and at most 500,000
people are drawn.

**Queries.** A pool has 5,000: 100 random predicates, each with all 50 occupations. A predicate takes one to
three columns, and the values that a random person has in them. Counts of 0 have no relative error and
are left out; estimates below 0 are read as 0. For two columns, 100 predicates with all pairs of values.

**Repetitions.** Every repetition draws its own pool and its own groups and releases; methods are compared on
the same pool. Streams depend on the cell of the grid alone, so a run can be repeated number for number,
except for clocks and for OpenDP's Laplace noise, which takes no seed.

**Laplace noise** pays for m predicates; all 50 counts of one predicate cost as much as one, since nobody
is in two of them. That favours it.

**Small counts of the attribute alone** come from a sample of 2,000 rows: with 100,000 no occupation is so
rare.

**Residue.** The paper deletes up to ell - 1 rows so that groups have equal sizes; here some groups are
larger by one instead, with both choices.

**Times** are of one machine with {about["cores"]} cores; the paper's were an i3 at 3.1 GHz. SQLite has a table
without index and counts each of the eight components by itself, as the paper describes.

**Again.** `make study` measures what is missing and rewrites results and figures ({about["cells"]} cells{cost};
finished ones are kept in `study/kept` and skipped, whatever ended the run before); `make study-quick` is a
small grid beside it, in `study/quick`. `python -m study run --only publishing answering --again` measures
the clock anew. The grid is declared in `study/grid.py` and the modules of `study/experiments`."""
