"""The table that every engine publishes, the choices it is published with, and what is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.errors import (
    CountveilError,
    IneligibleError,
    InputError,
    SettingsError,
    TargetError,
    UnknownColumnError,
    UnsafeError,
)

ROWS = 600
JOBS = ["nurse", "doctor", "cook", "baker, pastry", 'the "boss"', "Müller"]
LABELS = {1: "one", 2: "two", 3: "three", 4: "four"}


def people() -> pa.Table:
    """Columns of every kind that all places have, with missing values and codes for them."""
    rng = np.random.default_rng(1)

    def some(values: list[Any], kind: Any, weights: list[int] | None = None) -> pa.Array[Any]:
        shares = None if weights is None else np.array(weights) / sum(weights)
        places = rng.choice(len(values), ROWS, p=shares)
        array: pa.Array[Any] = pa.array([values[place] for place in places], kind)
        return array

    days = [dt.date(1960, 1, 1) + dt.timedelta(days=7 * n) for n in range(50)]
    return pa.table({
        "row": pa.array(range(ROWS), pa.int64()),
        "age": some(list(range(90)), pa.int64()),
        "job": some([*JOBS, None], pa.string(), [6, 5, 4, 3, 2, 2, 1]),
        "wage": some([*(n / 4 for n in range(50)), None], pa.float64()),
        "born": some(days, pa.date32()),
        "insured": some([True, False, None], pa.bool_()),
        "code": some([1, 2, 3, 4], pa.int64()),
        "answer": some(["yes", "no", "NA", "refused"], pa.string()),
        "score": some([*range(10), -9], pa.int64()),
    })  # fmt: skip


# The row's number is published, so that tests can link; `keep` lets it pass.
CHOICES: dict[str, dict[str, Any]] = {
    "one column": {"sensitive": {"job": 3}},
    "survey weights": {"sensitive": {"job": 3}, "weight": "score", "where": "score >= 0"},
    "two columns": {"sensitive": {"job": 3, "code": 2}},
    "truths and dates": {"sensitive": {"insured": 2, "born": 5}},
    "anatomy": {"sensitive": {"job": 3}, "groups": "anatomy"},
    "random groups": {"sensitive": {"job": 3, "insured": 4}, "groups": "random"},
    "common values": {"sensitive": {"job": 4, "code": 2}, "common": {"job": ["nurse", "doctor"]}},
    "bounded odds": {
        "sensitive": {"code": 2, "insured": 2},
        "groups": "random",
        "odds": 15,
        "domain": {"code": [None, 1, 2, 3, 4, 5, 9], "insured": [True, None, False]},
    },
    "confirmed values": {
        "sensitive": {"job": 2, "code": 2},
        "odds": 15,
        "domain": {"job": "public:occurring", "code": "public:occurring"},
    },
    "columns together": {"sensitive": {"job": 3, "code": 3}, "together": True, "where": "row <> 5"},
    "edges": {"sensitive": {"age": 3}, "bins": {"age": "18,30,45,65"}},
    "equal width": {"sensitive": {"age": 3, "wage": 2}, "bins": {"age": "5", "wage": "4"}},
    "quantiles": {"sensitive": {"age": 3}, "bins": {"age": "q5", "wage": "q3"}},
    "merge": {
        "sensitive": {"job": 2},
        "merge": {"job": {"nurse": "care", "doctor": "care"}, "code": {"1": "few", "2": "few"}},
    },
    "labels": {"sensitive": {"code": 2}, "labels": {"code": LABELS}},
    "domain": {"sensitive": {"job": 3}, "domain": {"job": [*JOBS, "sailor"]}},
    "declared numbers": {"sensitive": {"code": 2}, "domain": {"code": [1, 2, 3, 4, 5]}},
    "missing": {"sensitive": {"answer": 2, "job": 3}, "missing": ["NA", "refused", "cook"]},
    "where after missing": {
        "sensitive": {"job": 3},
        "missing": ["NA", "refused"],
        "where": "answer IS NULL OR answer = 'yes'",
    },
    "where": {
        "sensitive": {"job": 3},
        "where": "age >= 30 AND (job <> 'cook' OR wage > 3.5) AND born < '1960-12-01'",
        "keep": ["row", "job"],
    },
    "where with nulls": {"sensitive": {"job": 2}, "where": "insured IS NULL OR NOT insured"},
    "columns": {"sensitive": {"job": 3}, "columns": ["row", "age", "insured"]},
    "drop": {"sensitive": {"job": 3}, "drop": ["wage", "answer"]},
    "person": {"sensitive": {"job": 3}, "person": "row"},
    "several rows per person": {"sensitive": {"job": 3}, "person": "age"},
    "several rows, columns apart": {
        "sensitive": {"job": 3, "code": 2},
        "person": "wage",
        "where": "wage IS NOT NULL AND row <> 5",
        "merge": {"job": {"nurse": "care", "doctor": "care"}},
    },
    "several rows, columns together": {
        "sensitive": {"job": 3, "code": 3},
        "together": True,
        "person": "born",
    },
    "residue": {"sensitive": {"job": 3, "code": 2}, "residue": "drop", "where": "row <> 5"},
    "months": {"sensitive": {"born": 3}, "bins": {"born": "month"}},
    "numbers that stay numbers": {
        "sensitive": {"age": 3},
        "round": {"wage": 0.5, "age": 10},
        "top": {"wage": 9, "age": 80},
        "bottom": {"wage": 2},
    },
    "prefixes and rare values": {
        "sensitive": {"answer": 2, "job": 2},
        "levels": {"answer": "prefix:1", "age": "prefix:1"},
        "merge": {"job": "rare:60", "score": "rare:55:few"},
    },
    "one row per person": {
        "sensitive": {"job": 2},
        "one_per": {"age": "first by row"},
        "columns": ["row", "code"],
    },
    "the last row, of some": {
        "sensitive": {"code": 2},
        "one_per": {"age": "last by row"},
        "where": "row > 100",
    },
    "all at once": {
        "sensitive": {"job": 2, "age": 2},
        "bins": {"age": "30,60"},
        "merge": {"job": {"nurse": "care", "doctor": "care"}},
        "labels": {"code": LABELS},
        "missing": ["NA"],
        "where": "score >= 0",
        "columns": ["row", "code", "answer"],
        "residue": "drop",
    },
}

REFUSED: dict[str, tuple[dict[str, Any], type[CountveilError]]] = {
    "unknown sensitive column": ({"sensitive": {"jobb": 3}}, UnknownColumnError),
    "unknown column to drop": ({"sensitive": {"job": 3}, "drop": ["agee"]}, UnknownColumnError),
    "unknown column to publish": (
        {"sensitive": {"job": 3}, "columns": ["agee"]},
        UnknownColumnError,
    ),
    "unknown column in where": ({"sensitive": {"job": 3}, "where": "agee > 3"}, SettingsError),
    "a where that is not SQL": ({"sensitive": {"job": 3}, "where": "age >"}, SettingsError),
    "an empty where": ({"sensitive": {"job": 3}, "where": " "}, SettingsError),
    "no rows": ({"sensitive": {"job": 3}, "where": "age > 200"}, InputError),
    "too frequent a value": ({"sensitive": {"job": 5}}, IneligibleError),
    "too large an ell": ({"sensitive": {"job": 8}}, SettingsError),
    "a number of many values": ({"sensitive": {"row": 3}}, SettingsError),
    "an identifier": ({"sensitive": {"job": 3}, "keep": []}, UnsafeError),
    "persons without a name": ({"sensitive": {"code": 2}, "person": "job"}, InputError),
    "outside of the domain": (
        {"sensitive": {"job": 3}, "domain": {"job": ["nurse", "cook"]}},
        InputError,
    ),
    "a domain of another type": (
        {"sensitive": {"code": 2}, "domain": {"code": ["1", "2", "3", "4", "many"]}},
        SettingsError,
    ),
    "a value without a label": (
        {"sensitive": {"code": 2}, "labels": {"code": {1: "one"}}},
        InputError,
    ),
    "nothing to merge": (
        {"sensitive": {"job": 3}, "merge": {"job": {"sailor": "care"}}},
        SettingsError,
    ),
    "classes of a text": ({"sensitive": {"job": 3}, "bins": {"job": "5"}}, SettingsError),
    "periods of a number": ({"sensitive": {"job": 3}, "bins": {"wage": "month"}}, SettingsError),
    "periods of a text": ({"sensitive": {"job": 3}, "bins": {"answer": "year"}}, InputError),
    "a rounded text": ({"sensitive": {"job": 3}, "round": {"answer": 5}}, SettingsError),
    "a prefix of a date": (
        {"sensitive": {"job": 3}, "levels": {"born": "prefix:2"}},
        SettingsError,
    ),
    "a label that is taken": (
        {"sensitive": {"job": 3}, "merge": {"job": "rare:60:nurse"}},
        SettingsError,
    ),
    "one row of persons without a name": (
        {"sensitive": {"code": 2}, "one_per": {"job": "first by row"}},
        InputError,
    ),
    "the first by a text": (
        {"sensitive": {"code": 2}, "one_per": {"age": "first by answer"}},
        InputError,
    ),
    "the first by nothing": (
        {"sensitive": {"code": 2}, "one_per": {"age": "first by when"}},
        UnknownColumnError,
    ),
    "a condition on a protected column": (
        {"sensitive": {"job": 3}, "where": "job <> 'cook'"},
        UnsafeError,
    ),
    "published and dropped": (
        {"sensitive": {"job": 3}, "columns": ["job"], "drop": ["job"]},
        SettingsError,
    ),
    "a target that is not there": ({"sensitive": {"job": 3}, "to": "nowhere/release"}, TargetError),
}
