"""Manifests of bounded odds and of columns together: what was changed in them is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from tests.robustness.test_verify import MANIFEST, changed, found_in, parts, write_manifest

JOB, ODDS = ("sensitive", "job"), ("sensitive", "job", "odds")
KINDS: dict[str, dict[str, Any]] = {
    "odds": {"sensitive": {"job": 3}, "odds": 12, "domain": {"job": list("abcdef")}},
    "together": {"sensitive": {"job": 3, "pay": 3}, "together": True},
}
# Each is impossible whatever the data are, even if the manifest's own checksum was made anew.
LIES: dict[str, list[tuple[tuple[str | int, ...], Any]]] = {
    "odds": [
        ((*ODDS, "gamma"), lambda gamma: gamma / 2),
        ((*ODDS, "gamma"), lambda gamma: (1 + gamma) / 2),
        ((*ODDS, "gamma"), 0),
        ((*ODDS, "gamma"), 1.5),
        ((*ODDS, "gamma"), "much"),
        ((*ODDS, "at_most"), 11),
        ((*ODDS, "at_most"), 1),
        ((*ODDS, "at_most"), None),
        ((*ODDS, "epsilon"), lambda epsilon: epsilon - 1),
        ((*ODDS, "epsilon"), float("inf")),
        ((*ODDS, "surprise"), 1),
        ((*JOB, "odds"), {}),
        ((*JOB, "declared"), False),
        ((*JOB, "groups"), "anatomy"),
        ((*JOB, "ell"), 2),
        ((*JOB, "domain"), lambda domain: domain[:-1]),
        (("together",), [["job", "job"]]),
    ],
    "together": [
        (("together",), []),
        (("together",), "job, pay"),
        (("together",), ["job", "pay"]),
        (("together",), [["job"]]),
        (("together",), [["job", "job"]]),
        (("together",), [["job", "town"]]),
        (("together",), [["job", "nobody"]]),
        (("together",), [["job", "pay"], ["pay", "job"]]),
        (("together",), [["job", 5]]),
        ((*JOB, "ell"), 4),
        ((*JOB, "groups"), "mixed"),
        ((*JOB, "residue"), "drop"),
    ],
}


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "town": rng.choice(["here", "there"], 300).tolist(),
            "job": rng.choice(list("abcdef"), 300).tolist(),
            "pay": rng.choice(["low", "middle", "high"], 300).tolist(),
        }
    )
    folder = tmp_path_factory.mktemp("special")
    for name, options in KINDS.items():
        drop = [] if "pay" in options["sensitive"] else ["pay"]
        cv.publish(table, to=folder / name, seed=1, drop=drop, **options)
    return {name: folder / name for name in KINDS}


@pytest.fixture(params=list(KINDS))
def release(
    request: pytest.FixtureRequest, originals: dict[str, Path], tmp_path: Path
) -> tuple[str, Path]:
    shutil.copytree(originals[request.param], tmp_path / "release")
    return request.param, tmp_path / "release"


def test_it_is_sound_as_it_is(release: tuple[str, Path]) -> None:
    _, folder = release
    assert found_in(folder) == []


def test_any_edited_field_is_noticed(release: tuple[str, Path]) -> None:
    _, folder = release
    content = json.loads((folder / MANIFEST).read_text())
    special = [path for path in parts(content) if "odds" in path or "together" in path]
    assert len(special) >= 3
    for path in special:
        others: tuple[Any, ...] = (None, 3, "x", [], {}, lambda old: [old])
        for to in others:
            edited = changed(content, path, to)
            if edited == content:
                continue
            write_manifest(folder, edited, checksum=False)
            assert found_in(folder) == [MANIFEST], path
            with pytest.raises(cv.CountveilError):
                cv.open(folder)


def test_what_cannot_be_right_is_refused(release: tuple[str, Path]) -> None:
    name, folder = release
    content = json.loads((folder / MANIFEST).read_text())
    for path, to in LIES[name]:
        write_manifest(folder, changed(content, path, to), checksum=True)
        assert found_in(folder) == [MANIFEST], (path, to)
        with pytest.raises(cv.CountveilError, match="manifest"):
            cv.open(folder)
