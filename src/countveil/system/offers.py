"""What the operating system offers, found out once; every difference between systems is here.

Enters: nothing. Leaves: modules that may be None, flags that may be 0, and switches. Must not know:
what they are used for. Whoever reads them does so as `offers.NAME`, at the time of use: tests set
them to what another system has.
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:
    FCNTL: Any = None
else:
    FCNTL = fcntl
try:
    import msvcrt
except ImportError:
    MSVCRT: Any = None
else:
    MSVCRT = msvcrt
try:
    import resource
except ImportError:
    RESOURCE: Any = None
else:
    RESOURCE = resource

_WINDOWS = os.name == "nt"

# Whether a folder can be opened, and so be locked and synced to disk itself.
FOLDERS_OPEN = not _WINDOWS
# Whether what is open somewhere can be neither renamed nor deleted.
OPEN_FILES_STAY = _WINDOWS
# Whether a file says what its owner, a group and all others may do. Elsewhere a new file gets the
# rights of its folder, also one that asks for its owner alone.
PERMISSIONS = not _WINDOWS
# Whether some names are those of devices, in every folder.
DEVICE_NAMES = _WINDOWS

# Whether a process can send itself a signal and go on; elsewhere that ends it.
SENDS_SIGNALS = not _WINDOWS

# Flags of `os.open`; 0 changes nothing.
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)
BINARY: int = getattr(os, "O_BINARY", 0)

# Reading and writing at a place of a file, whatever other threads do; None where that is missing.
READ_AT: Any = getattr(os, "pread", None)
WRITE_AT: Any = getattr(os, "pwrite", None)
# The number of who runs the process, as files have it; None where they have none.
OWN_NUMBER: Any = getattr(os, "geteuid", None)

# What asks a process to stop: Ctrl-C, a request to terminate, and Ctrl-Break.
STOP_SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)

# Numbers of errors: the disk is full, there is no permission, there is no such operation.
DISK_FULL, NO_PERMISSION, NOT_OFFERED = (
    frozenset(getattr(errno, name) for name in names if hasattr(errno, name))
    for names in (
        ("ENOSPC", "EDQUOT", "EFBIG"),
        ("EACCES", "EPERM", "EROFS"),
        ("ENOSYS", "EINVAL", "ENOTSUP", "EOPNOTSUPP"),
    )
)

# Where Linux says how much memory is free: of the machine, and of the container.
MEMORY_FILE = Path("/proc/meminfo")
# The pages of memory that this process has.
OWN_MEMORY_FILE = Path("/proc/self/statm")
CONTAINER_FOLDER = Path("/sys/fs/cgroup")
