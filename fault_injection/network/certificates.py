"""Certificates of a local cluster: an authority of its own, and one identity per broker and user.

The key of the authority is kept with the cluster, so that `add_user` works later.
"""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fencepost.spec.wire.tls import (
    CA_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    KEY_STORE_FILE,
    ZOOKEEPER,
    broker_common_name,
)

AUTHORITY = "authority"
LOOPBACK = ("localhost", "127.0.0.1")
VALID = timedelta(days=365)
_SLACK = timedelta(minutes=5)
"""Clocks of machines differ."""


class CertificateAuthority:
    """Signs certificates; its own is `authority/ca.pem` below `folder`."""

    def __init__(self, folder: Path) -> None:
        """Make the authority in `folder`, unless it is there."""
        self.folder = folder
        own = folder / AUTHORITY
        if not (own / CA_FILE).exists():
            key = ec.generate_private_key(ec.SECP256R1())
            name = _name(f"authority of {folder.parent.name}")
            builder = _builder(name, name, key.public_key(), VALID)
            builder = builder.add_extension(
                x509.BasicConstraints(ca=True, path_length=0), critical=True
            )
            write_secret(own / KEY_FILE, _key_pem(key))
            write_secret(
                own / CA_FILE, builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
            )
        self._pem = (own / CA_FILE).read_bytes()
        self._certificate = x509.load_pem_x509_certificate(self._pem)
        self._key: Any = load_pem_private_key((own / KEY_FILE).read_bytes(), password=None)

    def add_broker(self, broker_id: int, hosts: Iterable[str] = LOOPBACK) -> Path:
        """The folder of a broker's identity, made unless it is there."""
        name = broker_common_name(broker_id)
        return self.add(name, hosts=(name, *hosts))

    def add_zookeeper(self) -> Path:
        """The folder of the identity of a ZooKeeper here, with a key store, made unless there."""
        folder = self.add(ZOOKEEPER, hosts=(ZOOKEEPER, *LOOPBACK))
        parts = [(folder / name).read_bytes() for name in (KEY_FILE, CERTIFICATE_FILE)]
        write_secret(folder / KEY_STORE_FILE, b"".join(parts))
        return folder

    def add_user(self, name: str) -> Path:
        """The folder of a user's identity, made unless it is there."""
        return self.add(name)

    def add(
        self, name: str, *, hosts: Iterable[str] = (), valid: timedelta = VALID, below: str = ""
    ) -> Path:
        """The folder of an identity, made unless it is there; without hosts it cannot serve."""
        folder = self.folder / below / name
        if (folder / CERTIFICATE_FILE).exists():
            return folder
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self._certificate.subject
        builder = _builder(_name(name), issuer, key.public_key(), valid)
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH]
        names = [_general_name(host) for host in hosts]
        if names:
            uses.append(ExtendedKeyUsageOID.SERVER_AUTH)
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        write_secret(folder / KEY_FILE, _key_pem(key))
        write_secret(folder / CA_FILE, self._pem)
        certificate = builder.sign(self._key, hashes.SHA256())
        write_secret(folder / CERTIFICATE_FILE, certificate.public_bytes(Encoding.PEM))
        return folder


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, valid: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + valid) - _SLACK)
        .not_valid_after(now + valid)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(content)
