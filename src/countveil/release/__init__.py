"""The published format: data files, a page for people and, written last, a manifest.

Enters: what is to be published. Leaves: a folder that is complete or does not exist; and, for a
reader, its checked manifest. Must not know: the publisher's table, groups, keys, or any estimator.
Start at `manifest` (what a release says about itself) and `draft` (how it is written).
"""

from countveil.release.manifest import (
    DATA_FOLDER,
    MANIFEST_NAME,
    METADATA_NAMES,
    MOST_ABOUT,
    REPORT_NAME,
    About,
    CaseFigures,
    ClassEdges,
    DataFile,
    Manifest,
    OddsBound,
    PublishedColumn,
    ReportFile,
    SensitiveColumn,
)
from countveil.release.opening import ANY, Expected, read_manifest
from countveil.release.preparation import Preparation
from countveil.release.signature import Signer
from countveil.release.values import decode_value, encode_value, kind_of

__all__ = [
    "ANY",
    "DATA_FOLDER",
    "MANIFEST_NAME",
    "METADATA_NAMES",
    "MOST_ABOUT",
    "REPORT_NAME",
    "About",
    "CaseFigures",
    "ClassEdges",
    "DataFile",
    "Expected",
    "Manifest",
    "OddsBound",
    "Preparation",
    "PublishedColumn",
    "ReportFile",
    "SensitiveColumn",
    "Signer",
    "decode_value",
    "encode_value",
    "kind_of",
    "read_manifest",
]
