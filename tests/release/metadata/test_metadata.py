"""Descriptions of a release: what they say, and that they say nothing else."""

from __future__ import annotations

import datetime as dt
import getpass
import hashlib
import json
import re
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import ReleaseError, SettingsError, TargetError
from countveil.release import METADATA_NAMES, Manifest, ReportFile, read_manifest
from countveil.release.metadata import chosen_formats, metadata_texts
from countveil.release.metadata.markup import element, json_document, xml_document
from tests.release.metadata.samples import HOSTILE, ROWS, described_release, hostile_release
from tests.robustness.conftest import Quick
from tests.strategies import examples

DDI = "{ddi:codebook:2_5}"
FILES = list(METADATA_NAMES.values())


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return described_release(tmp_path_factory.mktemp("described") / "release")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return hostile_release(tmp_path_factory.mktemp("hostile") / "release")


def ddi_of(release: cv.Release) -> ET.Element:
    return ET.fromstring((release.folder / "ddi.xml").read_text())


def croissant_of(release: cv.Release) -> Any:
    return json.loads((release.folder / "croissant.json").read_text())


def dcat_of(release: cv.Release) -> list[Any]:
    graph: list[Any] = json.loads((release.folder / "dcat.jsonld").read_text())["@graph"]
    return graph


def variable(release: cv.Release, name: str) -> ET.Element:
    return next(each for each in ddi_of(release).iter(f"{DDI}var") if each.get("name") == name)


def texts(node: ET.Element, tag: str) -> list[str | None]:
    return [each.text for each in node.iter(f"{DDI}{tag}")]


def test_they_are_a_part_of_the_release(release: cv.Release) -> None:
    assert cv.verify(release.folder) == []
    listed = read_manifest(release.folder).metadata
    for name, file in METADATA_NAMES.items():
        content = (release.folder / file).read_bytes()
        assert listed[name] == ReportFile(len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("file", FILES)
def test_a_change_is_noticed(release: cv.Release, tmp_path: Path, file: str) -> None:
    copy = Path(shutil.copytree(release.folder, tmp_path / "copy"))
    content = (copy / file).read_text()
    (copy / file).write_text(content.replace("Drugs", "Sugar"))
    assert [(each.file, each.problem) for each in cv.verify(copy)] == [
        (file, "changed: its checksum differs from the published one")
    ]
    (copy / file).unlink()
    assert [each.problem for each in cv.verify(copy)] == ["missing"]


def test_one_that_was_not_asked_for_is_not_part(tmp_path: Path) -> None:
    release = described_release(tmp_path / "release", metadata="dcat")
    assert not (release.folder / "ddi.xml").exists()
    (release.folder / "ddi.xml").write_text("<codeBook/>")
    assert [each.problem for each in cv.verify(release.folder)] == ["not part of the release"]


def test_a_release_without_them_says_nothing_of_them(tmp_path: Path) -> None:
    release = described_release(tmp_path / "release", metadata=())
    assert "metadata" not in json.loads((release.folder / "manifest.json").read_text())
    assert sorted(path.name for path in release.folder.iterdir()) == [
        "data", "manifest.json", "report.html",
    ]  # fmt: skip


def test_a_release_with_them_is_replaced_whole(release: cv.Release, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(release.folder, tmp_path / "copy"))
    described_release(copy, metadata=(), force=True, again=True)
    assert not any((copy / name).exists() for name in FILES)
    assert cv.verify(copy) == []


def test_a_signature_covers_them(tmp_path: Path) -> None:
    key, public = tmp_path / "key.pem", tmp_path / "public.pem"
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    release = described_release(tmp_path / "release", sign=key)
    assert cv.verify(release.folder, signed_by=public) == []
    text = (release.folder / "ddi.xml").read_text().replace("Drugs", "Sugar")
    (release.folder / "ddi.xml").write_text(text)
    assert [each.file for each in cv.verify(release.folder, signed_by=public)] == ["ddi.xml"]


@pytest.mark.few(1)
@pytest.mark.parametrize("output_format", ["parquet", "csv", "csv.gz", "arrow", "stata", "spss"])
def test_they_follow_from_the_release_alone(tmp_path: Path, output_format: str) -> None:
    release = described_release(tmp_path / "release", output_format=output_format)
    manifest = read_manifest(release.folder)
    made = metadata_texts(manifest, list(METADATA_NAMES))
    assert made == {n: (release.folder / f).read_text() for n, f in METADATA_NAMES.items()}
    # Nor do they depend on what the manifest says of them.
    assert metadata_texts(replace(manifest, metadata={}), list(METADATA_NAMES)) == made


def test_nothing_but_what_is_published_is_in_them(release: cv.Release) -> None:
    published = (release.folder / "manifest.json").read_text()
    for name in FILES:
        text = (release.folder / name).read_text()
        # The dropped column, the folder, this machine and its user.
        for secret in ("CANARY", str(release.folder), socket.gethostname(), getpass.getuser()):
            assert secret not in text or (secret in published and secret != "CANARY")
        said = re.sub(r"https?://[^\"\s]+", "", text)
        numbers = {*re.findall(r"(?<![\w.])\d{2,}(?![\w.])", said)}
        known = {*re.findall(r"\d{2,}", published), str(ROWS)}
        assert numbers <= known, numbers - known


def test_they_hold_no_value_that_the_draw_removed(tmp_path: Path) -> None:
    values = ["common a", "common b", "common c"] * 200 + ["CANARY-rare"]
    table = pa.table({"place": ["x"] * 601, "drug": values})
    for seed in range(20):
        release = cv.publish(
            table, {"drug": 2}, tmp_path / str(seed), seed=seed, keep=["drug"],
            metadata="ddi,croissant,dcat",
        )  # fmt: skip
        if "CANARY-rare" not in release.manifest.sensitive["drug"].domain:
            break
    else:
        pytest.fail("the draw never removed the rare value; the chance of that is 2 to the -20")
    for path in release.folder.rglob("*.*"):
        assert b"CANARY" not in path.read_bytes()


def test_ddi_has_the_study_and_its_files(release: cv.Release) -> None:
    root = ddi_of(release)
    assert root.findtext(f"{DDI}stdyDscr/{DDI}citation/{DDI}titlStmt/{DDI}titl") == "Drugs by ward"
    contact = root.find(f".//{DDI}distStmt/{DDI}contact")
    assert contact is not None
    assert contact.attrib == {"email": "data@example.org"}
    about = release.manifest.about
    assert about is not None
    assert texts(root, "distDate") == [about.published]
    (file,) = release.manifest.files
    assert texts(root, "fileName") == [file.path]
    assert texts(root, "caseQnty") == [str(ROWS)]
    checksums = [note.text for note in root.iter(f"{DDI}notes") if note.get("type") == "checksum"]
    assert checksums == [file.sha256]
    assert "\n\n".join(release.manifest.statement) in texts(root, "confDec")
    preparation = release.manifest.preparation
    assert preparation is not None
    assert texts(root, "cleanOps") == preparation.sentences()
    assert texts(root, "weight") == ["The survey weight of a row is weight."]
    assert any("ell 2, groups mixed" in str(text) for text in texts(root, "dataProcessing"))


def test_ddi_has_every_variable(release: cv.Release) -> None:
    columns = [column.name for column in release.manifest.columns]
    assert [each.get("name") for each in ddi_of(release).iter(f"{DDI}var")] == columns
    drug = variable(release, "drug")
    assert texts(drug, "security") == ["protected"]
    assert texts(drug, "catValu") == ["a", "b", "c", "d"]
    assert [each.get("missing") for each in drug.iter(f"{DDI}catgry")] == ["Y", *[None] * 4]
    notes = {note.get("subject"): note.text for note in drug.iter(f"{DDI}notes")}
    assert (notes["ell"], notes["groups"], notes["residue"]) == ("2", "mixed", "absorb")
    assert texts(variable(release, "age"), "catValu") == ["below 30", "30 to 49", "50 or more"]
    assert variable(release, "weight").get("wgt") == "wgt"
    sex = variable(release, "sex")
    assert texts(sex, "catValu") == ["female", "male"]
    assert "Code in the source: 1" in texts(sex, "txt")
    assert texts(variable(release, "ward"), "drvdesc") == [
        "2 declared values were merged into 'north or south'"
    ]


def test_croissant_has_files_fields_and_values(release: cv.Release) -> None:
    content = croissant_of(release)
    (file,) = release.manifest.files
    assert content["distribution"][0]["sha256"] == file.sha256
    rows, *lists = content["recordSet"]
    assert [field["name"] for field in rows["field"]] == [c.name for c in release.manifest.columns]
    types = {field["name"]: field["dataType"] for field in rows["field"]}
    assert types == {
        "age": "sc:Text", "sex": "sc:Text", "ward": "sc:Text", "day": "sc:Date",
        "seen": "sc:DateTime", "weight": "sc:Float", "smoker": "sc:Boolean", "drug": "sc:Text",
    }  # fmt: skip
    drugs = next(each for each in lists if each["@id"] == "values/drug")
    assert [value["values/drug/value"] for value in drugs["data"]] == ["a", "b", "c", "d"]
    assert content["rai:personalSensitiveInformation"] == ["drug"]
    assert content["rai:dataLimitations"] == "\n\n".join(release.manifest.statement)


def test_dcat_has_a_dataset_and_its_distributions(release: cv.Release) -> None:
    dataset, file, schema, *_ = dcat_of(release)
    assert dataset["dct:title"] == "Drugs by ward"
    assert dataset["dcat:contactPoint"]["vcard:hasEmail"] == {"@id": "mailto:data@example.org"}
    assert file["spdx:checksum"]["spdx:checksumValue"]["@value"] == release.manifest.files[0].sha256
    columns = schema["csvw:column"]["@list"]
    assert [each["csvw:title"] for each in columns] == [c.name for c in release.manifest.columns]


def test_without_a_title_they_name_the_rows(tmp_path: Path) -> None:
    release = described_release(tmp_path / "release", title="", contact="")
    assert croissant_of(release)["name"] == "Protected microdata, 600 rows"
    assert str(dt.datetime.now(dt.UTC).year) + "-" not in (release.folder / "ddi.xml").read_text()
    assert "dcat:contactPoint" not in dcat_of(release)[0]


def test_hostile_text_stays_text(hostile: cv.Release) -> None:
    assert cv.verify(hostile.folder) == []
    for name in FILES:
        text = (hostile.folder / name).read_text()
        assert "</script" not in text
        assert "<b>" not in text
        # What turns text round is never raw in a file.
        assert not {*text} & {"\u202e", "\u2028", "\x07", "\x00", "\ufffe", "\r"}
    readable = HOSTILE.replace("\x07", "\\u0007").replace("\x00", "\\u0000")
    readable = readable.replace("\ufffe", "\\ufffe")
    names = [each.get("name") for each in ddi_of(hostile).iter(f"{DDI}var")]
    assert names == [f"plain {readable}", "code", f"drug {readable}"]
    values = texts(variable(hostile, f"drug {readable}"), "catValu")
    assert values == [f"{number} {readable}" for number in range(4)]
    fields = croissant_of(hostile)["recordSet"][0]["field"]
    assert [field["name"] for field in fields] == [c.name for c in hostile.manifest.columns]
    assert all(re.fullmatch(r"rows/[\w.~%-]+", field["@id"], re.ASCII) for field in fields)
    assert croissant_of(hostile)["name"] == hostile.manifest.about.title  # type: ignore[union-attr]
    # Not an address, so none is made of it.
    assert "email" not in croissant_of(hostile)["creator"]


@examples(200)
@given(text=st.text(), other=st.text(min_size=1))
def test_any_text_comes_back(text: str, other: str) -> None:
    text, other = (each.encode(errors="replace").decode() for each in (text, other))
    root = ET.fromstring(xml_document(element("a", text, b=other)))
    impossible = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"

    def held(given: str) -> str:
        return re.sub(impossible, lambda match: f"\\u{ord(match[0]):04x}", given)

    assert (root.text or "") == held(text)
    assert root.get("b") == held(other)
    document = json_document({other: text})
    assert json.loads(document) == {other: text}
    assert document.isascii()
    assert not {*document} & {*"<>&"}


@pytest.mark.parametrize(
    ("given", "formats"),
    [
        ("ddi", ("ddi",)),
        (" DCAT, ddi,,dcat", ("dcat", "ddi")),
        (["croissant", "ddi,dcat"], ("croissant", "ddi", "dcat")),
        ((), ()),
    ],
)
def test_formats_may_be_named_in_several_ways(given: Any, formats: tuple[str, ...]) -> None:
    assert chosen_formats(given) == formats


def test_an_unknown_format_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        cv.publish(tmp_path / "none.csv", {"x": 2}, tmp_path / "release", metadata="ddi,ddj")
    assert str(refused.value) == (
        "There is no metadata format 'ddj' for metadata=.... Available: ddi, croissant, dcat."
    )
    with pytest.raises(SettingsError, match="are texts"):
        chosen_formats([3])  # type: ignore[list-item]


@pytest.mark.slow
def test_the_command_writes_plans_and_refuses(tmp_path: Path, quick: Quick) -> None:
    cv.generate(300, tmp_path / "census.csv", seed=1)
    words = ("publish", tmp_path / "census.csv", "-s", "salary:2", "--to", tmp_path / "release")
    refused = quick(*words, "--metadata", "marc")
    assert refused.code == 1
    assert "Available: ddi, croissant, dcat" in refused.err
    planned = quick(*words, "--metadata", "ddi,dcat", "--dry-run")
    assert "for archives and catalogues: ddi.xml, dcat.jsonld." in planned.out
    assert not (tmp_path / "release").exists()
    assert quick(*words, "--metadata", "ddi,dcat").code == 0
    assert {*read_manifest(tmp_path / "release").metadata} == {"ddi", "dcat"}


@pytest.mark.few(1)
@pytest.mark.parametrize("chosen", ['"ddi,dcat"', '["ddi", "dcat"]'])
def test_a_recipe_may_ask_for_them(tmp_path: Path, quick: Quick, chosen: str) -> None:
    cv.generate(300, tmp_path / "census.csv", seed=1)
    recipe = tmp_path / "census.toml"
    recipe.write_text(
        f'table = "census.csv"\nsensitive = ["salary:2"]\n[publish]\nto = "one"\n'
        f"metadata = {chosen}\n"
    )
    assert quick("publish", "--recipe", recipe).code == 0
    assert {*read_manifest(tmp_path / "one").metadata} == {"ddi", "dcat"}


def test_a_recipe_in_python_may_ask_for_them(tmp_path: Path) -> None:
    cv.generate(300, tmp_path / "census.csv", seed=1)
    recipe = tmp_path / "census.toml"
    recipe.write_text('[publish]\nmetadata = ["ddi"]\n')
    release = cv.publish(
        tmp_path / "census.csv", {"salary": 2}, tmp_path / "release", recipe=recipe
    )
    assert {*release.manifest.metadata} == {"ddi"}


@pytest.mark.parametrize(
    "entry",
    [
        {"marc": {"bytes": 3, "sha256": "x"}},
        {"ddi": {"bytes": 0, "sha256": "x"}},
        {"ddi": {"bytes": True, "sha256": "x"}},
        {"ddi": {"bytes": 3, "sha256": 4}},
        {"ddi": {"bytes": 3, "sha256": "x", "path": "../x"}},
        ["ddi"],
    ],
)
def test_a_manifest_cannot_list_other_files(release: cv.Release, entry: Any) -> None:
    content = json.loads((release.folder / "manifest.json").read_text())
    content["metadata"] = entry
    with pytest.raises(ReleaseError, match="malformed"):
        Manifest.from_json(_with_checksum(content))


def test_a_foreign_file_of_that_name_is_not_replaced(tmp_path: Path) -> None:
    release = described_release(tmp_path / "release", metadata=())
    (release.folder / "croissant.json").write_text("{}")
    with pytest.raises(TargetError, match="not part of the release"):
        described_release(release.folder, force=True, again=True)


def _with_checksum(content: dict[str, Any]) -> str:
    content.pop("checksum")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return json.dumps({**content, "checksum": hashlib.sha256(text.encode()).hexdigest()})
