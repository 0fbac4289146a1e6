"""Builds the site: `make site`.

Enters: the repository. Leaves: build/site, and exit code 1 if anything is wrong, such as a link
that leads nowhere. The folder is made anew, so no page stays in it that is gone.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).parents[2]
# Every warning is an error, all of them are shown, and references to nothing are warnings.
STRICT = ["-W", "--keep-going", "-n", "-q"]


def build(to: Path) -> int:
    """Build the site in this folder; 0 if all is well."""
    shutil.rmtree(to, ignore_errors=True)
    with tempfile.TemporaryDirectory() as kept:
        words = ["-b", "html", *STRICT, "-c", str(ROOT / "docs/site"), "-d", kept]
        return build_main([*words, str(ROOT), str(to)])


if __name__ == "__main__":
    sys.exit(build(ROOT / "build/site"))
