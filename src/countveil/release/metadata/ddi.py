"""A release as DDI-Codebook 2.5, which archives of social science read.

Enters: a described release. Leaves: the XML of a codebook: the study, each data file with its
checksum, each variable with its labels, values and protection. Must not know: manifests, rows.
"""

from __future__ import annotations

from countveil.release.metadata.described import (
    PROTECTED,
    WEIGHT,
    DescribedFile,
    DescribedRelease,
    DescribedValue,
    Variable,
)
from countveil.release.metadata.file_types import FILE_TYPES
from countveil.release.metadata.markup import Element, element, xml_document
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP

_NAMESPACE = "ddi:codebook:2_5"
_SCHEMA = "http://www.ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_REPRESENTATIONS = {
    NUMBER: "numeric", TEXT: "text", BOOLEAN: "code", DATE: "datetime", TIMESTAMP: "datetime",
}  # fmt: skip


def ddi_text(release: DescribedRelease) -> str:
    """The codebook."""
    root = element(
        "codeBook",
        [
            _document(release),
            _study(release),
            *(_file(file, place, release) for place, file in enumerate(release.files)),
            element(
                "dataDscr", [_variable(v, n, release) for n, v in enumerate(release.variables)]
            ),
            _report() if release.has_report else None,
        ],
        version="2.5",
        xmlns=_NAMESPACE,
        xmlns__xsi=_INSTANCE,
        xsi__schemaLocation=f"{_NAMESPACE} {_SCHEMA}",
    )
    return xml_document(root)


def _document(release: DescribedRelease) -> Element:
    """What this document is."""
    name, _, version = release.written_by.partition(" ")
    title = element("titl", f"Codebook: {release.title}")
    software = element("software", name, version=version)
    made = element("prodStmt", [software]) if name else None
    return element("docDscr", [element("citation", [element("titlStmt", [title]), made])])


def _study(release: DescribedRelease) -> Element:
    return element(
        "stdyDscr",
        [
            _citation(release),
            element(
                "stdyInfo",
                [
                    element("abstract", release.abstract),
                    element(
                        "sumDscr",
                        [element("anlyUnit", "row"), element("dataKind", "protected microdata")],
                    ),
                ],
            ),
            _method(release),
            element("dataAccs", [_use(release)]),
        ],
    )


def _citation(release: DescribedRelease) -> Element:
    title = element(
        "titlStmt",
        [element("titl", release.title), element("IDNo", release.identifier, agency="countveil")],
    )
    contact = _contact(release)
    day = element("distDate", release.published, date=release.published)
    distribution = [contact, day if release.published else None]
    return element(
        "citation", [title, element("distStmt", distribution) if any(distribution) else None]
    )


def _contact(release: DescribedRelease) -> Element | None:
    if not release.contact:
        return None
    return element("contact", release.contact, email=release.address)


def _method(release: DescribedRelease) -> Element:
    weights = [variable.name for variable in release.variables if variable.role == WEIGHT]
    weight = [element("weight", f"The survey weight of a row is {name}.") for name in weights]
    collection = [
        *weight,
        *(element("cleanOps", sentence) for sentence in release.preparation),
    ]
    protection = [
        element("dataProcessing", sentence, type="protection") for sentence in release.protection
    ]
    return element("method", [element("dataColl", collection) if collection else None, *protection])


def _use(release: DescribedRelease) -> Element:
    """What is promised, and whom to ask."""
    return element(
        "useStmt",
        [
            element("confDec", "\n\n".join(release.statement), required="no"),
            _contact(release),
            element(
                "conditions",
                "Values of protected columns are not those of their rows. Estimate counts from "
                "this release with countveil, which states the error of each.",
            ),
        ],
    )


def _file(file: DescribedFile, place: int, release: DescribedRelease) -> Element:
    kind = FILE_TYPES[file.format]
    dimensions = [
        element("caseQnty", str(file.rows)),
        element("varQnty", str(len(release.variables))),
    ]
    return element(
        "fileDscr",
        [
            element(
                "fileTxt",
                [
                    element("fileName", file.path),
                    element("dimensns", dimensions),
                    element("fileType", kind.name, charset=kind.charset),
                    element("format", kind.media_type),
                    element("dataChck", f"SHA-256 {file.sha256}"),
                ],
            ),
            element("notes", file.sha256, type="checksum", subject="SHA-256"),
            element("notes", str(file.bytes), type="size", subject="bytes"),
        ],
        ID=f"F{place + 1}",
        URI=file.path,
    )


def _variable(variable: Variable, place: int, release: DescribedRelease) -> Element:
    protected = variable.role == PROTECTED
    described = [
        element("labl", variable.label) if variable.label else None,
        element("security", "protected") if protected else None,
        element("txt", variable.sentence),
        *(_category(value) for value in variable.values),
        _derivation(variable),
        _format(variable),
        *(element("notes", text, type="protection", subject=name) for name, text in variable.facts),
        element("notes", variable.role, type="role"),
    ]
    return element(
        "var",
        described,
        ID=f"V{place + 1}",
        name=variable.name,
        wgt="wgt" if variable.role == WEIGHT else "",
        files=" ".join(f"F{number + 1}" for number in range(len(release.files))),
        intrvl="contin" if variable.kind == NUMBER and not variable.values else "discrete",
        representationType="code"
        if variable.coded
        else _REPRESENTATIONS.get(variable.kind, "other"),
    )


def _category(value: DescribedValue) -> Element:
    """A value as the files hold it, with what it stands for."""
    if value.value is None:
        return element("catgry", [element("labl", "missing")], missing="Y")
    return element(
        "catgry",
        [
            element("catValu", value.text),
            element("labl", value.label) if value.label else None,
            element("txt", f"Code in the source: {value.code}") if value.code else None,
        ],
    )


def _derivation(variable: Variable) -> Element | None:
    if not variable.changes:
        return None
    return element("derivation", [element("drvdesc", variable.changes)])


def _format(variable: Variable) -> Element:
    numeric = variable.kind in (NUMBER, BOOLEAN)
    times = {DATE: "date", TIMESTAMP: "time"}
    return element(
        "varFormat",
        variable.type,
        type="numeric" if numeric else "character",
        schema="other",
        category=times.get(variable.kind, ""),
    )


def _report() -> Element:
    return element(
        "otherMat", [element("labl", "Report for readers")], level="study", URI="report.html"
    )
