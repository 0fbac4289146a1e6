"""A Chromium for the tests of the web app: the one that is there, or Debian's.

Nothing enters but this machine; the path of a browser leaves, or an error that says what would
help. COUNTVEIL_BROWSER names one that is not on PATH. Must not know what the tests do with it.

`python -m tools.browser` (`make test-browser` runs it first) installs one where it may: as root,
where there is apt-get. Playwright's own browsers are not used: they come from a host of their own,
hundreds of megabytes each, and need the same libraries of the system besides.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools.building import ToolError, run

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Other installations on this machine may be under way.
APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq")
HELP = (
    "The browser tests need Chromium, and there is none on PATH. Install it (`apt-get install "
    "chromium`), or set COUNTVEIL_BROWSER to the path of a Chromium or Chrome."
)


def main() -> int:
    """Find a browser, installing one if need be, and print its path."""
    try:
        print(f"Browser: {found() or installed()}")
    except ToolError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def found() -> Path | None:
    """The browser that is named, or the first that is there."""
    if named := os.environ.get("COUNTVEIL_BROWSER"):
        if path := shutil.which(named):
            return Path(path)
        raise ToolError(f"COUNTVEIL_BROWSER is {named}, which is no program.")
    return next((Path(path) for path in map(shutil.which, NAMES) if path), None)


def installed() -> Path:
    """Debian's Chromium, where packages may be installed."""
    may = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get") is not None
    if not may:
        raise ToolError(HELP)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run([*APT, "update"], env=env)
    run([*APT, "install", "-y", "--no-install-recommends", "chromium"], env=env)
    if path := found():
        return path
    raise ToolError(f"apt-get has installed chromium. {HELP}")


if __name__ == "__main__":
    sys.exit(main())
