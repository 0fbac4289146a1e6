"""The examples in the documentation are run."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import countveil as cv
import countveil.cli.app
from countveil.cli.options.recipe import known_options
from countveil.comparing import lineup
from countveil.comparing.baselines.measure import on_frontier
from countveil.comparing.odds_entrants import odds_lineup
from countveil.comparing.together_entrants import together_lineup
from countveil.display import readable
from countveil.maths.channel import ChannelView
from countveil.maths.channel.common import (
    beliefs_with_common,
    random_belief,
    random_belief_without,
)
from countveil.maths.estimate import unbiased_counts
from countveil.maths.guarantees import statement
from countveil.maths.paper import bayes_counts
from countveil.publishing.advise.tables import accuracy_table, methods_table, protection_table
from countveil.release import METADATA_NAMES
from countveil.tables.recipe import read_recipe

ROOT = Path(__file__).parents[2]
PACKAGE = Path(cv.__file__).parent
CONTRIBUTING_PAGES = [
    "docs/contributing/extending.md",
    "docs/contributing/site.md",
    "docs/contributing/web-assets.md",
    "docs/releasing.md",
]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.slow
def test_the_sql_examples_are_answered(tmp_path: Path) -> None:
    table = cv.generate(5_000, seed=1)
    release = cv.publish(table, {"occupation": 5}, tmp_path / "release", seed=1)
    queries = [
        line for block in blocks("docs/reference/sql.md", "sql") for line in block.split("\n")
    ]
    queries = [query for query in queries if query]
    assert len(queries) >= 6
    for query in queries:
        assert len(release.sql(query)) > 0


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    for block in blocks("docs/start/ask.md", "python"):
        exec(block, found)
    assert isinstance(found["release"], cv.Release)
    assert len(found["answer"].to_pandas()) > 50  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["count", "compare", "pitfalls"])
def test_the_analysts_course_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    examples = blocks(f"docs/guides/asking/{page}.md", "python")
    assert len(examples) >= 3
    for block in examples:
        exec(block, found)
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text() == (ROOT / "docs/guides/figures" / picture.name).read_text()
    if page == "count":
        assert len(found["answer"]) == 80
        assert (tmp_path / "nurses.svg").exists()


def test_a_verdict_is_about_one_standard_error() -> None:
    one, two = (100 * (2 * NormalDist().cdf(z) - 1) for z in (1, 2))
    guide = " ".join((ROOT / "docs/guides/asking/count.md").read_text().split())
    assert f"less than 10% in {one:.0f} of 100 releases and by less than 20% in {two:.0f}" in guide
    said = ("README.md", "docs/start/ask.md", "docs/reference/sql.md")
    for page in (*said, "docs/reference/command-line.md"):
        text = " ".join((ROOT / page).read_text().split())
        assert re.search(rf"{two:.0f} of 100 (such answers|estimates) are within 20% of", text)


def test_what_shrinking_gains_is_what_was_measured() -> None:
    text = (ROOT / "benchmarks/RESULTS.md").read_text()
    kinds = "unbiased|shrunk|shrunk / best of the others"
    measured: dict[int, dict[str, list[list[float]]]] = {}
    for ell, kind, cells in re.findall(
        rf"^\| [^|]+ \| (\d+) \| ({kinds}) \|((?: [\d.]+ \|){{5}})$", text, flags=re.MULTILINE
    ):
        numbers = [float(cell) for cell in cells.split("|")[:5]]
        measured.setdefault(int(ell), {}).setdefault(kind, []).append(numbers)
    guide = (ROOT / "docs/guides/asking/count.md").read_text()
    lines = re.findall(r"^\| (\d+) \|((?: \d\.\d\d - \d\.\d\d \|){3})$", guide, flags=re.MULTILINE)
    assert {int(ell) for ell, _ in lines} == set(measured) == {2, 3, 5, 8, 10}
    for ell, cells in lines:
        pair = measured[int(ell)]
        ratio = np.array(pair["shrunk"]) / np.array(pair["unbiased"])
        classes = ratio[:, :1], ratio[:, 1:2], ratio[:, 3:]
        said = [f"{some.min():.2f} - {some.max():.2f}" for some in classes]
        assert [cell.strip() for cell in cells.split("|")[:3]] == said
    worst = max(np.max(pair["shrunk / best of the others"]) for pair in measured.values())
    assert f"at most {worst:.2f} times that of the best other method" in guide


def test_what_averages_cover_is_what_was_measured() -> None:
    text = (ROOT / "benchmarks/RESULTS.md").read_text()
    share = r" ([\d.]+) \|"
    line = rf"^\| (?:age|income)[^|]* \| (\d+) \| ([\d-]+) \| [\d,]+ \|{share}{share}{share}"
    lines = re.findall(line, text, flags=re.MULTILINE)
    assert {ell for ell, *_ in lines} == {"2", "5", "10"}
    every = [float(held) for _, _, held, _, _ in lines]
    # Of few rows hardly any is shown, and the page says so apart.
    shown = [float(held) for _, rows, _, held, share in lines if float(share) >= 0.01]
    page = " ".join((ROOT / "docs/theory/estimates.md").read_text().split())
    assert f"all intervals cover {min(every):.2f} to {max(every):.2f}" in page
    assert f"where at least 1% are shown, those cover {min(shown):.2f} to {max(shown):.2f}" in page


def test_the_speed_of_answers_is_what_was_measured() -> None:
    results = (ROOT / "benchmarks/RESULTS.md").read_text()
    assert "the made-up census, 500,000 rows" in results
    (one,) = re.findall(
        r"^\| release\.count, median of 1,000 different \| ([\d.]+) ms", results, re.MULTILINE
    )
    batches = re.findall(r"^\| release\.counts, 5,000, .* \| ([\d.]+) s \|", results, re.MULTILINE)
    assert len(batches) == 4
    least, most = min(map(float, batches)), max(map(float, batches))
    page = " ".join((ROOT / "docs/reference/sql.md").read_text().split())
    said = f"5,000 conditions in {least:.1f} to {most:.1f} s at 500,000 rows"
    (more,) = re.findall(r"at 4,000,000, .* was ([\d.]+) ms", results)
    assert f"takes {float(one):.0f} ms at 500,000 rows and {more} ms at 4 million" in page
    assert f"`counts` answers {said}" in page
    start = " ".join((ROOT / "docs/start/ask.md").read_text().split())
    assert f"`counts` answers {said}" in start
    large = r"^\| release\.counts, 5,000 different \| ([\d.]+) \| [\d.]+ \|\n\| the same again \|"
    ((first, again),) = re.findall(rf"{large} ([\d.]+) \| [\d.]+ \|", results, re.MULTILINE)
    times = f"{float(again):.1f} s, and {float(first):.1f} s the first time"
    assert f"at 20 million rows 5,000 different ones take {times}" in page


@pytest.mark.slow
def test_the_guide_to_sources_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    pieces = blocks("docs/guides/sources.md", "python")
    assert pieces
    for block in pieces:
        exec(block, found)


@pytest.mark.slow
def test_the_guide_to_metadata_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    (example,) = blocks("docs/guides/metadata.md", "python")
    exec(example, found)
    assert cv.verify(found["release"].folder) == []
    guide = (ROOT / "docs/guides/metadata.md").read_text()
    for name, file in METADATA_NAMES.items():
        assert f"| `{name}` | `{file}` |" in guide
        text = (found["release"].folder / file).read_text()
        # What the table of the guide names is there.
        named = {"ddi": "caseQnty titl confDec cleanOps dataProcessing security derivation catgry",
                 "croissant": "FileObject rai:dataLimitations rai:dataManipulationProtocol values/",
                 "dcat": "dcat:Distribution spdx:checksum csvw:Column skos:Collection"}  # fmt: skip
        assert all(word in guide and word in text for word in named[name].split())


@pytest.mark.slow
def test_the_guide_to_skewed_columns_runs_and_says_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/skewed-columns.md", "python"):
        exec(block, found)
    people, release = found["people"], found["release"]
    assert release.manifest.sensitive["country"].common == ("United States",)
    assert len(found["answer"]) > 40
    # The figures of the true table: those of a release are near them.
    counts = np.sort([pair["counts"] for pair in people["country"].value_counts().to_pylist()])
    shares = counts / counts.sum()
    own, average, most = beliefs_with_common(counts, 5, np.array([counts.size - 1]))
    page = (ROOT / "docs/guides/skewed-columns.md").read_text()
    text = " ".join(page.split())
    assert f"with probability {own[0]:.2f}. Before anything was published it was" in text
    assert f"{shares[-1]:.2f};" in text
    assert f"with probability {average:.2f} on average, and up to {most:.2f}:" in text
    low, high = (random_belief_without(shares[place], shares[-1], 5) for place in (0, -2))
    assert f"and {low:.2f} to {high:.2f}." in text
    assert f"and {random_belief(shares[-2], 5):.2f} for the most frequent of the others" in text
    lines = re.findall(r"^\| (\d+)% \|([ .\d|]+)\|$", page, flags=re.MULTILINE)
    assert len(lines) == 4
    for share, cells in lines:
        said = [f"{random_belief_without(0, int(share) / 100, ell):.2f}" for ell in (3, 5, 10, 20)]
        assert [cell.strip() for cell in cells.split("|")] == said


def test_the_guide_to_columns_together_runs_and_says_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/columns-together.md", "python"):
        exec(block, found)
    pair = found["pair"]
    page = (ROOT / "docs/guides/columns-together.md").read_text()
    assert f"# {pair.strength:.2f}: Cram" in page
    ways = pair.apart, pair.together
    at = pair.columns.index("occupation")
    for what, figures in {
        "mean belief in the true pair": [f"{way.mean_belief:.3f}" for way in ways],
        "largest belief in a published pair": [f"{way.largest_belief:.2f}" for way in ways],
        "largest belief in an occupation": [f"{way.largest[at]:.2f}" for way in ways],
        "largest belief in a salary": [f"{way.largest[1 - at]:.2f}" for way in ways],
        "rows about which a value is believed half as much again as its column alone allows": [
            f"{max(way.above):.1%}" for way in ways
        ],
        "variance of unbiased counts of pairs, over the least possible at this mean belief": [
            f"{way.distance:.2f}" for way in ways
        ],
    }.items():
        assert f"| {what} | {' | '.join(figures)} |" in page


@pytest.mark.slow
def test_the_guide_to_models_runs_and_has_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/asking/model.md", "python"):
        exec(block, found)
    fit, true = found["fit"]["C(gender)[T.M]"], found["true"]["C(gender)[T.M]"]
    assert fit["low"] < true < fit["high"]
    assert abs(found["published"]["C(gender)[T.M]"]) < 0.2 * abs(true)
    assert np.allclose(found["linear"].params, found["release"].regress(
        "occupation = 'nurse' ~ C(gender) + age").estimates)  # fmt: skip
    drawn = (tmp_path / "regression.svg").read_text()
    assert drawn == (ROOT / "docs/guides/figures/regression.svg").read_text()
    assert (tmp_path / "weights.parquet").exists()


@pytest.mark.slow
def test_the_guide_to_recipes_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/recipes.md", "python"):
        exec(block, found)
    assert found["plan"].rows == found["release"].rows == 2_000
    names = [column.name for column in found["release"].columns]
    assert "country" not in names
    (shown,) = blocks("docs/guides/recipes.md", "toml")
    (tmp_path / "shown.toml").write_text(shown)
    assert read_recipe("shown.toml", "publish", known_options())["sensitive"]["salary"] == 3


@pytest.mark.slow
def test_the_guide_to_ell_runs_and_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/choosing-ell.md", "python"):
        exec(block, found)
    text = (ROOT / "docs/guides/choosing-ell.md").read_text()
    for table in (accuracy_table, protection_table):
        names, rows = table(found["salary"])
        for row in (names, *rows):
            assert f"| {' | '.join(map(readable, row))} |" in text
    for column in ("salary", "country"):
        names, rows = methods_table(found[column])
        assert len(rows) > 9
        for row in (names, *rows):
            assert f"| {' | '.join(map(readable, row))} |" in text
    assert f"it is {found['salary'].agreement:.1%} here" in " ".join(text.split())


def test_the_promise_is_the_statement_of_a_release() -> None:
    text = (ROOT / "docs/guides/promise.md").read_text()
    said = " ".join(text.replace("\n> ", " ").replace("\n>", " ").replace("**", "").split())
    for paragraph in statement(100_000, {"occupation": 5}, {"occupation": [15, 1_500, 6_000]}):
        assert paragraph in said


@pytest.mark.slow
def test_the_guide_to_comparing_runs_and_shows_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/comparing.md", "python"):
        exec(block, found)
    text = (ROOT / "docs/guides/comparing.md").read_text()
    for names, rows in (
        found["comparison"].accuracy_table(), found["comparison"].protection_table(),
        found["comparison"].frontier_table(),
    ):  # fmt: skip
        for row in (names, *rows):
            # No seed repeats the noise of OpenDP.
            if not row[0].startswith("Laplace"):
                assert f"| {' | '.join(map(readable, row))} |" in text
    assert text.count("| Laplace, eps 0.05 |") == 3


def test_the_table_of_the_frontier_is_where_methods_stand() -> None:
    text = (ROOT / "docs/theory/frontier.md").read_text()
    table = cv.generate(20_000, seed=1)
    assert table is not None
    names = {
        "random groups": "countveil, random", "invariant PRAM, matched": "invariant PRAM",
        "mixed groups with common values": "countveil, common", "mixed groups": "countveil",
        "mechanism A, k-RR with the same average": "mechanism A", "Anatomy": "Anatomy",
        "k-RR, no belief above 1/ell": "k-RR, same largest",
        "greedy groups, as in the paper": "the paper's choices",
    }  # fmt: skip
    rows = {line.split(" | ")[0][2:]: line.strip("| \n").split(" | ") for line in text.split("\n")}
    for place, column in ((1, "salary"), (3, "occupation")):
        counts = table[column].value_counts().field("counts").to_numpy().astype(np.int64)
        methods = {entrant.name: entrant.method for entrant in lineup(counts, 5, 0.05, 100)}
        for shown, name in names.items():
            method = methods[name]
            if method is None:
                assert rows[shown][place] == "-"
                continue
            found = on_frontier(method, counts)
            assert found is not None
            assert found.distance is not None
            assert rows[shown][place] == f"{found.mean_belief:.3f}".removeprefix("0")
            said = float(rows[shown][place + 1].replace(",", ""))
            assert said == pytest.approx(found.distance, rel=1e-3)


def _where(text: str, shown: str) -> list[str]:
    """The cells of the line of a table that begins with these words."""
    line = next(line for line in text.split("\n") if line.startswith(f"| {shown} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_the_frontier_has_columns_together_and_bounded_odds() -> None:
    text = (ROOT / "docs/theory/frontier.md").read_text()
    table = cv.generate(20_000, seed=1)
    assert table is not None
    codes = [table[name].combine_chunks().dictionary_encode() for name in ("occupation", "salary")]
    places = [column.indices.to_numpy() for column in codes]
    shape = tuple(len(column.dictionary) for column in codes)
    pairs = np.bincount(np.ravel_multi_index(places, shape), minlength=math.prod(shape))
    together = {one.name: one.method for one in together_lineup(pairs, shape, 5, 0.05, 100)}
    counts = np.bincount(places[0])
    odds = {one.name: one.method for one in odds_lineup(counts, 5, 20, 0.05, 100)}
    for histogram, methods, shown in (
        (pairs, together, {
            "together, ell = 5": "countveil, together",
            "each column apart, mixed groups, ell = 5": "countveil, apart",
            "together, ell = 12": "together, larger ell",
            "invariant PRAM of pairs, B as together": "PRAM, same belief",
            "k-RR of pairs, B as together": "k-RR, same belief",
        }),
        (counts, odds, {
            "noise, then mixed groups": "ours, bounded",
            "noise, then random groups": "ours, random",
            "mixed groups without noise": "ours, no noise",
            "plain k-RR with the same K": "k-RR, same K",
            "k-RR with the same B": "k-RR, same belief",
            "invariant PRAM with the same B": "PRAM, same belief",
        }),
    ):  # fmt: skip
        for name, method_name in shown.items():
            method = methods[method_name]
            assert method is not None
            found = on_frontier(method, histogram)
            assert found is not None
            belief, over, *factor = _where(text, name)
            assert belief == f"{found.mean_belief:.3f}".removeprefix("0")
            assert float(over) == pytest.approx(found.distance, rel=2e-3)
            assert not factor or float(factor[0]) == pytest.approx(found.odds, rel=6e-3)


@pytest.mark.slow
def test_the_guide_to_databases_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in blocks("docs/guides/exporting.md", "python"):
        exec(block, found)
    ours = found["release"].sql(found["question"], method="unbiased")
    told = [(*g, e.estimate, e.std_error) for g, e in zip(ours.groups, ours.estimates, strict=True)]
    for row, expected in zip(sorted(found["answer"]), sorted(told), strict=True):
        assert row[0] == expected[0]
        assert row[1:] == pytest.approx(expected[1:], rel=1e-9)


def test_the_table_of_widths_is_what_intervals_have() -> None:
    text = (ROOT / "docs/guides/asking/count.md").read_text()
    lines = re.findall(r"^\| (\d+) \| ([\d |]+) \|$", text, flags=re.MULTILINE)
    assert len(lines) == 5
    for ell, cells in lines:
        view = ChannelView(100_000, 1 / int(ell), np.array([2_000.0]), None, two_state_holds=True)
        widths = []
        for share in (1, 0.5, 0.1, 0.01):
            n, x = 100_000 * share, 2_000 * share
            y = view.keep * x + view.b * (n - x) if share < 1 else view.published
            found = unbiased_counts(y[None], np.array([n]), view, 0.95)
            widths.append(f"{float((found.high - found.low)[0, 0]) / 2:.0f}")
        assert [cell.strip() for cell in cells.split("|")] == widths


@pytest.mark.slow
def test_the_table_of_the_papers_choices_is_what_the_methods_say() -> None:
    text = (ROOT / "docs/theory/estimates.md").read_text()
    lines = re.findall(r"^\| (\d+) \|(.*\(\d+\).*)\|$", text, flags=re.MULTILINE)
    assert len(lines) == 3
    for ell, cells in lines:
        a = 1 / int(ell)
        y = a * 100 + (1 - a) * 300 / 9_700 * 900
        said = [f"{y:.1f}"]
        for options in ({}, {"channel": "printed"}, {"channel": "printed", "tolerance": 0.01}):
            found = bayes_counts(
                np.array([[y, 1_000 - y]]),
                np.array([300.0, 9_700]),
                [a],
                **options,
            )
            said.append(f"{found.estimate[0, 0]:.1f} ({found.rounds.iterations[0, 0]})")
        assert [cell.strip() for cell in cells.split("|")] == said


def test_links_between_pages_lead_somewhere() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    assert len(pages) > 8
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", *CONTRIBUTING_PAGES])
def test_pages_for_contributors_name_files_that_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    paths = {
        path for path in re.findall(r"`([\w./-]+)`", text) if "/" in path or path[-3:] == ".py"
    }
    assert paths
    # A paragraph about a room names what is in it, and a module need not have its ending.
    tops = [ROOT, PACKAGE, *(room for room in PACKAGE.iterdir() if room.is_dir())]
    missing = {
        path
        for path in paths
        if not any((top / f"{path}{ending}").exists() for top in tops for ending in ("", ".py"))
    }
    assert not missing
