"""The table of the study.

Enters: files of the Census Bureau, or nothing. Leaves: a `StudyTable` of codes. Must not know: what
is measured.
"""

from study.data.choose import load
from study.data.table import PLAIN, StudyTable

__all__ = ["PLAIN", "StudyTable", "load"]
