"""Every description fits the schema of its format, and a schema refuses a changed one.

The schema of the DDI Alliance and the shapes of DCAT-AP are not in this repository. Whoever has
them names them: COUNTVEIL_DDI_SCHEMA=.../codebook.xsd, COUNTVEIL_DCAT_SHAPES=.../dcat-ap-SHACL.ttl.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from tests.release.metadata.samples import ROWS, described_release, hostile_release

etree = pytest.importorskip("lxml.etree")
rdflib = pytest.importorskip("rdflib")
pyshacl = pytest.importorskip("pyshacl")

# Of rdflib and of Croissant's library, not of what is tested.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

HERE = Path(__file__).parent
DDI = "{ddi:codebook:2_5}"
BASE = "https://example.org/release/dcat.jsonld"


def or_theirs(ours: Path, variable: str) -> list[Any]:
    """Our schema, and that of the standard if it is at hand."""
    theirs = os.environ.get(variable)
    reason = f"{variable} does not name the schema of the standard"
    skipped = pytest.mark.skipif(theirs is None, reason=reason)
    return [
        pytest.param(ours, id="ours"),
        pytest.param(Path(theirs or ""), id="theirs", marks=skipped),
    ]


ddi_schemas = pytest.mark.parametrize(
    "schema", or_theirs(HERE / "codebook-2-5-part.xsd", "COUNTVEIL_DDI_SCHEMA")
)
dcat_shapes = pytest.mark.parametrize(
    "shapes", or_theirs(HERE / "dcat-shapes.ttl", "COUNTVEIL_DCAT_SHAPES")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("described")


@pytest.fixture(scope="module")
def releases(folder: Path) -> dict[str, cv.Release]:
    """Prepared, in several files of CSV with hostile text, and with the labels of SPSS."""
    return {
        "prepared": described_release(folder / "prepared"),
        "hostile": hostile_release(folder / "hostile"),
        "spss": described_release(folder / "spss", output_format="spss", again=True),
    }


NAMES = pytest.mark.parametrize("name", ["prepared", "hostile", "spss"])


def is_ddi(document: Any, schema: Path) -> bool:
    fits: bool = etree.XMLSchema(etree.parse(str(schema))).validate(document)
    return fits


def is_dcat(text: str, shapes: Path) -> bool:
    graph = rdflib.Graph().parse(data=text, format="json-ld", publicID=BASE)
    constraints = rdflib.Graph().parse(str(shapes), format="turtle")
    fits: bool = pyshacl.validate(graph, shacl_graph=constraints)[0]
    return fits


@NAMES
@ddi_schemas
def test_ddi_fits_its_schema(releases: dict[str, cv.Release], name: str, schema: Path) -> None:
    document = etree.parse(str(releases[name].folder / "ddi.xml"))
    assert is_ddi(document, schema)


def without_title(root: Any) -> None:
    root.find(f".//{DDI}titl").getparent().remove(root.find(f".//{DDI}titl"))


def unnamed_variable(root: Any) -> None:
    del root.find(f".//{DDI}var").attrib["name"]


def same_id_twice(root: Any) -> None:
    for variable in root.findall(f".//{DDI}var")[:2]:
        variable.set("ID", "V1")


def unknown_role(root: Any) -> None:
    root.find(f".//{DDI}var").set("wgt", "perhaps")


def categories_first(root: Any) -> None:
    variable = next(v for v in root.iter(f"{DDI}var") if v.find(f"{DDI}catgry") is not None)
    variable.insert(0, variable.find(f"{DDI}catgry"))


def strange_element(root: Any) -> None:
    etree.SubElement(root.find(f".//{DDI}var"), f"{DDI}trueCount").text = "7"


@pytest.mark.parametrize(
    "change",
    [
        without_title, unnamed_variable, same_id_twice, unknown_role, categories_first,
        strange_element,
    ],
)  # fmt: skip
@ddi_schemas
def test_a_changed_ddi_is_refused(
    releases: dict[str, cv.Release], change: Callable[[Any], None], schema: Path
) -> None:
    document = etree.parse(str(releases["prepared"].folder / "ddi.xml"))
    change(document.getroot())
    # As written and read again: an ID is known to the parser.
    assert not is_ddi(etree.fromstring(etree.tostring(document)), schema)


@NAMES
def test_ddi_refers_to_what_is_there(releases: dict[str, cv.Release], name: str) -> None:
    root = etree.parse(str(releases[name].folder / "ddi.xml")).getroot()
    files = {file.get("ID") for file in root.findall(f"{DDI}fileDscr")}
    variables = root.findall(f".//{DDI}var")
    assert len(files) == len(releases[name].manifest.files)
    # The parser that checks schemas does not follow references.
    assert {reference for each in variables for reference in each.get("files").split()} == files


@NAMES
@dcat_shapes
def test_dcat_fits_its_shapes(releases: dict[str, cv.Release], name: str, shapes: Path) -> None:
    text = (releases[name].folder / "dcat.jsonld").read_text()
    assert is_dcat(text, shapes)


@pytest.mark.parametrize(
    ("kind", "term", "value"),
    [
        ("dcat:Dataset", "dct:title", None),
        ("dcat:Dataset", "dct:description", None),
        ("dcat:Distribution", "dcat:accessURL", None),
        ("dcat:Distribution", "dcat:accessURL", "a text"),
        ("dcat:Distribution", "dcat:byteSize", {"@value": "many", "@type": "xsd:string"}),
        ("dcat:Distribution", "spdx:checksum", {"@type": "spdx:Checksum"}),
    ],
)
@dcat_shapes
def test_a_changed_dcat_is_refused(
    releases: dict[str, cv.Release], kind: str, term: str, value: Any, shapes: Path
) -> None:
    content = json.loads((releases["prepared"].folder / "dcat.jsonld").read_text())
    node = next(node for node in content["@graph"] if node["@type"] == kind)
    del node[term]
    if value is not None:
        node[term] = value
    assert not is_dcat(json.dumps(content), shapes)


def test_addresses_of_dcat_follow_the_folder(releases: dict[str, cv.Release]) -> None:
    text = (releases["prepared"].folder / "dcat.jsonld").read_text()
    graph = rdflib.Graph().parse(data=text, format="json-ld", publicID=BASE)
    urls = {str(url) for url in graph.objects(None, rdflib.DCAT.downloadURL)}
    assert urls == {"https://example.org/release/data/part-00000.parquet"}


# Its library takes a second to load.
@pytest.mark.slow
class TestCroissant:
    """Croissant's own library reads the description, and the rows through it."""

    @NAMES
    def test_it_is_read_without_an_error(self, releases: dict[str, cv.Release], name: str) -> None:
        croissant = pytest.importorskip("mlcroissant")
        dataset = croissant.Dataset(jsonld=str(releases[name].folder / "croissant.json"))
        assert dataset.metadata.ctx.issues.errors == set()

    @pytest.mark.parametrize("rows_per_file", [None, 250])
    @pytest.mark.parametrize("output_format", ["parquet", "csv"])
    def test_rows_are_read_through_it(
        self, tmp_path: Path, output_format: str, rows_per_file: int | None
    ) -> None:
        croissant = pytest.importorskip("mlcroissant")
        release = described_release(
            tmp_path / "release", output_format=output_format, rows_per_file=rows_per_file
        )
        dataset = croissant.Dataset(jsonld=str(release.folder / "croissant.json"))
        wards = [record["rows/ward"] for record in dataset.records("rows")]
        assert len(wards) == ROWS
        assert {*wards} == {b"north or south", b"east"}
        values = list(itertools.islice(dataset.records("values/drug"), 10))
        assert [value["values/drug/value"] for value in values] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize(
        "change",
        ["no dataset", "no checksum", "no format", "no file", "no such file", "no type", "a value"],
    )
    def test_a_changed_one_is_refused(
        self, releases: dict[str, cv.Release], change: str, tmp_path: Path
    ) -> None:
        croissant = pytest.importorskip("mlcroissant")
        content = json.loads((releases["prepared"].folder / "croissant.json").read_text())
        rows, file = content["recordSet"][0], content["distribution"][0]
        changes: dict[str, Callable[[], object]] = {
            "no dataset": lambda: content.update({"@type": "sc:Thing"}),
            "no checksum": lambda: file.pop("sha256"),
            "no format": lambda: file.pop("encodingFormat"),
            "no file": lambda: file.pop("contentUrl"),
            "no such file": lambda: rows["field"][0]["source"].update(fileObject={"@id": "x"}),
            "no type": lambda: rows["field"][0].pop("dataType"),
            "a value": lambda: content["recordSet"][1]["data"][0].update(more="1"),
        }
        changes[change]()
        place = tmp_path / "croissant.json"
        place.write_text(json.dumps(content))
        with pytest.raises(croissant.ValidationError):
            croissant.Dataset(jsonld=str(place))
