"""Wrong input about methods gets one clear sentence: in Python and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil import errors
from countveil.cli.app import app, with_optional_values
from countveil.errors import CountveilError

PUBLIC = {"job": "public:occurring", "country": "public:occurring"}
# What was written in Python, the same on the command line, and what is said.
Case = tuple[dict[str, Any], list[str], str]
PUBLISH: dict[str, Case] = {
    "a common value that does not exist": (
        {"common": {"country": "hoem"}}, ["--common", "country=hoem"],
        "no value 'hoem', so it cannot be a common one. Did you mean 'home'?",
    ),
    "a common value of an unknown column": (
        {"common": {"countri": "home"}}, ["--common", "countri=home"],
        "'countri' is not one of them. Did you mean 'country'?",
    ),
    "together with different ells": (
        {"sensitive": {"country": 4, "job": 3}, "together": True},
        ["-s", "country:4", "-s", "job:3", "--together"],
        "share one ell; got 'country' (ell = 4) and 'job' (ell = 3)",
    ),
    "odds without a domain": ({"odds": 20}, ["--odds", "20"], "needs its values to be declared"),
    "odds of one": ({"odds": 1, "domain": PUBLIC}, ["--odds", "1"], "must be a number above 1"),
    "odds below one": ({"odds": 0.2, "domain": PUBLIC}, ["--odds", "0.2"], "a number above 1"),
    "odds that no gamma reaches": (
        {"odds": 1.0005, "domain": PUBLIC, "groups": "random"},
        ["--odds", "1.0005", "--groups", "random"], "choose K from 1.00",
    ),
    "together with the paper's groups": (
        {"together": True, "groups": "anatomy"}, ["--together", "--groups", "anatomy"],
        "Columns together are published with random groups",
    ),
    "together with an unknown column": (
        {"together": ["country", "jop"]}, ["--together", "country,jop"],
        "'jop' is not one of them. Did you mean 'job'?",
    ),
    "together with a plain column": (
        {"together": ["country", "sex"]}, ["--together", "country,sex"], "'sex' is not one of them",
    ),
    "together with itself": (
        {"together": ["job", "job"]}, ["--together", "job,job"], "is named twice",
    ),
    "together alone": ({"together": ["job"]}, ["--together", "job"], "from two on; got 'job'"),
    "together with a bound": (
        {"together": True, "odds": 9, "domain": PUBLIC}, ["--together", "--odds", "9"],
        "for columns that are published apart",
    ),
    "together with common values": (
        {"together": True, "common": "auto"}, ["--together", "--common", "auto"],
        "cannot have common values and be published together",
    ),
    "random groups with common values": (
        {"groups": "random", "common": "auto"}, ["--groups", "random", "--common", "auto"],
        "Common values are for mixed groups",
    ),
    "a bound with the paper's groups": (
        {"groups": "anatomy", "odds": 9, "domain": PUBLIC}, ["--groups", "anatomy", "--odds", "9"],
        "A bound on the odds is for mixed and random groups",
    ),
    "a word that is no domain": (
        {"domain": {"job": "public:values"}}, ["--domain", "job=public:values"],
        "public:occurring stands for the values that occur",
    ),
}  # fmt: skip
ADVISE: dict[str, Case] = {
    name: PUBLISH[name]
    for name in (
        "odds without a domain", "odds of one", "odds that no gamma reaches",
        "together with an unknown column", "together with a plain column", "together alone",
        "together with itself", "together with a bound", "random groups with common values",
        "a word that is no domain",
    )
} | {
    "together with the paper's groups": (
        {"together": True, "groups": "anatomy"}, ["--together", "--groups", "anatomy"],
        "Only mixed and random groups are compared",
    ),
}  # fmt: skip
INSPECT = {"a word that is no domain": PUBLISH["a word that is no domain"]}
CASES = [
    (command, name)
    for command, cases in (("publish", PUBLISH), ("advise", ADVISE), ("inspect", INSPECT))
    for name in cases
]
BY_COMMAND: dict[str, dict[str, Case]] = {"publish": PUBLISH, "advise": ADVISE, "inspect": INSPECT}


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pa.Table:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(9)
    people = pa.table({
        "sex": rng.choice(["F", "M"], 600).tolist(),
        "country": rng.choice(["home", *"abcdefgh"], 600).tolist(),
        "job": rng.choice(list("pqrstuvw"), 600).tolist(),
    })  # fmt: skip
    pc.write_csv(people, "in.csv")
    return people


@pytest.mark.few(5)
@pytest.mark.parametrize(("command", "name"), CASES)
def test_in_python(command: str, name: str, table: pa.Table) -> None:
    options, _, message = BY_COMMAND[command][name]
    calls: dict[str, Callable[..., Any]] = {
        "publish": lambda sensitive=None, **rest: cv.publish(
            table, sensitive or {"country": 4, "job": 4}, "release", **rest
        ),
        "advise": lambda **rest: cv.advise(table, ["country", "job"], **rest),
        "inspect": lambda **rest: cv.inspect(table, sensitive=["country", "job"], **rest),
    }
    with pytest.raises(CountveilError) as caught:
        calls[command](**options)
    assert message in str(caught.value)
    assert_one_paragraph(str(caught.value))
    assert not Path("release").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize(("command", "name"), CASES)
def test_on_the_command_line(command: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "reader", "command line")
    options, words, message = BY_COMMAND[command][name]
    if "domain" in options and "--domain" not in words:
        words = [*words, *(w for c, d in PUBLIC.items() for w in ("--domain", f"{c}={d}"))]
    if "-s" not in words:
        ell = ":4" if command == "publish" else ""
        words = ["-s", f"country{ell}", "-s", f"job{ell}", *words]
    to = ["--to", "release"] if command == "publish" else []
    done = CliRunner().invoke(app, with_optional_values([command, "in.csv", *words, *to]))
    assert isinstance(done.exception, CountveilError), (done.output, done.exception)
    assert message in str(done.exception)
    assert_one_paragraph(str(done.exception))


def assert_one_paragraph(text: str) -> None:
    assert text.endswith((".", "?")), text
    assert "\n" not in text
