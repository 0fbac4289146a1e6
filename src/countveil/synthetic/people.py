"""How made-up people are drawn.

Enters: a stream. Leaves: people, as columns. Must not know: files.

    gender, age, country     drawn independently
    race                     depends on country
    education                depends on age
    marital                  depends on age and gender
    occupation               depends on gender and education
    workclass                depends on occupation
    salary                   depends on occupation, education and age

`expected_shares` computes the share of every value exactly, by summing over the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countveil.synthetic.occupations import OCCUPATIONS

if TYPE_CHECKING:
    from countveil.randomness import Stream

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

COLUMNS = (
    "age", "gender", "education", "marital", "race", "workclass", "country", "salary", "occupation",
)  # fmt: skip
GENDERS = ("F", "M")
EDUCATIONS = (
    "none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master",
    "doctorate",
)  # fmt: skip
MARITAL = ("never married", "married", "separated", "divorced", "widowed")
RACES = ("white", "black", "asian", "native", "pacific", "other", "two or more")
WORKCLASSES = ("private", "government", "self-employed", "non-profit", "family worker")
SALARIES = tuple(f"{10 * i:02d}-{10 * i + 10:02d}k" if i < 9 else "90k or more" for i in range(10))
COUNTRIES = {
    "United States": 830, "Mexico": 45, "India": 13, "China": 11, "Philippines": 9,
    "El Salvador": 7, "Vietnam": 7, "Cuba": 6, "Guatemala": 6, "South Korea": 5, "Germany": 4,
    "Canada": 4, "Colombia": 4, "Jamaica": 4, "Haiti": 4, "Honduras": 4, "Brazil": 3, "Poland": 3,
    "Nigeria": 3, "Iran": 2.5, "Ukraine": 2.5, "Ethiopia": 2, "Italy": 2, "Peru": 2, "Japan": 2,
    "Kenya": 1.2, "Greece": 1.0, "Samoa": 0.6, "Ireland": 0.9, "Iceland": 0.3,
}  # fmt: skip
_FIRST_AGE, _LAST_AGE = 17, 90


def people(stream: Stream, rows: int) -> dict[str, tuple[Codes, tuple[str, ...] | None]]:
    """`rows` people: per column the codes and the names they stand for (None for numbers)."""
    model = _model()
    gender = _pick(stream, model.gender[None], np.zeros(rows, np.int64))
    age = _pick(stream, model.age[None], np.zeros(rows, np.int64))
    country = _pick(stream, model.country[None], np.zeros(rows, np.int64))
    race = _pick(stream, model.race, country)
    education = _pick(stream, model.education, age)
    marital = _pick(stream, model.marital, age * 2 + gender)
    occupation = _pick(stream, model.occupation, gender * len(EDUCATIONS) + education)
    workclass = _pick(stream, model.workclass, occupation)
    band = _age_band(age)
    rank = (occupation * len(EDUCATIONS) + education) * 3 + band
    salary = _pick(stream, model.salary, rank)
    names: dict[str, tuple[Codes, tuple[str, ...] | None]] = {
        "age": (age + _FIRST_AGE, None),
        "gender": (gender, GENDERS),
        "education": (education, EDUCATIONS),
        "marital": (marital, MARITAL),
        "race": (race, RACES),
        "workclass": (workclass, WORKCLASSES),
        "country": (country, tuple(COUNTRIES)),
        "salary": (salary, SALARIES),
        "occupation": (occupation, tuple(entry.name for entry in OCCUPATIONS)),
    }
    return {name: names[name] for name in COLUMNS}


def expected_shares() -> dict[str, dict[str | int, float]]:
    """The share of every value of every column in an endless census."""
    m = _model()
    education = m.age @ m.education
    marital = np.einsum("a,g,agm->m", m.age, m.gender, m.marital.reshape(m.age.size, 2, -1))
    by_gender = m.occupation.reshape(2, education.size, -1)
    occupation = np.einsum("g,e,geo->o", m.gender, education, by_gender)
    bands = np.eye(3)[_age_band(np.arange(m.age.size))]
    band_education = np.einsum("a,ab,ae->be", m.age, bands, m.education)
    joint = np.einsum("g,be,geo->oeb", m.gender, band_education, by_gender)
    salary = joint.reshape(-1) @ m.salary
    ages: tuple[int, ...] = tuple(range(_FIRST_AGE, _LAST_AGE + 1))
    listed: dict[str, tuple[tuple[str, ...] | tuple[int, ...], Floats]] = {
        "age": (ages, m.age),
        "gender": (GENDERS, m.gender),
        "education": (EDUCATIONS, education),
        "marital": (MARITAL, marital),
        "race": (RACES, m.country @ m.race),
        "workclass": (WORKCLASSES, occupation @ m.workclass),
        "country": (tuple(COUNTRIES), m.country),
        "salary": (SALARIES, salary),
        "occupation": (tuple(entry.name for entry in OCCUPATIONS), occupation),
    }
    return {
        name: dict(zip(values, shares.tolist(), strict=True))
        for name, (values, shares) in listed.items()
    }


@dataclass(frozen=True, slots=True)
class _Model:
    """Probabilities; the last axis runs over the values and sums to one."""

    gender: Floats
    age: Floats
    country: Floats
    race: Floats
    education: Floats
    marital: Floats
    occupation: Floats
    workclass: Floats
    salary: Floats


@cache
def _model() -> _Model:
    ages = np.arange(_FIRST_AGE, _LAST_AGE + 1)
    return _Model(
        gender=np.array([0.49, 0.51]),
        age=_shares(np.interp(ages, [17, 25, 40, 58, 65, 75, 90], [5, 9, 9.5, 9, 6, 2, 0.2])),
        country=_shares(np.array(list(COUNTRIES.values()))),
        race=_race_by_country(),
        education=_education_by_age(ages),
        marital=_marital_by_age_gender(ages),
        occupation=_occupation_by_gender_education(),
        workclass=_workclass_by_occupation(),
        salary=_salary_by_rank(),
    )


def _shares(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def _race_by_country() -> Floats:
    rows = {
        "white": [90, 2, 1, 0.3, 0.1, 4, 3],
        "black": [4, 90, 1, 0.2, 0.1, 2, 3],
        "asian": [3, 1, 91, 0.1, 0.9, 1, 3],
        "latin": [45, 3, 0.5, 2, 0.1, 38, 11],
        "mixed": [73, 12.5, 3.5, 1.2, 0.2, 3.6, 6],
        "pacific": [4, 1, 5, 0.2, 80, 1, 9],
    }
    kinds = {
        "asian": ("India", "China", "Philippines", "Vietnam", "South Korea", "Japan"),
        "black": ("Jamaica", "Haiti", "Nigeria", "Ethiopia", "Kenya"),
        "latin": ("Mexico", "El Salvador", "Cuba", "Guatemala", "Colombia", "Honduras", "Brazil",
                  "Peru"),
        "mixed": ("United States",),
        "pacific": ("Samoa",),
    }  # fmt: skip
    kind_of = {country: kind for kind, countries in kinds.items() for country in countries}
    return _shares(np.array([rows[kind_of.get(country, "white")] for country in COUNTRIES], float))


def _education_by_age(ages: NDArray[np.int64]) -> Floats:
    grown = np.array([1.0, 2.5, 9.0, 34.0, 20.0, 20.0, 10.5, 3.0])
    table = np.tile(grown, (ages.size, 1))
    # Degrees take time; older people had fewer chances.
    earliest = np.array([0, 0, 0, 18, 19, 22, 24, 28])
    table[ages[:, None] < earliest] *= 0.02
    old = np.clip((ages - 60) / 30, 0, 1)[:, None]
    table *= 1 + old * np.array([2.0, 2.0, 1.2, 0.4, 0.0, -0.4, -0.4, -0.3])
    return _shares(table)


def _marital_by_age_gender(ages: NDArray[np.int64]) -> Floats:
    marks = [17, 25, 35, 50, 65, 80, 90]
    by_age = np.stack(
        [
            np.interp(ages, marks, [98, 72, 33, 17, 9, 6, 5]),
            np.interp(ages, marks, [2, 25, 56, 62, 64, 50, 30]),
            np.interp(ages, marks, [0.1, 1, 2.5, 2.5, 1.5, 0.8, 0.5]),
            np.interp(ages, marks, [0.1, 2, 8.5, 16.5, 16, 10, 7]),
            np.interp(ages, marks, [0.01, 0.1, 0.4, 2, 9, 33, 57]),
        ],
        axis=1,
    )
    by_gender = np.array([[0.92, 0.97, 1.1, 1.1, 1.5], [1.08, 1.03, 0.9, 0.9, 0.5]])
    table = by_age[:, None, :] * by_gender[None]
    return _shares(table.reshape(ages.size * 2, -1))


def _occupation_by_gender_education() -> Floats:
    levels = np.arange(len(EDUCATIONS))
    usual = np.array([entry.education for entry in OCCUPATIONS])
    spread = np.array([entry.spread for entry in OCCUPATIONS])
    weight = np.array([entry.weight for entry in OCCUPATIONS])
    women = np.array([entry.women for entry in OCCUPATIONS])
    fit = np.exp(-0.5 * ((levels[:, None] - usual) / spread) ** 2) / spread + 0.01
    by_gender = np.stack([women, 1 - women])
    return _shares((by_gender[:, None, :] * fit[None] * weight).reshape(2 * levels.size, -1))


def _workclass_by_occupation() -> Floats:
    rows = {
        "p": [86, 5, 6, 2.5, 0.5],
        "g": [12, 82, 1, 4.9, 0.1],
        "s": [48, 4, 44, 2, 2],
        "n": [42, 20, 8, 29.5, 0.5],
        "m": [62, 24, 2, 11.8, 0.2],
    }
    return _shares(np.array([rows[entry.sector] for entry in OCCUPATIONS], float))


def _salary_by_rank() -> Floats:
    pay = np.array([entry.pay for entry in OCCUPATIONS])[:, None, None]
    schooling = (np.arange(len(EDUCATIONS)) - 3.5)[None, :, None] * 0.25
    experience = np.array([-1.4, 0.3, -0.3])[None, None, :]
    centre = pay + schooling + experience
    classes = np.arange(len(SALARIES))
    table = np.exp(-0.5 * ((classes - centre[..., None]) / 1.6) ** 2) + 1e-3
    return _shares(table.reshape(-1, classes.size))


def _age_band(age: Codes) -> Codes:
    """Young, of working age, old: 0, 1, 2."""
    return np.digitize(age + _FIRST_AGE, [28, 66]).astype(np.int64)


def _pick(stream: Stream, table: Floats, rows: Codes) -> Codes:
    """One value per row, from the distribution in that row of the table."""
    ends = np.cumsum(table, axis=1)
    ends[:, -1] = 1.0
    # The distributions are placed end to end, so that one search serves all of them.
    edges = (ends + np.arange(table.shape[0])[:, None]).ravel()
    places = np.searchsorted(edges, rows + stream.uniform(rows.size), side="right")
    chosen: Codes = np.clip(places - rows * table.shape[1], 0, table.shape[1] - 1)
    return chosen
