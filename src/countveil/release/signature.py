"""Ed25519 signatures: who published a release.

Enters: key files, the bytes of a manifest. Leaves: `manifest.sig`, or whether it is genuine. Must
not know: the content of the manifest. It holds the checksum of every data file, so its signature
covers them all.

`manifest.sig` is the plain 64-byte signature of the file `manifest.json`: other tools can check it
(`openssl pkeyutl -verify -rawin`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from countveil.errors import InputError, ReleaseError, SettingsError
from countveil.release.manifest import SIGNATURE_NAME
from countveil.system.regular import read_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SIGNATURE_BYTES = 64
_LIMIT = 64 * 1024


class Signer:
    """Signs manifests with a private key from a file, PEM or OpenSSH."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def from_file(cls, path: Path) -> Signer:
        """Read the key before any other work, so that a wrong key fails at once."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        content = _content(path)
        openssh = b"OPENSSH PRIVATE KEY" in content
        load = serialization.load_ssh_private_key if openssh else serialization.load_pem_private_key
        try:
            key = load(content, None)
        except TypeError:
            raise SettingsError(
                f"{path} is locked with a passphrase. Sign with a key file that is not."
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            # Not chained: nothing of a key may reach a message.
            raise SettingsError(f"{path} is not a private key. {_HOW_TO_MAKE}") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise SettingsError(f"{path} is not an Ed25519 key. {_HOW_TO_MAKE}")
        return cls(key)

    def sign(self, manifest: bytes) -> bytes:
        """The signature of a manifest's bytes."""
        return self._key.sign(manifest)


_HOW_TO_MAKE = (
    "Make one with: openssl genpkey -algorithm ed25519 -out key.pem; the public one for others "
    "with: openssl pkey -in key.pem -pubout -out public.pem"
)


def signature_problem(manifest: bytes, signature: bytes | None, public_key: Path) -> str | None:
    """What is wrong with the signature of a manifest's bytes; None if it is genuine."""
    from cryptography.exceptions import InvalidSignature

    key = _public_key(public_key)
    if signature is None:
        return "missing: the release is not signed"
    try:
        key.verify(signature, manifest)
    except InvalidSignature:
        return "not the signature of this manifest by this key"
    return None


def check_signature(manifest: bytes, signature: bytes | None, public_key: Path) -> None:
    """Refuse a release that the owner of this key did not sign."""
    problem = signature_problem(manifest, signature, public_key)
    if problem is not None:
        raise ReleaseError(
            f"The release is not signed by {public_key}: {SIGNATURE_NAME} is {problem}. Get the "
            f"release again from its publisher."
        )


def _public_key(path: Path) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    content = _content(path)
    if b"PRIVATE KEY" in content:
        raise SettingsError(f"{path} is a private key. Keep it secret; check with the public one.")
    openssh = content.lstrip().startswith(b"ssh-")
    load = serialization.load_ssh_public_key if openssh else serialization.load_pem_public_key
    try:
        key = load(content)
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError(f"{path} is not a public key, in PEM or OpenSSH form.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise SettingsError(f"{path} is not an Ed25519 public key.")
    return key


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, _LIMIT)
    except OSError as error:
        raise InputError(f"The key {path} cannot be read: {error.strerror}.") from error
