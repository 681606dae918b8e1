"""First messages of TLS that ask for old versions or weak ciphers, and how a listener answers.

They are OpenSSL's own in which the bytes that matter are replaced: what the OpenSSL of this machine
no longer speaks can be asked for as well. A listener decides by the first message alone.
"""

import socket
import ssl
from contextlib import suppress
from pathlib import Path

from fencepost.spec.wire.tls import client_context

OLD_VERSIONS = {"SSL 3.0": b"\x03\x00", "TLS 1.0": b"\x03\x01", "TLS 1.1": b"\x03\x02"}
TLS_12 = b"\x03\x03"
_GOOD = "ECDHE-ECDSA-AES128-GCM-SHA256"
GOOD_SUITE = b"\xc0\x2b"
"""The number of the same."""
WEAK_SUITES = {
    "NULL-WITH-NULL-NULL": b"\x00\x00",
    "RSA-EXPORT-RC4-40-MD5": b"\x00\x03",
    "RSA-RC4-128-MD5": b"\x00\x04",
    "RSA-RC4-128-SHA": b"\x00\x05",
    "RSA-EXPORT-RC2-40-MD5": b"\x00\x06",
    "RSA-EXPORT-DES-40-SHA": b"\x00\x08",
    "RSA-DES-SHA": b"\x00\x09",
    "RSA-3DES-SHA": b"\x00\x0a",
    "ADH-EXPORT-RC4-40-MD5": b"\x00\x17",
    "ADH-AES-128-SHA": b"\x00\x34",
    "RSA-NULL-SHA256": b"\x00\x3b",
    "ECDHE-ECDSA-NULL-SHA": b"\xc0\x06",
    "ECDHE-ECDSA-RC4-128-SHA": b"\xc0\x07",
    "ECDHE-ECDSA-3DES-SHA": b"\xc0\x08",
    "ECDHE-ECDSA-AES-128-CBC-SHA": b"\xc0\x09",
    "ECDHE-ECDSA-AES-256-CBC-SHA": b"\xc0\x0a",
    "ECDHE-ECDSA-AES-128-CBC-SHA256": b"\xc0\x23",
    "ECDHE-ECDSA-AES-256-CBC-SHA384": b"\xc0\x24",
    "AECDH-NULL-SHA": b"\xc0\x15",
    "AECDH-RC4-128-SHA": b"\xc0\x16",
    "AECDH-3DES-SHA": b"\xc0\x17",
    "AECDH-AES-128-SHA": b"\xc0\x18",
}
"""Without encryption or certificate, for export, RC4, (3)DES and CBC, by their numbers."""
ALERT, HANDSHAKE = 21, 22
SERVER_HELLO = "accepted"
NO_SUCH_VERSION, NO_COMMON_CIPHER, HANGS_UP = "alert 70", "alert 40", ""
ANSWER_S = 10.0
_VERSION_AT = 9
"""After the heads of the record and of the message."""


def hello(version: bytes = TLS_12, suite: bytes | None = None) -> bytes:
    """A first message that offers this version at most, and one cipher or all of OpenSSL's."""
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ours.check_hostname = False
    ours.maximum_version = ssl.TLSVersion.TLSv1_2
    ours.set_ciphers(_GOOD if suite else "ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    sent = ssl.MemoryBIO()
    connection = ours.wrap_bio(ssl.MemoryBIO(), sent)
    with suppress(ssl.SSLWantReadError):
        connection.do_handshake()
    message = bytearray(sent.read())
    assert message[_VERSION_AT : _VERSION_AT + 2] == TLS_12
    message[_VERSION_AT : _VERSION_AT + 2] = version
    if suite:
        at = message.index(b"\0\4" + GOOD_SUITE + b"\0\xff") + 2
        message[at : at + 2] = suite
    return bytes(message)


def answer_to(endpoint: tuple[str, int], message: bytes) -> str:
    """Whether the listener goes on with the handshake, or how it ends it."""
    with socket.create_connection(endpoint, ANSWER_S) as connection:
        connection.sendall(message)
        answer = bytearray()
        while len(answer) < 7 and (more := connection.recv(7 - len(answer))):
            answer += more
    if answer[:1] == bytes([HANDSHAKE]):
        return SERVER_HELLO
    return f"alert {answer[6]}" if len(answer) == 7 and answer[0] == ALERT else bytes(answer).hex()


def speaks(endpoint: tuple[str, int], identity: Path, version: ssl.TLSVersion) -> bool:
    """A handshake succeeds with a client of that identity that has this version alone."""
    context = client_context(identity)
    context.minimum_version = context.maximum_version = version
    plain = socket.create_connection(endpoint, ANSWER_S)
    with plain, context.wrap_socket(plain, server_hostname=endpoint[0]) as connection:
        return connection.version() == version.name.replace("_", ".")


def refusals(endpoint: tuple[str, int]) -> tuple[set[str], set[str]]:
    """How it answers old versions, and how weak ciphers; each first message differs in that alone.

    The same messages with nothing old or weak are accepted, or this raises `AssertionError`.
    """
    assert answer_to(endpoint, hello()) == SERVER_HELLO
    assert answer_to(endpoint, hello(suite=GOOD_SUITE)) == SERVER_HELLO
    old = {answer_to(endpoint, hello(version)) for version in OLD_VERSIONS.values()}
    return old, {answer_to(endpoint, hello(suite=suite)) for suite in WEAK_SUITES.values()}
