"""Person files in the layout in which the Census Bureau ships them, made here."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from countveil.errors import InputError
from study.data import load
from study.data.pums import read_pums

# The beginning of a real header, and columns that the study does not read among those that it does.
HEADER = (
    "RT,SERIALNO,DIVISION,SPORDER,PUMA,REGION,STATE,ADJINC,PWGTP,AGEP,CIT,COW,MAR,SCHL,SEX,HISP,"
    "NAICSP,OCCP,PINCP,RAC1P,SOCP"
)


def person(serial: str, age: int, cow: str, schl: str, occp: str, sex: int = 1) -> str:
    return (
        f"P,{serial},6,01,02300,3,01,1015979,00042,{age:02d},1,{cow},1,{schl},{sex},01,"
        f"611M1,{occp},0038500,1,252030"
    )


WORKERS = [
    person("2024GQ0000009", 44, "1", "21", "0010"),
    person("2024GQ0000010", 17, "3", "09", "2310", sex=2),
    person("2024HU0000011", 96, "6", "24", "9830"),
]
OTHERS = [
    person("2024HU0000012", 16, "1", "16", "4020"),  # too young
    person("2024HU0000013", 3, "", "01", ""),  # a child
    person("2024HU0000014", 70, "", "16", ""),  # long out of work
    person("2024HU0000015", 30, "9", "16", "9920"),  # never worked
]


def lines(*people: str) -> str:
    return "\r\n".join([HEADER, *people]) + "\r\n"


@pytest.fixture
def whole_country(tmp_path: Path) -> Path:
    path = tmp_path / "csv_pus.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("psam_pusa.csv", lines(WORKERS[0], *OTHERS[:2]))
        archive.writestr("psam_pusb.csv", lines(OTHERS[2], *WORKERS[1:], OTHERS[3]))
        archive.writestr("ACS2024_PUMS_README.pdf", b"%PDF-1.5 not a table")
    return path


def test_people_with_an_occupation_are_read_from_both_files(whole_country: Path) -> None:
    found = read_pums(whole_country)
    assert {name: values.tolist() for name, values in found.items()} == {
        "Age": [44, 17, 96],
        "Gender": [1, 2, 1],
        "Education": [21, 9, 24],
        "Marital": [1, 1, 1],
        "Race": [1, 1, 1],
        "Workclass": [1, 3, 6],
        "Occupation": [0, 11, 49],
    }


def test_a_csv_and_a_folder_say_the_same_as_the_zip(whole_country: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / "psam_pusa.csv").write_text(lines(WORKERS[0], *OTHERS))
    (folder / "psam_pusb.csv").write_text(lines(*WORKERS[1:]))
    (folder / "psam_husa.csv").write_text("RT,SERIALNO\nH,1\n")
    expected = read_pums(whole_country)
    for name, values in read_pums(folder).items():
        assert values.tolist() == expected[name].tolist()
    alone = read_pums(folder / "psam_pusb.csv")
    assert alone["Age"].tolist() == [17, 96]


def test_the_study_takes_such_a_file_and_samples_it(tmp_path: Path) -> None:
    people = [
        person(f"2024HU{number:07d}", 20 + number % 50, "1", "21", f"{37 * number % 9000:04d}")
        for number in range(400)
    ]
    path = tmp_path / "psam_p01.csv"
    path.write_text(lines(*people))
    table = load(str(path), 300)
    assert (table.name, table.rows) == ("ACS PUMS", 300)
    assert table.size("Age") == 50
    sizes = np.bincount(table.age_class)
    assert sizes.size == 10
    assert sizes.max() <= 2 * sizes.min()
    again = load(str(path), 300)
    assert again.digest == table.digest


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("csv_hus.zip", {"psam_husa.csv": "RT,SERIALNO\nH,1\n"}, "csv_h"),
        ("csv_pus.zip", {"psam_pusa.csv": "RT,AGEP,OCCP\nP,40,0010\n"}, "lacks a column"),
        ("csv_pus.zip", {"psam_pusa.csv": lines(*OTHERS)}, "nobody"),
        ("csv_pus.zip", {"psam_pusa.csv": f"{HEADER}\nsecret,text\n"}, "not a CSV of persons"),
        (
            "csv_pus.zip",
            {"psam_pusa.csv": lines(person("1", 40, "x-ray", "21", "0010"))},
            "not a CSV of persons",
        ),
    ],
)
def test_other_files_are_refused_in_one_sentence(
    tmp_path: Path, name: str, content: dict[str, str], says: str
) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in content.items():
            archive.writestr(inside, text)
    with pytest.raises(InputError, match=says) as caught:
        load(str(path), 100)
    assert "secret" not in str(caught.value)
    assert "x-ray" not in str(caught.value)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is nothing at"):
        load(str(tmp_path / "csv_pus.zip"), 100)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="Workclass"):
        load(str(other), 100)
