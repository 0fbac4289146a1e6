"""Counts lines where that tells something: while the package is imported, and in measured tests.

Enters: the coverage object of pytest-cov, if lines are counted at all. Leaves: a pytest plugin.
It must not know what is tested. A tracer slows down every line of Python, those of pytest, of
libraries and of tests as well, so it is at rest while tests are collected, between tests, and in
tests with the mark `uncounted`; fixtures count, whoever asks for them first.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import pytest

PACKAGE = "countveil"


class Tracing(MetaPathFinder):
    """Wakes the tracer for what counts, and lets it rest otherwise."""

    def __init__(self, coverage: Any) -> None:
        self._coverage, self._awake = coverage, True

    def rest(self) -> None:
        """Count nothing from here on."""
        if self._awake:
            self._awake = False
            self._coverage.stop()

    def wake(self) -> None:
        """Count everything from here on."""
        if not self._awake:
            self._awake = True
            self._coverage.start()

    @contextlib.contextmanager
    def counted(self, counts: bool = True) -> Iterator[None]:
        """What happens inside counts, or does not; then all is as before."""
        before = self._awake
        (self.wake if counts else self.rest)()
        try:
            yield
        finally:
            (self.wake if before else self.rest)()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Modules of the package count while they are executed, those of libraries never."""
        top = fullname.partition(".")[0]
        if top == "tests" or (top != PACKAGE and not self._awake):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                with self.counted(top == PACKAGE):
                    execute(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self) -> Iterator[None]:
        with self.counted():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        if pyfuncitem.get_closest_marker("uncounted") is not None:
            return (yield)
        with self.counted():
            return (yield)


def start_tracing(config: pytest.Config) -> None:
    """Let the tracer of pytest-cov rest from now on, if there is one."""
    controller = getattr(config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if controller is None:
        return
    tracing = Tracing(controller.cov)
    tracing.rest()
    sys.meta_path.insert(0, tracing)
    config.pluginmanager.register(tracing)
