"""A release as DCAT 3, in the terms of DCAT-AP, which catalogues of open data harvest.

Enters: a described release. Leaves: JSON-LD: a dataset with a distribution for each data file, and
the columns in the terms of CSV on the Web. Must not know: manifests, rows.

Addresses are relative: they are right wherever the whole folder is put.
"""

from __future__ import annotations

from typing import Any

from countveil.release.metadata.described import DescribedFile, DescribedRelease, Variable
from countveil.release.metadata.file_types import FILE_TYPES
from countveil.release.metadata.markup import json_document
from countveil.release.values import BOOLEAN, DATE, NUMBER, TIMESTAMP

_CONTEXT = {
    "csvw": "http://www.w3.org/ns/csvw#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"
_DATASET, _COLUMNS = "#dataset", "#columns"


def dcat_text(release: DescribedRelease) -> str:
    """The description."""
    files = [_distribution(file, place) for place, file in enumerate(release.files)]
    values = [_listed_values(v, place) for place, v in enumerate(release.variables) if v.values]
    graph = [_dataset(release, files), *files, _schema(release), *values]
    return json_document({"@context": _CONTEXT, "@graph": graph})


def _dataset(release: DescribedRelease, files: list[dict[str, Any]]) -> dict[str, Any]:
    dataset: dict[str, Any] = {
        "@id": _DATASET,
        "@type": "dcat:Dataset",
        "dct:title": release.title,
        "dct:description": "\n\n".join([release.abstract, *release.statement]),
        "dct:identifier": release.identifier,
        "dct:issued": _typed(release.published, "date") if release.published else None,
        "dct:provenance": [
            {"@type": "dct:ProvenanceStatement", "rdfs:label": sentence}
            for sentence in (*release.preparation, *release.protection)
        ],
        "dcat:contactPoint": _contact(release),
        "foaf:page": {"@id": "report.html", "@type": "foaf:Document"}
        if release.has_report
        else None,
        "dcat:distribution": [{"@id": file["@id"]} for file in files],
        "csvw:tableSchema": {"@id": _COLUMNS},
    }
    return _given(dataset)


def _contact(release: DescribedRelease) -> dict[str, Any] | None:
    if not release.contact:
        return None
    contact: dict[str, Any] = {"@type": "vcard:Kind", "vcard:fn": release.contact}
    if release.address:
        contact["vcard:hasEmail"] = {"@id": f"mailto:{release.address}"}
    return contact


def _distribution(file: DescribedFile, place: int) -> dict[str, Any]:
    kind = FILE_TYPES[file.format]
    return _given(
        {
            "@id": f"#file-{place + 1}",
            "@type": "dcat:Distribution",
            "dct:title": file.path,
            "dct:description": f"{file.rows:,} rows.",
            "dcat:accessURL": {"@id": file.path},
            "dcat:downloadURL": {"@id": file.path},
            "dct:format": {"@type": "dct:MediaTypeOrExtent", "rdfs:label": kind.name},
            "dcat:mediaType": _media_type(kind.media_type) if kind.registered else None,
            "dcat:compressFormat": _media_type(kind.compressed) if kind.compressed else None,
            "dcat:byteSize": _typed(str(file.bytes), "nonNegativeInteger"),
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": {
                    "@id": "spdx:checksumAlgorithm_sha256",
                    "@type": "spdx:ChecksumAlgorithm",
                },
                "spdx:checksumValue": _typed(file.sha256, "hexBinary"),
            },
        }
    )


def _media_type(name: str) -> dict[str, str]:
    return {"@id": f"{_MEDIA_TYPES}{name}", "@type": "dct:MediaType"}


def _schema(release: DescribedRelease) -> dict[str, Any]:
    columns = [_column(variable, place) for place, variable in enumerate(release.variables)]
    return {
        "@id": _COLUMNS,
        "@type": "csvw:Schema",
        "csvw:column": {"@list": columns},
    }


def _column(variable: Variable, place: int) -> dict[str, Any]:
    return _given(
        {
            "@id": f"#column-{place + 1}",
            "@type": "csvw:Column",
            "csvw:title": variable.name,
            "rdfs:label": variable.label,
            "dct:description": variable.sentence,
            "csvw:datatype": {"@id": f"xsd:{_data_type(variable)}"},
            "rdfs:seeAlso": {"@id": _values_id(place)} if variable.values else None,
        }
    )


def _listed_values(variable: Variable, place: int) -> dict[str, Any]:
    """The values that are listed, but for the missing one."""
    members = [
        _given(
            {
                "@type": "skos:Concept",
                "skos:notation": value.text,
                "skos:prefLabel": value.label or value.text,
                "skos:note": f"Code in the source: {value.code}" if value.code else "",
            }
        )
        for value in variable.values
        if value.value is not None
    ]
    return {
        "@id": _values_id(place),
        "@type": "skos:Collection",
        "skos:prefLabel": f"Values of {variable.name}",
        "skos:member": members,
    }


def _values_id(place: int) -> str:
    return f"#values-{place + 1}"


def _data_type(variable: Variable) -> str:
    if variable.kind == NUMBER:
        whole = variable.type.startswith(("int", "uint"))
        return "integer" if whole else "decimal" if "decimal" in variable.type else "double"
    times = {BOOLEAN: "boolean", DATE: "date", TIMESTAMP: "dateTime"}
    return times.get(variable.kind, "string")


def _typed(text: str, kind: str) -> dict[str, str]:
    return {"@value": text, "@type": f"xsd:{kind}"}


def _given(content: dict[str, Any]) -> dict[str, Any]:
    """Without what says nothing."""
    return {name: part for name, part in content.items() if part not in (None, "", [])}
