"""Keeps which lines of a module are statements, so that a module is read once and not in every run.

Enters: what coverage.py reads from a module. Leaves: the same, from pytest's cache when neither the
module, nor what is left out of it, nor the reader has changed. It must not know which lines were
reached. To read all modules takes longer than any test, and at the end, when nothing else is done.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import coverage
import pytest
from coverage.parser import PythonParser

PLACE = "countveil/statements"
_READER = f"{coverage.__version__} {sys.version}"


class Kept:
    """Reads modules for the figure of pytest-cov, where it is added up."""

    def __init__(self, cache: pytest.Cache) -> None:
        self._cache = cache
        self._before: dict[str, Any] = cache.get(PLACE, {})
        self._now: dict[str, Any] = {}

    def read(self, parser: PythonParser) -> None:
        """Set what `PythonParser.parse_source` sets, as far as lines are concerned."""
        said = "\0".join((_READER, str(parser.exclude), parser.text))
        key = hashlib.sha256(said.encode()).hexdigest()
        known = self._before.get(key)
        if known is None:
            _parse_source(parser)
            lines = [sorted(parser.statements), sorted(parser.excluded)]
            known = [*lines, list(parser.multiline_map.items())]
        self._now[key] = known
        parser.statements, parser.excluded = set(known[0]), set(known[1])
        parser.multiline_map = dict(known[2])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Any:
        """pytest-cov adds up at the end of this."""

        def parse_source(parser: PythonParser) -> None:
            self.read(parser)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PythonParser, "parse_source", parse_source)
            result = yield
        if self._now:
            self._cache.set(PLACE, self._now)
        return result


_parse_source = PythonParser.parse_source
