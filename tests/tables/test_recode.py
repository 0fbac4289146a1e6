"""Files in which a publisher merges values or declares a domain, well and badly written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from countveil.errors import CountveilError, InputError, SettingsError
from countveil.tables import table_options
from countveil.tables.labels import read_labels
from countveil.tables.recode import declared_values, merge_values, read_domain, read_merges


def file(place: Path, content: bytes | str) -> Path:
    path = place / "list.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "a,x\nb,x\n", "value,label\na,x\nb,x\n", "Value,Label\r\na,x\r\nb,x", "\ufeffa,x\n\nb,x\n",
        'a,x\n"b",x\na,x\n',
    ],
)  # fmt: skip
def test_merges_are_read(tmp_path: Path, content: str) -> None:
    assert read_merges(file(tmp_path, content)) == {"a": "x", "b": "x"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "merges nothing"),
        ("value,label\n", "merges nothing"),
        ("a\n", "line 1: two cells"),
        ("a,x\nb,\n", "line 2: two cells"),
        ("a,x,y\n", "line 1: two cells"),
        ("a,x\na,y\n", "line 2: the value 'a' has two labels"),
        ('a,"x\n', "check its quotes"),
        (b"a,\xff\n", "not UTF-8"),
    ],
)
def test_merges_that_cannot_be_meant(tmp_path: Path, content: bytes | str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_merges(file(tmp_path, content))


@pytest.mark.parametrize("text", ['{"a": "x", "b": "x"}', ' {\n"b":"x","a":"x"}\n'])
def test_merges_may_follow_as_a_list(text: str) -> None:
    assert read_merges(text) == {"a": "x", "b": "x"}
    assert read_labels('{"1": "yes", "a,=:\\"b": "no"}') == {"1": "yes", 'a,=:"b': "no"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "merges nothing"),
        ('{"a": "x"', "not a list in JSON"),
        ('{"a": 1}', "not a list in JSON"),
        ('{"a": " "}', "not a list in JSON"),
        ('{"a": ["x"]}', "not a list in JSON"),
        ('{"a": "x", "a": "y"}', "a value has two labels"),
        ("{" * 100_000, "not a list in JSON"),
    ],
)
def test_lists_that_cannot_be_meant(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        read_merges(text)
    assert len(str(refused.value)) < 300


def test_labels_in_a_list_are_different_too() -> None:
    with pytest.raises(InputError, match="The labels: the codes 'a' and 'b' share the label 'x'"):
        read_labels('{"a": "x", "b": "x"}')


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for read in (read_merges, read_domain):
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "none.csv")
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path)


def test_merging_leaves_missing_and_the_rest_alone() -> None:
    assert merge_values([None, 1, 2, 30], {"1": "few", "2": "few"}) == [None, "few", "few", "30"]
    assert merge_values([True, dt.date(2024, 1, 2)], {"true": "yes", "2024-01-02": "then"}) == [
        "yes", "then",
    ]  # fmt: skip
    assert read_merges({2: "few", False: "no"}) == {"2": "few", "false": "no"}


@pytest.mark.parametrize("content", ["a\nb,\n", "a,b\n"])
def test_a_domain_has_one_value_per_line(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="one value per line"):
        read_domain(file(tmp_path, content))


def test_domains_are_read(tmp_path: Path) -> None:
    assert read_domain(file(tmp_path, 'value\nb\n"a, or c"\n')) == ["b", "a, or c"]
    assert read_domain([1, 2]) == ["1", "2"]
    with pytest.raises(InputError, match="twice"):
        read_domain(file(tmp_path, "a\na\n"))
    with pytest.raises(InputError, match="no value"):
        read_domain(file(tmp_path, "\n"))


@pytest.mark.parametrize(
    ("texts", "type_name", "values"),
    [
        (["b", "a"], "string", ["b", "a"]),
        (["3", "1"], "int16", [3, 1]),
        (["2024-01-02"], "date32[day]", [dt.date(2024, 1, 2)]),
        (["true", "false"], "bool", [True, False]),
        (["2024-01-02T03:04:05"], "timestamp[us]", [dt.datetime(2024, 1, 2, 3, 4, 5)]),  # noqa: DTZ001
    ],
)
def test_declared_values_have_the_type_of_the_column(
    texts: list[str], type_name: str, values: list[Any]
) -> None:
    assert declared_values("x", texts, [None, values[0]], type_name) == values
    with pytest.raises(InputError, match="outside its declared domain"):
        declared_values("x", texts, [values[0], "other"], type_name)


def test_declared_values_that_cannot_occur() -> None:
    with pytest.raises(SettingsError, match="cannot be a value"):
        declared_values("x", ["1", "one"], [1], "int64")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"drop": ["a"], "keep": ["a"]}, "both dropped and kept"),
        ({"bins": {"a": 10}, "merge": {"a": {"1": "x"}}}, "cannot be used with bins="),
        ({"bins": {"a": 10}, "domain": {"a": ["1"]}}, "cannot be used with bins="),
        ({"bins": {"a": "ten"}}, "cannot be read"),
        ({"columns": ["a"], "drop": ["a"]}, "both among those to publish and dropped"),
        ({"bins": {"a": 10}, "labels": {"a": {"1": "x"}}}, "both labelled and put into classes"),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, Any], told: str) -> None:
    with pytest.raises(CountveilError, match=told):
        table_options(**options)
