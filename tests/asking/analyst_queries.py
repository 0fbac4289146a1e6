# ruff: noqa: E501 - a query is one line
"""Queries as analysts write them who never read our documentation, and tables to ask them about.

The hospital's patients are those of the made-up census, with made-up stays. A query is text, or
text with parameters or a lookup table; one that stays refused says here what the message names.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import countveil as cv

ROWS = 40_000
DIAGNOSES = [
    "A09", "A41", "B34", "C34", "C50", "E11", "E66", "F32", "F41", "G43", "I10", "I21", "I25",
    "I48", "I63", "J18", "J44", "K29", "K35", "K80", "M16", "M17", "M54", "N20", "N39",
]  # fmt: skip
CHAPTERS = {
    "letter": ["A", "B", "C", "E", "F", "G", "I", "J", "K", "M", "N"],
    "chapter": [
        "infections", "infections", "tumours", "metabolic", "mental", "nerves", "heart", "lungs",
        "digestion", "bones", "kidneys",
    ],
}  # fmt: skip
REGIONS = {
    "country": ["United States", "Mexico", "El Salvador", "Guatemala", "Cuba", "India", "China"],
    "region": ["North", "North", "Central", "Central", "Central", "Asia", "Asia"],
}
SECTORS = {
    "occupation": ["nurse", "physician", "school teacher", "cook", "waiter", "cashier"],
    "sector": ["health", "health", "education", "food", "food", "trade"],
}
TABLES: dict[str, Any] = {"regions": REGIONS, "sectors": SECTORS, "chapters": CHAPTERS}


def patients(rows: int = ROWS) -> pa.Table:
    """The census with admissions, costs, diagnoses and incomes."""
    table = cv.generate(rows, seed=11)
    rng = np.random.default_rng(11)
    first = dt.date(2023, 1, 1)
    admitted = [first + dt.timedelta(days=int(d)) for d in rng.integers(0, 730, rows)]
    stay = rng.poisson(4, rows)
    shares = rng.dirichlet(np.full(len(DIAGNOSES), 8.0))
    older = np.asarray(table["age"]) > 60
    diagnosis = np.where(
        older & (rng.random(rows) < 0.3),
        rng.choice(["I10", "I21", "I25", "I48", "I63"], rows),
        rng.choice(DIAGNOSES, rows, p=shares),
    )
    columns = {
        "admitted": pa.array(admitted, pa.date32()),
        "discharged": pa.array(
            [day + dt.timedelta(days=int(n)) for day, n in zip(admitted, stay, strict=True)],
            pa.date32(),
        ),
        "cost": pa.array(np.round(rng.gamma(2.0, 1500.0, rows), 2)),
        "diagnosis": pa.array(diagnosis),
        "income": pa.array(rng.gamma(3.0, 12_000.0, rows).astype(np.int64)),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


@dataclass(frozen=True)
class Asked:
    """One query; `refused` is a part of the message if it is not answered."""

    text: str
    refused: str = ""
    params: Any = None
    tables: dict[str, Any] = field(default_factory=dict)


def with_tables(text: str, *names: str) -> Asked:
    return Asked(text, tables={name: TABLES[name] for name in names})


QUERIES = [
    # Plain counts and conditions.
    Asked("SELECT COUNT(*) FROM release"),
    Asked("select count(1) from release where age between 18 and 64"),
    Asked("SELECT gender, COUNT(*) AS n FROM release GROUP BY gender ORDER BY n DESC"),
    Asked("SELECT COUNT(*) FROM release WHERE occupation = 'nurse'"),
    Asked("SELECT COUNT(*) FROM release WHERE occupation IN ('nurse', 'physician') AND age < 40"),
    Asked("SELECT occupation, COUNT(*) AS n FROM release GROUP BY occupation ORDER BY 2 DESC LIMIT 10"),
    Asked("SELECT diagnosis, AVG(age) AS mean_age FROM release GROUP BY diagnosis"),
    Asked("SELECT gender, AVG(cost) AS mean_cost, SUM(cost) AS total FROM release GROUP BY gender"),
    Asked("SELECT diagnosis, COUNT(*) AS n FROM release GROUP BY diagnosis HAVING COUNT(*) > 1000"),
    Asked("SELECT COUNT(*) FROM release WHERE NOT (occupation = 'cook' OR age > 70)"),
    # Sets of a sensitive column.
    Asked("SELECT COUNT(*) FROM release WHERE diagnosis LIKE 'I%'"),
    Asked("SELECT COUNT(*) FROM release WHERE LEFT(diagnosis, 1) = 'I' AND gender = 'F'"),
    Asked("SELECT COUNT(*) FROM release WHERE SUBSTRING(diagnosis, 1, 1) IN ('I', 'J')"),
    Asked("SELECT COUNT(*) FROM release WHERE UPPER(occupation) LIKE '%TEACHER%'"),
    Asked("SELECT gender, SUM(CASE WHEN diagnosis LIKE 'I%' THEN 1 ELSE 0 END) AS heart FROM release GROUP BY gender"),
    Asked("SELECT COUNT(CASE WHEN occupation = 'nurse' THEN 1 END) AS nurses, COUNT(*) AS n FROM release"),
    Asked("SELECT SUM(IF(occupation = 'nurse' AND age >= 50, 1, 0)) FROM release"),
    Asked("SELECT COUNT_IF(diagnosis = 'I10') FROM release WHERE age > 60"),
    Asked("SELECT gender, COUNT(*) FILTER (WHERE diagnosis IN ('E11', 'E66')) AS n FROM release GROUP BY gender"),
    Asked("SELECT AVG(CASE WHEN occupation = 'nurse' THEN 1.0 ELSE 0.0 END) AS share FROM release WHERE gender = 'F'"),
    Asked("SELECT COUNT(*) FROM release WHERE diagnosis BETWEEN 'I10' AND 'I25'"),
    Asked("SELECT COUNT(*) FROM release WHERE diagnosis NOT LIKE 'I%' AND diagnosis <> 'E11'"),
    Asked("SELECT COUNT(*) FROM release WHERE regexp_matches(diagnosis, '^[IJ]')"),
    Asked("SELECT COUNT(*) FROM release WHERE starts_with(diagnosis, 'M') OR contains(occupation, 'clerk')"),
    Asked("SELECT COUNT(*) FROM release WHERE CASE WHEN diagnosis LIKE 'I%' THEN 'heart' ELSE 'other' END = 'heart'"),
    Asked("SELECT COUNT(*) FROM release WHERE income >= 40000"),
    Asked("SELECT COUNT(*) FROM release WHERE income < 20000 AND diagnosis = 'F32'"),
    Asked("SELECT COUNT(*) FROM release WHERE COALESCE(occupation, 'none') <> 'cook'"),
    # Groups by expressions.
    Asked("SELECT LEFT(diagnosis, 1) AS chapter, COUNT(*) AS n FROM release GROUP BY 1 ORDER BY 2 DESC"),
    Asked("SELECT CASE WHEN diagnosis LIKE 'I%' THEN 'heart' WHEN diagnosis LIKE 'J%' THEN 'lungs' ELSE 'other' END AS kind, COUNT(*) FROM release GROUP BY kind"),
    Asked("SELECT gender, SUBSTR(diagnosis, 1, 1) AS chapter, AVG(cost) AS mean FROM release GROUP BY gender, chapter"),
    Asked("SELECT occupation IN ('nurse', 'physician') AS medical, COUNT(*) FROM release GROUP BY 1"),
    Asked("SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS age_group, COUNT(*) AS n FROM release WHERE diagnosis = 'I10' GROUP BY age_group"),
    Asked("SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM release GROUP BY decade ORDER BY decade"),
    Asked("SELECT CASE WHEN diagnosis = 'I10' AND age >= 65 THEN 'old' WHEN diagnosis = 'I10' THEN 'young' ELSE 'no' END AS hypertension, COUNT(*) FROM release GROUP BY 1"),
    Asked("SELECT gender, CASE gender WHEN 'F' THEN 'women' ELSE 'men' END AS who, COUNT(*) FROM release GROUP BY 1, 2"),
    # Rollups.
    Asked("SELECT gender, marital, COUNT(*) AS n FROM release GROUP BY ROLLUP (gender, marital)"),
    Asked("SELECT gender, diagnosis, COUNT(*) AS n FROM release WHERE diagnosis LIKE 'E%' GROUP BY CUBE (gender, diagnosis)"),
    Asked("SELECT gender, education, COUNT(*) AS n FROM release WHERE occupation = 'nurse' GROUP BY GROUPING SETS ((gender), (education), ())"),
    # Subqueries and WITH.
    Asked("WITH adults AS (SELECT * FROM release WHERE age >= 18) SELECT gender, COUNT(*) FROM adults WHERE occupation = 'nurse' GROUP BY gender"),
    Asked("SELECT kind, COUNT(*) AS n FROM (SELECT CASE WHEN diagnosis LIKE 'C%' THEN 'tumour' ELSE 'other' END AS kind, age FROM release) t WHERE t.age > 50 GROUP BY kind"),
    Asked("WITH counts AS (SELECT diagnosis, COUNT(*) AS n FROM release GROUP BY diagnosis) SELECT diagnosis, n FROM counts WHERE n > 1500 ORDER BY n DESC"),
    Asked("WITH counts AS (SELECT occupation, COUNT(*) AS n FROM release GROUP BY occupation) SELECT * FROM counts ORDER BY n DESC LIMIT 5"),
    Asked("SELECT COUNT(*) FROM release WHERE age > (SELECT AVG(age) FROM release)"),
    Asked("WITH a AS (SELECT age, diagnosis FROM release WHERE gender = 'F'), b AS (SELECT * FROM a WHERE age > 40) SELECT COUNT(*) FROM b WHERE diagnosis = 'C50'"),
    Asked("SELECT SUM(n) FROM (SELECT gender, COUNT(*) AS n FROM release WHERE occupation = 'nurse' GROUP BY gender)"),
    Asked("SELECT COUNT(*) FROM (SELECT * FROM release WHERE cost > 2000) AS expensive"),
    # Lookups.
    with_tables("SELECT r.region, COUNT(*) AS n FROM release p JOIN regions r ON p.country = r.country GROUP BY r.region", "regions"),
    with_tables("SELECT sector, COUNT(*) AS n FROM release JOIN sectors USING (occupation) GROUP BY sector", "sectors"),
    with_tables("SELECT s.sector, COUNT(*) AS n FROM release AS p LEFT JOIN sectors AS s ON p.occupation = s.occupation GROUP BY s.sector", "sectors"),
    with_tables("SELECT COUNT(*) FROM release WHERE country IN (SELECT country FROM regions WHERE region = 'Asia') AND diagnosis = 'I10'", "regions"),
    with_tables("SELECT c.chapter, AVG(p.cost) AS mean FROM release p JOIN chapters c ON LEFT(p.diagnosis, 1) = c.letter GROUP BY c.chapter", "chapters"),
    # Dates.
    Asked("SELECT date_trunc('month', admitted) AS month, COUNT(*) AS n FROM release WHERE diagnosis = 'J18' GROUP BY 1 ORDER BY 1"),
    Asked("SELECT EXTRACT(YEAR FROM admitted) AS y, COUNT(*) AS n FROM release WHERE diagnosis = 'I21' GROUP BY y"),
    Asked("SELECT year(admitted) AS y, quarter(admitted) AS q, COUNT(*) AS n FROM release GROUP BY y, q ORDER BY y, q"),
    Asked("SELECT strftime(admitted, '%Y-%m') AS month, COUNT(*) AS n FROM release GROUP BY month"),
    Asked("SELECT COUNT(*) FROM release WHERE admitted >= DATE '2024-01-01' AND admitted < DATE '2024-01-01' + INTERVAL 3 MONTH AND diagnosis = 'J18'"),
    Asked("SELECT COUNT(*) FROM release WHERE discharged - admitted > 7"),
    Asked("SELECT diagnosis, AVG(date_diff('day', admitted, discharged)) AS days FROM release GROUP BY diagnosis"),
    Asked("SELECT dayofweek(admitted) AS weekday, COUNT(*) AS n FROM release GROUP BY weekday"),
    Asked("SELECT COUNT(*) FROM release WHERE admitted > '2024-06-30' AND occupation = 'nurse'"),
    # Distinct values.
    Asked("SELECT DISTINCT country FROM release ORDER BY country"),
    Asked("SELECT COUNT(DISTINCT country) FROM release WHERE gender = 'F'"),
    Asked("SELECT gender, COUNT(DISTINCT country) AS countries, COUNT(*) AS n FROM release GROUP BY gender"),
    Asked("SELECT MIN(age) AS youngest, MAX(age) AS oldest FROM release WHERE gender = 'F'"),
    # Parameters.
    Asked("SELECT COUNT(*) FROM release WHERE occupation = ? AND age > ?", params=["nurse", 40]),
    Asked("SELECT COUNT(*) FROM release WHERE diagnosis = $code AND gender = $gender", params={"code": "I10", "gender": "M"}),
    # Shares and arithmetic.
    Asked("SELECT gender, 100.0 * SUM(CASE WHEN diagnosis = 'F32' THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM release GROUP BY gender"),
    Asked("SELECT gender, COUNT(*) AS n FROM release WHERE diagnosis = 'F32' GROUP BY gender HAVING gender = 'F'"),
    Asked("SELECT education, AVG(CASE WHEN diagnosis LIKE 'F%' THEN 1 ELSE 0 END) AS rate FROM release GROUP BY education ORDER BY rate DESC"),
    Asked("SELECT AVG(income) FROM release WHERE income >= 10000 AND income < 80000 AND occupation = 'nurse'"),
    # What stays refused.
    Asked("SELECT * FROM release LIMIT 10", refused="rows"),
    Asked("SELECT age, occupation FROM release WHERE age > 90", refused="GROUP BY"),
    Asked("SELECT COUNT(DISTINCT occupation) FROM release", refused="values("),
    Asked("SELECT COUNT(DISTINCT country) FROM release WHERE occupation = 'nurse'", refused="sensitive"),
    Asked("SELECT MAX(age) FROM release WHERE diagnosis = 'I10'", refused="quantile"),
    Asked("SELECT a.gender, COUNT(*) FROM release a JOIN release b ON a.age = b.age GROUP BY 1", refused="lookup"),
    Asked("SELECT occupation, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) FROM release GROUP BY 1", refused="LIMIT"),
    Asked("SELECT string_agg(occupation, ',') FROM release", refused="aggregates"),
    Asked("SELECT COUNT(*) FROM release WHERE occupation = diagnosis", refused="Two sensitive columns"),
]  # fmt: skip
