"""The key of a ledger, in a file of its own.

Enters: persons, values, what cases published. Leaves: marks, which tell nothing without the key,
and sealed content. Must not know: SQL, tables.

A case is known by its mark, HMAC-SHA256 of the person and the values under the key, cut to 128
bits. What it published is hidden by a pad, AES of the mark: a mark is written once and never again
with another value, so no pad serves twice. All other content is sealed by AES-GCM, with a nonce
that is a keyed hash of the content.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from countveil.errors import LedgerError
from countveil.randomness import fresh_key
from countveil.system.regular import read_regular
from countveil.tables.recode import value_text

Words = NDArray[np.uint64]

_MARK_BYTES, _NONCE_BYTES = 16, 12
_MOST_BYTES = 1_000
_HEAD = "countveil ledger key, version 1: keep it secret, and apart from the ledger"
_FILE = re.compile(rf"{re.escape(_HEAD)}\nledger ([0-9a-f]{{32}})\nkey ([0-9a-f]{{64}})\n")


class LedgerKey:
    """The key of the ledger with the name `ledger`. It is never printed or pickled."""

    __slots__ = ("_marks", "_nonces", "_pads", "_seals", "check", "ledger")

    def __init__(self, ledger: str, secret: bytes) -> None:
        def derived(purpose: str) -> bytes:
            return hmac.digest(secret, f"countveil ledger {ledger} {purpose}".encode(), "sha256")

        self.ledger = ledger
        self._marks, self._nonces = derived("marks"), derived("nonces")
        self._pads, self._seals = derived("pads"), AESGCM(derived("seals"))
        # Tells nothing about the key, and belongs to it alone.
        self.check = derived("check")

    @classmethod
    def new(cls, ledger: str) -> tuple[LedgerKey, str]:
        """A key, and what a file with it holds."""
        secret = fresh_key()
        return cls(ledger, secret), f"{_HEAD}\nledger {ledger}\nkey {secret.hex()}\n"

    @classmethod
    def read(cls, path: Path) -> LedgerKey:
        """The key in a file."""
        try:
            content = read_regular(path, _MOST_BYTES).decode("ascii", "replace")
        except FileNotFoundError as error:
            raise LedgerError(
                f"There is no key at {path}. A ledger is of no use without its key: put it back, "
                f"or name the file that has it."
            ) from error
        except OSError as error:
            raise LedgerError(f"The key {path} cannot be read: {error.strerror}.") from error
        match = _FILE.fullmatch(content)
        if match is None:
            raise LedgerError(f"{path} is not the key of a ledger, or is damaged.")
        return cls(match[1], bytes.fromhex(match[2]))

    def marks(self, columns: str, parts: Sequence[Sequence[bytes]]) -> Words:
        """The marks of cases, two words each; `parts` has for each column that of every case."""
        head = _part(columns)
        digests = (
            hmac.digest(self._marks, head + b"".join(case), "sha256")[:_MARK_BYTES]
            for case in zip(*parts, strict=True)
        )
        return as_marks(b"".join(digests))

    def pads(self, marks: Words) -> Words:
        """A word for each mark, which hides what is written beside it."""
        # Each block is a mark, and marks are different: this is a keyed function, not a mode.
        blocks = Cipher(algorithms.AES(self._pads), modes.ECB()).encryptor()  # noqa: S305
        return as_marks(blocks.update(marks.astype("<u8").tobytes()))[:, 0].copy()

    def digest(self, content: bytes) -> str:
        """A keyed hash: it shows whether content was changed."""
        return hmac.digest(self._nonces, b"digest" + content, "sha256").hex()

    def seal(self, content: bytes, what: str) -> bytes:
        """Encrypt; `what` says where it belongs, so that it is of no use elsewhere."""
        nonce = hmac.digest(self._nonces, _part(what) + content, "sha256")[:_NONCE_BYTES]
        return nonce + self._seals.encrypt(nonce, content, what.encode())

    def unseal(self, sealed: bytes, what: str) -> bytes:
        """What was sealed."""
        try:
            nonce, content = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return self._seals.decrypt(nonce, content, what.encode())
        except (InvalidTag, ValueError, TypeError) as error:
            raise LedgerError(
                "The ledger is damaged: something in it was changed. Restore its newest copy."
            ) from error

    def __repr__(self) -> str:
        return "LedgerKey(key withheld)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a LedgerKey is secret and is not pickled")


def default_key(ledger: Path) -> Path:
    """Where the key of a ledger is, unless another place is named."""
    return ledger.with_name(ledger.name + ".key")


def as_marks(content: bytes) -> Words:
    """Marks from their bytes, one after the other."""
    return np.frombuffer(content, "<u8").astype(np.uint64).reshape(-1, 2)


def identity(value: Any) -> bytes:
    """A value as a part of a case: the same whether a file holds it as a number or as text."""
    if value is None:
        return _part("missing")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return b"=" + _part(value_text(value))


def _part(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return len(content).to_bytes(4, "big") + content
