"""Labels of columns and values: from SPSS or Stata to the release, and out again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pyreadstat
import pytest

import countveil as cv
from countveil.errors import ReleaseError
from countveil.release import Manifest, read_manifest
from countveil.release.formats.data_files import content_beside_rows
from countveil.release.formats.stored_labels import stored_labels
from countveil.release.steps import Mapped
from tests.robustness.conftest import Quick

ROWS = 840
DDI = "{ddi:codebook:2_5}"
JOBS: dict[int | float, str] = {number: f"job {number}" for number in range(1, 8)}
COLUMNS = {"sex": "Sex of the person", "job": "Main job, ünïcode <&>", "secret": "CANARY-column"}
VALUES: dict[str, dict[int | float, str]] = {
    "sex": {1: "female", 2: "male", 3: "CANARY-sex"},
    # Only some numbers have a label, so the column keeps its codes.
    "hours": {99: "no answer", 98: "CANARY-refused"},
    "job": {**JOBS, 55: "CANARY-job"},
    "secret": {0: "CANARY-no", 1: "CANARY-yes"},
}
READ = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}
ENDING = {"spss": "sav", "stata": "dta"}


def source(folder: Path, ending: str, **more: Any) -> Path:
    """A file with labels, some of them of values that no row has."""
    frame = pl.DataFrame(
        {
            "sex": [1.0 + row % 2 for row in range(ROWS)],
            "hours": [(10.0, 20.0, 35.0, 99.0)[row % 4] for row in range(ROWS)],
            "job": [None if row % 28 == 0 else 1.0 + row % 7 for row in range(ROWS)],
            "secret": [float(row % 3 == 0) for row in range(ROWS)],
        }
    )
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    path = folder / f"source.{ending}"
    given: dict[str, Any] = {"column_labels": COLUMNS, "variable_value_labels": VALUES, **more}
    write(frame, path, **given)
    return path


def published(path: Path, folder: Path, **options: Any) -> cv.Release:
    given = {"drop": ["secret"], "seed": 1, "metadata": "ddi,croissant,dcat", **options}
    return cv.publish(path, {"job": 3}, folder, **given)


def notes_of(release: cv.Release) -> tuple[Mapping[str, str], Mapping[str, Any], Any]:
    """The labels in a data file, and its rows as numbers."""
    (path,) = (release.folder / "data").iterdir()
    rows, notes = READ[path.suffix[1:]](path, output_format="polars")
    columns = {name: label for name, label in notes.column_names_to_labels.items() if label}
    return columns, notes.variable_value_labels, rows


@pytest.mark.filterwarnings("ignore:Column 'hours' has values without a label:UserWarning")
class TestLabels:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("ending", ["sav", "dta"])
    @pytest.mark.parametrize("output_format", ["spss", "stata"])
    def test_they_survive_to_the_files(
        self, tmp_path: Path, ending: str, output_format: str
    ) -> None:
        release = published(
            source(tmp_path, ending), tmp_path / "release", output_format=output_format
        )
        columns, values, rows = notes_of(release)
        assert columns == {"sex": COLUMNS["sex"], "job": COLUMNS["job"]}
        assert values == {"sex": {1: "female", 2: "male"}, "hours": {99: "no answer"}, "job": JOBS}
        assert {*rows["job"].to_list()} == {None, *map(float, JOBS)}
        assert cv.verify(release.folder) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("output_format", ["spss", "stata", "parquet", "csv"])
    def test_the_release_is_the_same_in_every_format(
        self, tmp_path: Path, output_format: str
    ) -> None:
        path = source(tmp_path, "sav")
        release = published(path, tmp_path / "release", output_format=output_format)
        plain = published(path, tmp_path / "plain", again=True)
        question = "SELECT sex, job, count(*) FROM release GROUP BY ALL ORDER BY 1, 2"
        assert release.sql(question).to_arrow() == plain.sql(question).to_arrow()
        assert {*release.manifest.sensitive["job"].domain} == {None, *JOBS.values()}
        assert release.manifest.codebook == plain.manifest.codebook

    @pytest.mark.few(1)
    @pytest.mark.parametrize("output_format", ["spss", "stata", "parquet", "csv"])
    def test_nothing_is_named_that_is_not_published(
        self, tmp_path: Path, output_format: str
    ) -> None:
        path = source(tmp_path, "dta")
        assert b"CANARY" in path.read_bytes()
        release = published(path, tmp_path / "release", output_format=output_format)
        for file in release.folder.rglob("*.*"):
            assert b"CANARY" not in file.read_bytes(), file.name

    def test_a_label_of_a_removed_value_is_not_named(self, tmp_path: Path) -> None:
        """The one person with the last job: his value is drawn for somebody in half of the cases.

        That it is drawn for nobody fails to happen in 20 draws with a chance of 1e-6.
        """
        frame = pl.DataFrame({"job": [*[1.0, 2.0, 3.0, 4.0] * 100, 9.0], "place": [1.0] * 401})
        labels: dict[int | float, str] = {1: "a", 2: "b", 3: "c", 4: "d", 9: "CANARY-job"}
        pyreadstat.write_sav(frame, tmp_path / "in.sav", variable_value_labels={"job": labels})
        for seed in range(20):
            release = cv.publish(
                tmp_path / "in.sav", {"job": 2}, tmp_path / str(seed), seed=seed, keep=["job"],
                output_format="spss", metadata="ddi,croissant,dcat",
            )  # fmt: skip
            if "CANARY-job" not in release.manifest.sensitive["job"].domain:
                break
        else:
            pytest.fail("the draw never removed the rare value")
        for file in release.folder.rglob("*.*"):
            assert b"CANARY" not in file.read_bytes(), file.name
        assert cv.verify(release.folder) == []

    def test_a_declared_domain_is_named_whole(self, tmp_path: Path) -> None:
        declared = [*JOBS.values(), "CANARY-job"]
        release = published(
            source(tmp_path, "sav"), tmp_path / "release", domain={"job": declared},
            output_format="spss",
        )  # fmt: skip
        assert notes_of(release)[1]["job"] == {**JOBS, 55: "CANARY-job"}
        assert "CANARY-job" in (release.folder / "ddi.xml").read_text()

    def test_labels_that_were_given_are_a_declaration(self, tmp_path: Path) -> None:
        release = published(
            source(tmp_path, "sav"), tmp_path / "release",
            labels={"sex": {1: "woman", 2: "man", 4: "another"}}, output_format="stata",
        )  # fmt: skip
        assert notes_of(release)[1]["sex"] == {1: "woman", 2: "man", 4: "another"}

    def test_rows_that_were_left_out_name_no_value(self, tmp_path: Path) -> None:
        """A plain value may have been in a dropped row alone, so no list of labels is published."""
        chosen = {"where": "sex = 1 OR hours != 99", "drop": ["secret"], "seed": 1}
        path, folder = source(tmp_path, "sav"), tmp_path / "release"
        release = cv.publish(path, {"job": 4}, folder, residue="drop", **chosen)  # type: ignore[arg-type]
        assert release.rows == ROWS * 3 // 4 - 2
        assert release.manifest.preparation is not None
        (step,) = release.manifest.preparation.columns["sex"]
        assert step == Mapped("labels")
        whole = cv.publish(path, {"job": 4}, tmp_path / "whole", again=True, **chosen)  # type: ignore[arg-type]
        assert whole.manifest.preparation is not None
        (step,) = whole.manifest.preparation.columns["sex"]
        assert step == Mapped("labels", {"1": "female", "2": "male"})

    def test_they_are_in_the_descriptions(self, tmp_path: Path) -> None:
        release = published(source(tmp_path, "sav"), tmp_path / "release", output_format="spss")
        root = ET.fromstring((release.folder / "ddi.xml").read_text())
        variables = {each.get("name"): each for each in root.iter(f"{DDI}var")}
        assert variables["job"].findtext(f"{DDI}labl") == COLUMNS["job"]
        assert variables["job"].get("representationType") == "code"
        categories = {
            each.findtext(f"{DDI}catValu"): each.findtext(f"{DDI}labl")
            for each in variables["job"].iter(f"{DDI}catgry")
            if each.get("missing") is None
        }
        assert categories == {str(code): label for code, label in JOBS.items()}
        assert variables["hours"].findtext(f"{DDI}catgry/{DDI}labl") == "no answer"
        croissant = json.loads((release.folder / "croissant.json").read_text())
        job = next(each for each in croissant["recordSet"] if each["@id"] == "values/job")
        assert {each["values/job/label"] for each in job["data"]} == {*JOBS.values()}
        field = next(each for each in croissant["recordSet"][0]["field"] if each["name"] == "job")
        assert field["description"].startswith(COLUMNS["job"])

    def test_they_are_shown(self, tmp_path: Path, quick: Quick) -> None:
        release = published(source(tmp_path, "sav"), tmp_path / "release")
        shown = quick("show", release.folder).out
        assert COLUMNS["sex"] in shown
        assert "no answer" in shown
        assert "Main job, ünïcode &lt;&amp;&gt;" in (release.folder / "report.html").read_text()

    @pytest.mark.few(1)
    @pytest.mark.parametrize("output_format", ["spss", "stata"])
    def test_the_audit_knows_them(self, tmp_path: Path, output_format: str) -> None:
        release = published(
            source(tmp_path, "sav"), tmp_path / "release", output_format=output_format
        )
        (path,) = (release.folder / "data").iterdir()
        assert content_beside_rows(path, stored_labels(release.manifest)) == []
        assert content_beside_rows(path) == ["labels of columns", "labels of values"]

    def test_what_a_program_would_not_keep_stays_text(self, tmp_path: Path) -> None:
        labels = {1: "x" * 121, 2: "male"}
        release = published(
            source(tmp_path, "dta", variable_value_labels={"sex": labels, "job": JOBS}),
            tmp_path / "release", output_format="spss",
        )  # fmt: skip
        _, values, rows = notes_of(release)
        assert "sex" not in values
        assert {*rows["sex"].to_list()} == {*labels.values()}
        assert cv.verify(release.folder) == []

    def test_a_long_label_of_a_column_is_cut(self, tmp_path: Path) -> None:
        path = source(tmp_path, "sav", column_labels={"sex": "ü" * 120})
        release = published(path, tmp_path / "release", output_format="stata")
        assert notes_of(release)[0]["sex"] == "ü" * 80
        assert release.manifest.codebook["sex"].label == "ü" * 120

    def test_a_code_without_a_label_is_not_read(self, tmp_path: Path) -> None:
        release = published(source(tmp_path, "sav"), tmp_path / "release", output_format="spss")
        (path,) = (release.folder / "data").iterdir()
        rows, _ = pyreadstat.read_sav(path, output_format="polars")
        pyreadstat.write_sav(rows, path, variable_value_labels={"sex": VALUES["sex"]})
        with pytest.raises(ReleaseError, match="'countveil verify' says what is wrong"):
            cv.open(release.folder).sql("SELECT job, count(*) FROM release GROUP BY 1")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "codebook",
    [
        {"nobody": {"label": "x"}},
        {"sex": {"label": 3}},
        {"sex": {}},
        {"sex": {"values": ["x"]}},
        {"sex": {"values": {"1": 2}}},
        {"sex": {"label": "x", "more": "y"}},
        ["sex"],
    ],
)
def test_a_manifest_cannot_have_other_labels(tmp_path: Path, codebook: Any) -> None:
    path = source(tmp_path, "sav", variable_value_labels={"sex": VALUES["sex"]})
    release = published(path, tmp_path / "release")
    content = json.loads((release.folder / "manifest.json").read_text())
    content["codebook"] = codebook
    text = json.dumps({k: v for k, v in content.items() if k != "checksum"}, sort_keys=True,
                      separators=(",", ":"))  # fmt: skip
    content["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    with pytest.raises(ReleaseError, match="malformed"):
        Manifest.from_json(json.dumps(content))
    assert read_manifest(release.folder).codebook["sex"].label == COLUMNS["sex"]
