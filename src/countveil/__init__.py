"""countveil: microdata with right large counts, uncertain single people and small combinations.

The names, in the order of the flow:

- `generate`       make a census-like table to try things on
- `inspect`        look at a table: identifiers, giveaways, the largest eligible ell
- `advise`         which ell: accuracy and protection, tried out on the table itself
- `guarantee`      what an ell promises about large and small counts
- `publish`        turn a table into a release (the publisher's side)
- `Ledger`         what was published about whom, so that it can be published again
- `verify`         is a release still what was published?
- `open`           open a release (the analyst's side), giving a
- `Release`        which answers questions: `.sql(...)`, `.count(...)`; each answer is an
- `Estimate`       with its standard error, interval and verdict
- `ReleaseSeries`  is several releases of one ledger, opened together: `.sql(...)`, `.changes(...)`
- `export`         load a release into a database, where it can be opened too
- `audit`          attack a planned or finished release: claims beside measurements
- `compare`        other ways to publish, tried out on the same table
- `CountveilError` is the base of everything that countveil refuses

Each name lives in its room, and is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from countveil.errors import CountveilError

if TYPE_CHECKING:
    from countveil.asking.export import export
    from countveil.asking.opening import open  # noqa: A004 - cv.open reads as it should
    from countveil.asking.release import Release
    from countveil.asking.series import ReleaseSeries
    from countveil.auditing.audit import audit
    from countveil.comparing.compare import compare
    from countveil.maths.estimate import Estimate
    from countveil.maths.guarantees.guarantee import guarantee
    from countveil.publishing.advise.advise import advise
    from countveil.publishing.advise.inspecting.inspect import inspect
    from countveil.publishing.ledger.ledger import Ledger
    from countveil.publishing.publish import publish
    from countveil.release.verify import verify
    from countveil.synthetic import generate

__version__ = "0.1.0"
__all__ = [
    "CountveilError",
    "Estimate",
    "Ledger",
    "Release",
    "ReleaseSeries",
    "__version__",
    "advise",
    "audit",
    "compare",
    "export",
    "generate",
    "guarantee",
    "inspect",
    "open",
    "publish",
    "verify",
]
# Where each name lives.
_MODULES = {
    "Estimate": "countveil.maths.estimate",
    "Ledger": "countveil.publishing.ledger.ledger",
    "Release": "countveil.asking.release",
    "ReleaseSeries": "countveil.asking.series",
    "advise": "countveil.publishing.advise.advise",
    "audit": "countveil.auditing.audit",
    "compare": "countveil.comparing.compare",
    "export": "countveil.asking.export",
    "generate": "countveil.synthetic",
    "guarantee": "countveil.maths.guarantees.guarantee",
    "inspect": "countveil.publishing.advise.inspecting.inspect",
    "open": "countveil.asking.opening",
    "publish": "countveil.publishing.publish",
    "verify": "countveil.release.verify",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'countveil' has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
