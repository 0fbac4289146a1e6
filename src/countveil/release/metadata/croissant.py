"""A release as Croissant 1.0, which search engines for data and machine-learning libraries read.

Enters: a described release. Leaves: JSON-LD: the files with their checksums, a record set with a
field for each column, and for each column with listed values a record set of these. Must not know:
manifests, rows. Preparation and protection stand in the terms of the vocabulary for responsible AI.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from countveil.release.metadata.described import (
    PROTECTED,
    DescribedFile,
    DescribedRelease,
    Variable,
)
from countveil.release.metadata.file_types import FILE_TYPES
from countveil.release.metadata.markup import json_document
from countveil.release.values import BOOLEAN, DATE, NUMBER, PARQUET, TIMESTAMP

_VOCABULARY = "http://mlcommons.org/croissant/"
_TERMS = (
    "citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
    "transform", "equivalentProperty",
)  # fmt: skip
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _VOCABULARY,
    "rai": f"{_VOCABULARY}RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
_ROWS, _FILES = "rows", "data-files"
# Readers of Croissant know Parquet by an older name.
_PARQUET = "application/x-parquet"


def croissant_text(release: DescribedRelease) -> str:
    """The description."""
    listed = [variable for variable in release.variables if _known(variable)]
    content: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": f"{_VOCABULARY}1.0",
        "name": release.title,
        "description": "\n\n".join([release.abstract, *release.statement]),
        "identifier": release.identifier,
        "datePublished": release.published,
        "creator": _creator(release),
        "rai:personalSensitiveInformation": [
            variable.name for variable in release.variables if variable.role == PROTECTED
        ],
        "rai:dataPreprocessingProtocol": list(release.preparation),
        "rai:dataManipulationProtocol": "\n".join(release.protection),
        "rai:dataLimitations": "\n\n".join(release.statement),
        "distribution": _distribution(release),
        "recordSet": [_rows(release), *map(_listed_values, listed)],
    }
    return json_document({name: part for name, part in content.items() if part})


def _creator(release: DescribedRelease) -> dict[str, Any] | None:
    if not release.contact:
        return None
    creator = {"@type": "sc:Organization", "name": release.contact}
    return creator | ({"email": release.address} if release.address else {})


def _distribution(release: DescribedRelease) -> list[dict[str, Any]]:
    files = [_file(file) for file in release.files]
    if len(files) == 1:
        return files
    endings = release.files[0].format
    together = {
        "@type": "cr:FileSet",
        "@id": _FILES,
        "name": _FILES,
        "description": "All data files: every row is in one of them.",
        "encodingFormat": _media_type(endings),
        "includes": f"data/*.{endings}",
    }
    return [*files, together]


def _file(file: DescribedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": f"{file.rows:,} rows, {FILE_TYPES[file.format].name}.",
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": _media_type(file.format),
        "sha256": file.sha256,
    }


def _media_type(ending: str) -> str:
    kind = FILE_TYPES[ending]
    return _PARQUET if ending == PARQUET else kind.compressed or kind.media_type


def _rows(release: DescribedRelease) -> dict[str, Any]:
    only = release.files[0].path if len(release.files) == 1 else None
    origin = {"fileSet": {"@id": _FILES}} if only is None else {"fileObject": {"@id": only}}
    return {
        "@type": "cr:RecordSet",
        "@id": _ROWS,
        "name": _ROWS,
        "description": f"The {release.rows:,} rows of the release, in random order.",
        "field": [_field(variable, origin) for variable in release.variables],
    }


def _field(variable: Variable, origin: dict[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{_ROWS}/{_part(variable.name)}",
        "name": variable.name,
        "description": variable.sentence,
        "dataType": _data_type(variable),
        "source": {**origin, "extract": {"column": variable.name}},
    }


def _known(variable: Variable) -> list[dict[str, Any]]:
    """The values that are listed, but for the missing one."""
    place = _values_id(variable)
    known = []
    for value in variable.values:
        if value.value is not None:
            entry = {f"{place}/value": value.text}
            meaning = value.label or value.text
            known.append({**entry, f"{place}/label": meaning, f"{place}/code": value.code})
    return known


def _listed_values(variable: Variable) -> dict[str, Any]:
    place = _values_id(variable)
    about = {
        "value": "The value as text.",
        "label": "What it stands for.",
        "code": "What stood for it in the source, if known.",
    }
    return {
        "@type": "cr:RecordSet",
        "@id": place,
        "name": place,
        "description": f"Values of {variable.name} that the release lists.",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{place}/value"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{place}/{name}",
                "name": name,
                "description": text,
                "dataType": "sc:Text",
            }
            for name, text in about.items()
        ],
        "data": _known(variable),
    }


def _values_id(variable: Variable) -> str:
    return f"values/{_part(variable.name)}"


def _part(name: str) -> str:
    """A name as a part of an identifier; different names stay different."""
    return quote(name, safe="")


def _data_type(variable: Variable) -> str:
    if variable.kind == NUMBER:
        whole = variable.type.startswith(("int", "uint"))
        return "sc:Integer" if whole else "sc:Float"
    times = {BOOLEAN: "sc:Boolean", DATE: "sc:Date", TIMESTAMP: "sc:DateTime"}
    return times.get(variable.kind, "sc:Text")
