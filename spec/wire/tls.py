"""Files with which a broker or a client proves its identity, and the names in certificates.

A folder per identity holds `ca.pem`, `certificate.pem` and `key.pem`. The common name `broker-ID`
is that of a broker, any other that of a user (SEC-002).
"""

import re
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fencepost.spec.vocabulary import BrokerId

CA_FILE = "ca.pem"
CERTIFICATE_FILE = "certificate.pem"
KEY_FILE = "key.pem"
KEY_STORE_FILE = "key-and-certificate.pem"
"""The two in one, as ZooKeeper reads them."""
ZOOKEEPER = "zookeeper"
"""The common name in the certificate of ZooKeeper in a local cluster."""
ADMIN = "admin"
"""The user of the command line, and the super user of a local cluster."""
CREDENTIALS_FILE = "zookeeper-credentials"
"""Beside the identities of a cluster: what its brokers show to ZooKeeper."""
IDENTITY_VARIABLE = "FENCEPOST_TLS"
"""Of the environment: the folder of a client's identity, when its options name none."""
_BROKER = re.compile(r"broker-(0|[1-9]\d{0,9})")
_UNTRUSTED = {
    "Hostname Verification": "its certificate is that of another host or broker",
    "certificate has expired": "its certificate has expired",
    "CERTIFICATE_VERIFY_FAILED": f"its certificate was not signed by the CA of our {CA_FILE}",
    "WRONG_VERSION_NUMBER": "it speaks no TLS",
}
"""Words in the details of a failed connection, and what they mean."""
CLOSED_AT_ONCE = "Socket closed"
"""How gRPC tells that the peer refused the connection during the handshake."""


class TlsError(ValueError):
    """A file of an identity cannot be used; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsIdentity:
    """What one end of a connection shows, and by what it judges the other; PEM."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)


def broker_common_name(broker_id: int) -> str:
    """The common name in the certificate of a broker, and one of the hosts that it is for."""
    return f"broker-{broker_id}"


def broker_named(common_name: str) -> BrokerId | None:
    """The broker with that common name; None for a user."""
    match = _BROKER.fullmatch(common_name)
    return BrokerId(int(match[1])) if match else None


def read_identity(folder: Path) -> TlsIdentity:
    """The identity in `folder`; raises `TlsError` when it is not whole, not readable or expired."""
    parts = {name: _read(folder / name) for name in (CA_FILE, CERTIFICATE_FILE, KEY_FILE)}
    for name in (CA_FILE, CERTIFICATE_FILE):
        _require_valid(folder / name, parts[name])
    _require_pair(folder, parts[CERTIFICATE_FILE], parts[KEY_FILE])
    return TlsIdentity(ca=parts[CA_FILE], certificate=parts[CERTIFICATE_FILE], key=parts[KEY_FILE])


def read_broker_identity(folder: Path, broker_id: int) -> TlsIdentity:
    """As `read_identity`; raises `TlsError` also when the certificate is of another name."""
    from cryptography.x509 import load_pem_x509_certificate
    from cryptography.x509.oid import NameOID

    identity = read_identity(folder)
    subject = load_pem_x509_certificate(identity.certificate).subject
    names = [str(name.value) for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    wanted = broker_common_name(broker_id)
    if names != [wanted]:
        found = ", ".join(names) or "nothing"
        raise TlsError(f"{folder / CERTIFICATE_FILE} names {found} instead of {wanted}")
    return identity


def client_context(folder: Path) -> ssl.SSLContext:
    """What a socket of a client needs that shows the identity in `folder`; raises `OSError`."""
    context = ssl.create_default_context(cafile=str(folder / CA_FILE))
    context.load_cert_chain(str(folder / CERTIFICATE_FILE), str(folder / KEY_FILE))
    return context


def why_untrusted(details: str | None) -> str | None:
    """What is wrong with a peer, by the details of a failed connection; None: nothing is known."""
    return next((why for words, why in _UNTRUSTED.items() if words in (details or "")), None)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"cannot read {path}: {error.strerror}") from error


def _require_valid(path: Path, pem: bytes) -> None:
    # Loaded here: a broker or a client without TLS need not wait for it.
    from cryptography.x509 import load_pem_x509_certificate

    try:
        certificate = load_pem_x509_certificate(pem)
    except ValueError as error:
        raise TlsError(f"{path} is no certificate in PEM form") from error
    now, until = datetime.now(UTC), certificate.not_valid_after_utc
    if until < now:
        raise TlsError(f"the certificate {path} expired on {until:%Y-%m-%d}; make another one")
    if certificate.not_valid_before_utc > now:
        begin = certificate.not_valid_before_utc
        raise TlsError(f"the certificate {path} is not valid before {begin:%Y-%m-%d}")


def _require_pair(folder: Path, certificate: bytes, key: bytes) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        private = load_pem_private_key(key, password=None)
    except (TypeError, ValueError) as error:
        reason = "is no private key in PEM form without a password"
        raise TlsError(f"{folder / KEY_FILE} {reason}") from error
    if private.public_key() != load_pem_x509_certificate(certificate).public_key():
        raise TlsError(f"{folder / KEY_FILE} is not the key of {folder / CERTIFICATE_FILE}")
