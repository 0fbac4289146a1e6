"""Every engine publishes the same table in the same way, and refuses the same."""

from __future__ import annotations

import functools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import SettingsError, UnsafeError
from countveil.release.values import BOOLEAN, kind_of
from countveil.tables import Bins, put_into_classes
from tests.engines.conformance.people import CHOICES, REFUSED, people
from tests.engines.conformance.places import (
    SOURCES,
    Source,
    parametrized,
    rows_of,
    with_choices,
)
from tests.publishing.test_safety_net import hospital

SEED = 7


def publish(table: Any, engine: str, to: Path, **options: Any) -> cv.Release:
    options = {"keep": ["row"], "seed": SEED, "engine": engine, **options}
    return cv.publish(table, options.pop("sensitive"), to, **options)


@functools.cache
def expected(choice: str) -> cv.Release:
    """What comes out of an Arrow table on this machine."""
    folder = Path(tempfile.mkdtemp(prefix="countveil-conformance-")) / "release"
    return publish(people(), "embedded", folder, **CHOICES[choice])


@functools.cache
def refusal(name: str) -> str:
    """What is said of an Arrow table on this machine."""
    options, error = REFUSED[name]
    with tempfile.TemporaryDirectory() as folder, pytest.raises(error) as caught:
        publish_refused(people(), "embedded", Path(folder), options)
    return str(caught.value).replace(folder, "FOLDER")


def publish_refused(table: Any, engine: str, folder: Path, options: dict[str, Any]) -> None:
    to = folder / options.get("to", "release")
    publish(table, engine, to, **{k: v for k, v in options.items() if k != "to"})


_PLACED: dict[str, Any] = {}


def placed(source: Source, request: pytest.FixtureRequest) -> Any:
    """The table in its place, put there once for all tests of a process."""
    if source.name not in _PLACED:
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        _PLACED[source.name] = source.put(people(), factory.mktemp("people"), request)
    return _PLACED[source.name]


def true_values(choice: str, name: str) -> dict[int, Any]:
    """By row, the true value of a sensitive column after everything that was done to it."""
    options = CHOICES[choice]
    missing = options.get("missing", [])
    values = [None if v in missing else v for v in people()[name].to_pylist()]
    if options.get("bins", {}).get(name) == "month":
        values = [None if v is None else v.isoformat()[:7] for v in values]
    elif name in options.get("bins", {}):
        different = sorted({v for v in values if v is not None})
        counts = np.array([values.count(v) for v in different])
        labels, _ = put_into_classes(name, different, counts, Bins.of(options["bins"][name]))
        recoded = dict(zip(different, labels, strict=True))
        values = [None if v is None else recoded[v] for v in values]
    step, top = options.get("round", {}).get(name), options.get("top", {}).get(name)
    if step is not None:
        values = [None if v is None else min(round(v / step) * step, top) for v in values]
    length = options.get("levels", {}).get(name, "").rpartition(":")[2]
    values = [v[: int(length)] if length and v is not None else v for v in values]
    merged = options.get("merge", {}).get(name, {})
    if isinstance(merged, str):
        rows_of_value, below = Counter(values), int(merged.split(":")[1])
        merged = {v: "other" for v, rows in rows_of_value.items() if v and rows < below}
    return {row: merged.get(value, value) for row, value in enumerate(values)}


def linked(release: cv.Release, choice: str, name: str) -> Counter[tuple[Any, Any]]:
    """How many rows with a true value publish which one: Y, as it came out."""
    true = true_values(choice, name)
    return Counter((true[row["row"]], row[name]) for row in rows_of(release))


@pytest.mark.few(4, slow=80)
@pytest.mark.parametrize(("source", "choice"), with_choices(CHOICES))
def test_the_same_choices_publish_the_same(
    source: Source, choice: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = placed(source, request)
    lacking = [name for name in CHOICES[choice] if name in source.lacks]
    if lacking:
        with pytest.raises(SettingsError, match=f"^{lacking[0]}=.* cannot be used .* What works:"):
            publish(table, source.engine, tmp_path / "release", **CHOICES[choice])
        return
    theirs = expected(choice)
    ours = publish(table, source.engine, tmp_path / "release", **CHOICES[choice])
    assert ours.rows == theirs.rows
    assert [(c.name, c.role, kind_of(c.type)) for c in ours.columns] == [
        (c.name, c.role, kind_of(c.type)) for c in theirs.columns
    ]
    assert ours.manifest.sensitive == theirs.manifest.sensitive
    assert ours.manifest.statement == theirs.manifest.statement
    assert ours.manifest.preparation == theirs.manifest.preparation
    assert cv.verify(ours.folder) == []
    names = list(CHOICES[choice]["sensitive"])
    for name in names:
        assert Counter(row[name] for row in rows_of(ours)) == Counter(
            row[name] for row in rows_of(theirs)
        )
    plain = [column.name for column in ours.columns if column.role == "plain"]
    assert cells(ours, plain) == cells(theirs, plain)
    for name in names if "row" in plain else ():
        assert linked(ours, choice, name) == linked(theirs, choice, name)


def test_what_is_tried_in_a_place_is_a_choice() -> None:
    for source in SOURCES:
        assert {*source.choices, *source.later} <= CHOICES.keys()
        assert not {*source.choices} & {*source.later}
        assert len(source.later) < len(CHOICES) / 2


def cells(release: cv.Release, names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in names) for row in rows_of(release))


@pytest.mark.slow
@pytest.mark.parametrize("source", parametrized([s for s in SOURCES if not s.choices]))
def test_the_same_is_refused_with_the_same_words(
    source: Source, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = source.put(people(), tmp_path, request)
    before = sorted(tmp_path.iterdir())
    for name, (options, error) in REFUSED.items():
        if set(options) & set(source.lacks):
            continue
        with pytest.raises(error) as caught:
            publish_refused(table, source.engine, tmp_path, options)
        assert str(caught.value).replace(str(tmp_path), "FOLDER") == refusal(name), name
        assert sorted(tmp_path.iterdir()) == before, name


@pytest.mark.few(1)
@pytest.mark.parametrize("source", parametrized(SOURCES))
def test_the_same_dangers_are_found(
    source: Source, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Persons with several rows, dates of birth, slices, values too fine: wherever rows are."""
    articles = pa.array([f"article {row // 3}" for row in range(1_500)])
    table = hospital(1_500).append_column("article", articles)
    place = source.put(table, tmp_path, request)
    for sensitive in ({"insulin": 2}, {"article": 5}):
        said = []
        for where, engine in ((table, "embedded"), (place, source.engine)):
            with pytest.raises(UnsafeError) as caught:
                publish(where, engine, tmp_path / "release", sensitive=sensitive, keep=[])
            said.append(str(caught.value))
        assert said[0] == said[1]
        assert "'who' looks like a person number" in said[0]
        danger = "'treated' make 'insulin' nearly" if "insulin" in sensitive else "is too fine"
        assert danger in said[0]


# Texts that look like numbers, dates or truths, and what becomes of them: the type, and for texts
# the different values, where each is a code that must not be lost.
LOOKALIKES: dict[str, tuple[list[str], str]] = {
    "whole numbers": (["1", "20", "-3", "0"], "number"),
    "leading zeros": (["007", "08", "9"], "text"),
    "plus signs": (["+1", "2", "3"], "text"),
    "whole numbers written twice": (["250.0", "250.00", "251.0"], "text"),
    "decimals": (["250.25", "1.5", "3"], "number"),
    "money": (["250.50", "1.00", "3.10"], "number"),
    "decimals written twice": (["1.5", "1.50", "2.5"], "text"),
    "powers of ten": (["1e5", "2.5E-3", "7"], "number"),
    "powers written twice": (["1e2", "100", "7"], "text"),
    "too many digits": (["1234567890123456789012", "1", "2"], "text"),
    "long decimals": (["0.12345678901234567890", "1.5", "2"], "text"),
    "beyond whole numbers": (["9223372036854775808", "1", "2"], "text"),
    "not a number": (["NaN", "1.5", "2"], "text"),
    "infinity": (["Infinity", "1.5", "2"], "text"),
    "dates": (["2020-02-29", "1999-12-31", "2020-01-01"], "date"),
    "no dates": (["2020-02-30", "1999-12-31", "2020-01-01"], "text"),
    "dates without zeros": (["2020-2-9", "1999-12-31", "2020-01-01"], "text"),
    "years alone": (["2020", "1999", "2001"], "number"),
    "times": (["2020-02-29 10:30:00", "1999-12-31T23:59:59.5", "2020-01-01 00:00:00"], "timestamp"),
    "times with a zone": (["2020-02-29T10:30:00Z", "1999-12-31T23:59:59Z"], "text"),
    "truths": (["true", "false", "TRUE"], BOOLEAN),
    "letters": (["t", "f", "y"], "text"),
    "spaces around numbers": ([" 1", "2 ", "3"], "text"),
    "spaces around texts": ([" a", "b ", "c"], "text"),
    "words of programs": (["NULL", "null", "None", "\\N"], "text"),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", parametrized([s for s in SOURCES if s.name.endswith("csv")]))
def test_a_text_file_is_taken_at_its_word(
    source: Source, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """One file with all of them: each column takes the type that keeps every text apart."""
    rows = 240
    columns = {
        name.replace(" ", "_"): pa.array([texts[i % len(texts)] for i in range(rows)])
        for name, (texts, _) in LOOKALIKES.items()
    }
    columns["job"] = pa.array([JOB[i % 7 % 3] for i in range(rows)])
    table = source.put(pa.table(columns), tmp_path, request)
    made = publish(
        table, source.engine, tmp_path / "release", sensitive={"job": 2}, keep=list(columns)
    )
    kinds = {column.name: kind_of(column.type) for column in made.columns}
    wrong = {
        name: (kinds[name.replace(" ", "_")], kind)
        for name, (_, kind) in LOOKALIKES.items()
        if kinds[name.replace(" ", "_")] != kind
    }
    assert not wrong
    published = rows_of(made)
    for name, (texts, kind) in LOOKALIKES.items():
        values = {row[name.replace(" ", "_")] for row in published}
        assert len(values) == len(set(texts)) - (name == "truths")
        if kind == "text":
            assert values == set(texts)


JOB = ["cook", "smith", "nurse"]
