"""A publisher is stopped before harm, told what would work, and can say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import InputError, SettingsError, UnknownColumnError, UnsafeError

ROWS = 1_200
ILLNESSES = ["asthma", "diabetes", "eczema", "flu", "gout", "migraine"]


def patients(rows: int = ROWS, **more: Any) -> pa.Table:
    """Patients with an identifier, a code beside the diagnosis, and harmless columns."""
    numbers = np.random.default_rng(7)
    illness = numbers.permutation(np.arange(rows) % len(ILLNESSES))
    return pa.table(
        {
            "patient_id": [f"P{row:05d}" for row in range(rows)],
            "age": numbers.integers(18, 95, rows),
            "ward": numbers.choice(["A", "B", "C"], rows),
            "income": numbers.lognormal(10, 0.6, rows).round(1),
            "icd": [f"X{place}" for place in illness],
            "diagnosis": [ILLNESSES[place] for place in illness],
            **more,
        }
    )


def published(release: cv.Release) -> pa.Table:
    table: pa.Table = pq.read_table(release.folder / "data")
    return table


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "release"


def test_identifiers_and_giveaways_stop(to: Path) -> None:
    with pytest.raises(UnsafeError, match=r"identifier.*'icd' gives 'diagnosis'.*100%") as told:
        cv.publish(patients(), {"diagnosis": 3}, to)
    assert "drop=..." in str(told.value)
    assert "keep=..." in str(told.value)
    assert not to.exists()


def hospital(rows: int = 4_000) -> pa.Table:
    """Encounters: persons with up to 40 rows, a birth date, no treatment without a medication."""
    rng = np.random.default_rng(11)
    times = rng.choice([1, 1, 1, 2, 2, 3, 5, 40], rows)
    times = times[: int(np.searchsorted(np.cumsum(times), rows)) + 1]
    person = np.repeat(np.arange(times.size), times)[:rows]
    order = rng.permutation(rows)
    born = rng.integers(-14_000, 16_000, times.size)
    treated = rng.random(rows) > 0.25
    return pa.table(
        {
            "who": rng.permutation(np.arange(10_007, 10_007 + 13 * times.size, 13))[person],
            "sex": rng.choice(["F", "M"], times.size)[person],
            "year": (1970 + born // 365)[person],
            "since": pa.array(born.astype(np.int32)).cast(pa.date32()).take(pa.array(person)),
            "treated": np.where(treated, "yes", "no"),
            "insulin": np.where(treated, rng.choice(["No", "Up", "Down", "Steady"], rows), "No"),
        }
    ).take(pa.array(order))


class TestHospital:
    """What a first day with hospital data must not publish."""

    def test_persons_and_births_are_found_by_behaviour(self, to: Path) -> None:
        with pytest.raises(UnsafeError, match="'who' looks like a person number") as stopped:
            cv.publish(hospital(), {"insulin": 2}, to, drop="treated")
        said = str(stopped.value)
        assert "rows with the same value agree in" in said
        assert "rows each on average, at most 40" in said
        assert "person='who'" in said
        assert "'since' looks like a date of birth" in said
        assert "bins={'since': 'year'}" in said
        assert not to.exists()

    def test_persons_in_a_large_table_that_is_sorted_by_them(self, to: Path) -> None:
        """An evenly spread sample has each of them once: the whole table is counted."""
        rng = np.random.default_rng(5)
        rows = 300_000
        table = pa.table(
            {
                "x": np.repeat(rng.permutation(rows // 3) * 37 + 1_000_000, 3),
                "diagnosis": rng.choice(ILLNESSES, rows),
            }
        )
        figures = r"100,000 different values, 3.0 rows each on average, at most 3\)"
        with pytest.raises(UnsafeError, match=rf"'x' looks like a person number.*{figures}"):
            cv.publish(table, {"diagnosis": 3}, to)

    def test_a_part_of_the_table_in_which_a_value_is_certain_stops(self, to: Path) -> None:
        drop = ["who", "since"]
        with pytest.raises(UnsafeError, match="some values of 'treated' make 'insulin'") as stopped:
            cv.publish(hospital(), {"insulin": 2}, to, drop=drop)
        assert "named: 'treated'" in str(stopped.value)
        assert "'no'" not in str(stopped.value).lower(), "no value is quoted"
        cv.publish(hospital(), {"insulin": 2}, to, drop=drop, keep="treated")
        cv.publish(hospital(), {"insulin": 2}, to, drop=[*drop, "treated"], force=True, again=True)

    @pytest.mark.slow
    def test_a_birth_date_to_protect_is_too_fine(self, to: Path) -> None:
        days = np.random.default_rng(3).integers(0, 26_000, ROWS).astype(np.int32)
        table = patients(since=pa.array(days).cast(pa.date32()))
        drop = ["patient_id", "icd", "diagnosis"]
        with pytest.raises(UnsafeError, match=r"'since' is too fine to protect: 100% of the rows"):
            cv.publish(table, {"since": 5}, to, drop=drop)
        cv.publish(table, {"since": 5}, to, drop=drop, keep="since")


def test_each_must_be_named(to: Path) -> None:
    with pytest.raises(UnsafeError, match="named: 'icd'"):
        cv.publish(patients(), {"diagnosis": 3}, to, drop="patient_id")
    with pytest.raises(UnsafeError, match="named: 'patient_id'"):
        cv.publish(patients(), {"diagnosis": 3}, to, keep="icd")
    release = cv.publish(patients(), {"diagnosis": 3}, to, drop="icd", keep=["patient_id"])
    assert [column.name for column in release.columns] == [
        "patient_id", "age", "ward", "income", "diagnosis",
    ]  # fmt: skip


def test_a_pair_stops_until_one_is_dropped_or_both_are_kept(to: Path) -> None:
    table = patients()
    diagnoses: list[Any] = table["diagnosis"].to_pylist()
    code = np.array([ILLNESSES.index(value) for value in diagnoses])
    key = np.random.default_rng(1).integers(0, 6, ROWS)
    table = patients(key1=key, key2=(code + key) % 6).drop_columns(["patient_id", "icd"])
    with pytest.raises(UnsafeError, match=r"'key1' together with 'key2' give|'key2' together with"):
        cv.publish(table, {"diagnosis": 3}, to)
    with pytest.raises(UnsafeError, match="named: 'key2'"):
        cv.publish(table, {"diagnosis": 3}, to, keep="key1")
    cv.publish(table, {"diagnosis": 3}, to, drop="key1")
    cv.publish(table, {"diagnosis": 3}, to, keep=["key1", "key2"], force=True, again=True)


def test_two_protected_columns_that_tell_each_other_stop(to: Path) -> None:
    with pytest.raises(UnsafeError, match=r"'diagnosis' gives 'icd' away|'icd' gives 'diagnosis'"):
        cv.publish(patients(), {"diagnosis": 3, "icd": 3}, to, drop="patient_id")


def test_a_hint_that_is_not_a_giveaway_is_a_warning(to: Path) -> None:
    table = patients().drop_columns(["patient_id", "icd"])
    diagnoses: list[Any] = table["diagnosis"].to_pylist()
    other = np.random.default_rng(3).permutation(diagnoses)
    mostly = np.where(np.random.default_rng(4).random(ROWS) < 0.7, table["diagnosis"], other)
    with pytest.warns(UserWarning, match="Beware: 'mostly' gives 'diagnosis' away"):
        cv.publish(table.append_column("mostly", pa.array(mostly)), {"diagnosis": 3}, to)
    assert cv.verify(to) == []


@pytest.mark.parametrize("option", ["drop", "keep", "person", "bins", "domain", "merge"])
def test_a_column_that_is_not_there(to: Path, option: str) -> None:
    wish: Any = {
        "person": "aeg", "bins": {"aeg": 10}, "domain": {"aeg": ["1"]},
        "merge": {"aeg": {"1": "x"}},
    }.get(option, ["aeg"])  # fmt: skip
    with pytest.raises(UnknownColumnError, match="Did you mean 'age'"):
        cv.publish(patients(), {"diagnosis": 3}, to, **{option: wish})


class TestPerson:
    def test_the_column_is_not_published_unless_kept(self, to: Path) -> None:
        release = cv.publish(patients(), {"diagnosis": 3}, to, person="patient_id", drop="icd")
        assert "patient_id" not in published(release).column_names
        kept: Any = {"person": "patient_id", "keep": "patient_id", "drop": "icd"}
        release = cv.publish(patients(), {"diagnosis": 3}, to, force=True, again=True, **kept)
        assert "patient_id" in published(release).column_names

    def test_several_rows_are_cases(self, to: Path) -> None:
        table = patients(visit_of=[f"P{row // 2}" for row in range(ROWS - 1)] + ["P9999"])
        drop = ["patient_id", "icd"]
        release = cv.publish(table, {"diagnosis": 3}, to, person="visit_of", drop=drop)
        assert "visit_of" not in published(release).column_names
        assert release.manifest.sensitive["diagnosis"].cases is not None

    def test_rows_without_a_person_stop(self, to: Path) -> None:
        table = patients(who=[None, None, *range(ROWS - 2)])
        with pytest.raises(InputError, match="2 rows have no value"):
            cv.publish(table, {"diagnosis": 3}, to, person="who", drop=["patient_id", "icd"])


class TestBins:
    DROP = ("patient_id", "icd", "diagnosis")

    def test_numbers_with_many_values_need_them(self, to: Path) -> None:
        with pytest.raises(SettingsError, match=r"'wage': 10\}.*'wage': 'q10'\}.*domain="):
            cv.publish(
                patients(wage=np.arange(ROWS) % 400), {"wage": 3}, to, drop=self.DROP, keep="wage"
            )
        with pytest.raises(InputError, match=r"bins=\{'income': 10\}"):
            cv.publish(patients(), {"income": 3}, to, drop=self.DROP)

    def test_classes_are_published_in_order(self, to: Path) -> None:
        edges = [30, 45, 65, 80]
        release = cv.publish(
            patients(), {"age": 2}, to, drop=self.DROP, bins={"age": edges}, seed=1
        )
        labels = ["below 30", "30 to 44", "45 to 64", "65 to 79", "80 or more"]
        entry = release.manifest.sensitive["age"]
        assert list(entry.domain) == labels
        assert entry.declared
        assert entry.classes is not None
        assert entry.classes.edges == tuple(edges)
        assert set(published(release)["age"].to_pylist()) <= set(labels)
        found = release.sql("SELECT age, count(*) FROM release GROUP BY age ORDER BY age DESC")
        assert [row[0] for row in found.groups] == labels[::-1]
        assert cv.verify(to) == []

    @pytest.mark.slow
    def test_comparisons_with_edges_are_sums_of_classes(self, to: Path) -> None:
        release = cv.publish(
            patients(), {"age": 2}, to, drop=self.DROP, bins={"age": [30, 45, 65, 80]}, seed=1
        )

        def count(where: str) -> float:
            return release.count(where).estimate or 0.0

        by_label = "age IN ('45 to 64', '65 to 79', '80 or more')"
        for where in ("age >= 45", "age > 44", "45 <= age", "age >= '45 to 64'", "NOT age < 45"):
            assert count(where) == pytest.approx(count(by_label)), where
        assert count("age BETWEEN 30 AND 64") == pytest.approx(
            count("age = '30 to 44' OR age = '45 to 64'")
        )
        assert count("age < 30") == pytest.approx(count("age = 'below 30'"))
        assert count("age < 30 OR age >= 30") == pytest.approx(ROWS)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("where", ["age >= 40", "age = 50", "age BETWEEN 30 AND 50"])
    def test_comparisons_that_cut_through_a_class(self, to: Path, where: str) -> None:
        release = cv.publish(
            patients(), {"age": 2}, to, drop=self.DROP, bins={"age": [30, 45, 65, 80]}
        )
        with pytest.raises(cv.CountveilError, match="edges: 30, 45, 65, 80"):
            release.count(where)

    def test_equal_frequency_hides_the_extremes(self, to: Path) -> None:
        table = patients()
        release = cv.publish(table, {"income": 5}, to, drop=self.DROP, bins={"income": "q10"})
        text = (to / "manifest.json").read_text()
        incomes: list[Any] = table["income"].to_pylist()
        for extreme in (min(incomes), max(incomes)):
            assert f"{extreme:.0f}" not in text
        assert published(release).schema.field("income").type == pa.string()

    def test_a_birth_date_beside_a_class_of_age_stops(self, to: Path) -> None:
        days = np.random.default_rng(1).integers(0, 25_000, ROWS)
        table = patients(born=pa.array(days, pa.int32()).cast(pa.date32()), years=days // 365)
        with pytest.raises(UnsafeError, match=r"'born' looks like a.*'born' gives 'years' away"):
            cv.publish(table, {"years": 5}, to, drop=self.DROP, bins={"years": "q10"})

    def test_a_plain_column_can_be_made_coarser(self, to: Path) -> None:
        drop = ["patient_id", "icd"]
        release = cv.publish(patients(), {"diagnosis": 3}, to, drop=drop, bins={"age": "50,"})
        assert set(published(release)["age"].to_pylist()) == {"below 50", "50 or more"}

    def test_missing_values_stay_missing(self, to: Path) -> None:
        ages = [None if row % 5 == 0 else row % 80 for row in range(ROWS)]
        release = cv.publish(
            patients(years=ages), {"years": 2}, to, drop=self.DROP, bins={"years": [20, 40, 60]}
        )
        assert release.manifest.sensitive["years"].domain[0] is None
        assert release.count("years IS NULL").estimate == pytest.approx(ROWS / 5, rel=0.5)


class TestDomain:
    DROP = ("patient_id", "icd")

    def test_declared_values_are_listed_whether_they_occur_or_not(
        self, to: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "illnesses.txt"
        file.write_text("\n".join(["zoster", *ILLNESSES]))
        release = cv.publish(
            patients(), {"diagnosis": 3}, to, drop=self.DROP, domain={"diagnosis": file}
        )
        assert list(release.manifest.sensitive["diagnosis"].domain) == ["zoster", *ILLNESSES]
        assert cv.verify(to) == []
        found = release.sql("SELECT diagnosis, count(*) FROM release GROUP BY diagnosis")
        assert [row[0] for row in found.groups] == ["zoster", *ILLNESSES]
        assert found.estimates[0].estimate == 0
        total = sum(estimate.estimate or 0 for estimate in found.estimates)
        assert total == pytest.approx(ROWS)

    def test_a_value_outside_stops(self, to: Path) -> None:
        with pytest.raises(InputError, match=r"1 value\(s\) outside its declared.*'migraine'"):
            cv.publish(
                patients(), {"diagnosis": 3}, to, drop=self.DROP,
                domain={"diagnosis": ILLNESSES[:-1]},
            )  # fmt: skip
        assert not to.exists()

    @pytest.mark.slow
    def test_codes_that_are_numbers_are_declared(self, to: Path) -> None:
        table = patients(code=np.random.default_rng(2).integers(0, 150, ROWS))
        drop = [*self.DROP, "diagnosis"]
        release = cv.publish(table, {"code": 5}, to, drop=drop, domain={"code": list(range(200))})
        assert release.manifest.sensitive["code"].domain == tuple(range(200))
        assert release.count("code >= 100").estimate is not None


class TestMerge:
    DROP = ("patient_id", "icd")

    def test_rare_and_frequent_values_get_a_common_label(self, to: Path, tmp_path: Path) -> None:
        file = tmp_path / "merge.csv"
        file.write_text("value,label\ngout,other\nflu,other\n")
        release = cv.publish(
            patients(), {"diagnosis": 3}, to, drop=self.DROP, merge={"diagnosis": file}
        )
        assert set(release.manifest.sensitive["diagnosis"].domain) == {
            "asthma", "diabetes", "eczema", "migraine", "other",
        }  # fmt: skip
        total = release.count("diagnosis = 'other'")
        assert (total.low or 0) - 200 < ROWS / 3 < (total.high or 0) + 200

    def test_merging_makes_ineligible_data_eligible(self, to: Path) -> None:
        kinds = ["none"] * (ROWS // 2) + ["a", "b"] * (ROWS // 4)
        table = patients(kind=np.random.default_rng(5).permutation(kinds))
        drop = (*self.DROP, "diagnosis")
        with pytest.raises(InputError, match="not eligible"):
            cv.publish(table, {"kind": 3}, to, drop=drop)
        cv.publish(table, {"kind": 2}, to, drop=drop, merge={"kind": {"a": "some", "b": "some"}})

    def test_a_merge_that_meets_nothing(self, to: Path) -> None:
        with pytest.raises(SettingsError, match="None of the 1 values to merge occurs"):
            cv.publish(
                patients(), {"diagnosis": 3}, to, drop=self.DROP,
                merge={"diagnosis": {"Gout": "other"}},
            )  # fmt: skip
        with pytest.warns(UserWarning, match="1 of the values to merge do not occur"):
            cv.publish(
                patients(), {"diagnosis": 3}, to, drop=self.DROP,
                merge={"diagnosis": {"Gout": "other", "gout": "other"}},
            )  # fmt: skip


@pytest.mark.parametrize(
    "wish", [{"person": "odd"}, {"bins": {"odd": 3}}, {"merge": {"odd": {"1": "x"}}}]
)
@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.float16()])
def test_values_that_cannot_be_counted(to: Path, wish: Any, kind: pa.DataType) -> None:
    values = [[1]] * ROWS if pa.types.is_nested(kind) else [np.float16(1)] * ROWS
    table = patients(odd=pa.array(values, kind))
    with pytest.raises(InputError, match="'odd' holds nested or special values"):
        cv.publish(table, {"diagnosis": 3}, to, drop=["patient_id", "icd"], **wish)


@pytest.mark.slow
def test_texts_that_stand_for_missing_values(to: Path, tmp_path: Path) -> None:
    lines = ["NA" if row % 7 == 0 else str(row % 5) for row in range(ROWS)]
    (tmp_path / "in.csv").write_text("number,job\n" + "".join(f"{n},{n}?\n" for n in lines))
    table = pa.table({"number": lines, "job": [f"{n}?" for n in lines]})
    for source in (tmp_path / "in.csv", table):
        wishes: Any = {"missing": ["NA", "NA?"], "keep": "number", "force": True, "again": True}
        release = cv.publish(source, {"job": 3}, to, **wishes)
        data = published(release)
        assert data["number"].null_count == lines.count("NA")
        assert "NA?" not in data["job"].to_pylist()
        assert data["job"].null_count > 0
    assert (
        published(cv.publish(tmp_path / "in.csv", {"job": 3}, to, **wishes))
        .schema.field("number")
        .type
        == pa.int64()
    ), "without its marks the column is one of numbers"
