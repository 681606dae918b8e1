"""Which releases of Apache Kafka can be put under test: `releases.toml`, and names of targets."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError

LIBRDKAFKA = "librdkafka"
FILE = Path(__file__).with_name("releases.toml")
_TARGET = re.compile(
    r"kafka:(?P<release>[^@+=]+)(?:@(?P<protocol>[^+=]+))?"
    r"(?:\+(?P<client>[^=]+))?(?:=(?P<folder>.+))?"
)
CLIENTS = (LIBRDKAFKA,)
"""What the clients of the workload may be, besides the harness's own."""


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """One table of `releases.toml`."""

    version: str
    coordinates: tuple[str, ...]
    """`GROUP:ARTIFACT:VERSION` of what Maven resolves."""
    protocol: str
    """What brokers speak among themselves by default."""
    java: int
    mode: Literal["zookeeper", "kraft"] = "zookeeper"
    """What elects controllers and holds the state."""
    replaced: dict[str, str] = msgspec.field(default_factory=dict)
    """`GROUP:ARTIFACT` -> the version that takes its place."""
    protocols: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """Another protocol that it can speak -> the properties that this needs besides."""

    @property
    def number(self) -> tuple[int, ...]:
        """To compare releases by."""
        return numbers(self.version)


class KafkaTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A release at a protocol, as `kafka:RELEASE[@PROTOCOL][+CLIENT][=FOLDER]` names it."""

    release: Release
    protocol: str
    client: str = ""
    """What the clients of the workload are; empty: the harness's own."""
    folder: str = ""
    """An unpacked distribution, in place of the jars that Maven finds; empty: those."""

    @property
    def name(self) -> str:
        """As reports name it."""
        at = "" if self.protocol == self.release.protocol else f"@{self.protocol}"
        client = f"+{self.client}" if self.client else ""
        return f"kafka:{self.release.version}{at}{client}"

    @property
    def chosen_as(self) -> str:
        """What names it again, with its folder."""
        return f"{self.name}={self.folder}" if self.folder else self.name

    @property
    def properties(self) -> Mapping[str, str]:
        """What brokers are told so that they speak the protocol."""
        if self.protocol == self.release.protocol:
            return {}
        more = self.release.protocols[self.protocol]
        return {"inter.broker.protocol.version": self.protocol, **more}


def numbers(version: str) -> tuple[int, ...]:
    """`3.9.1` as (3, 9, 1)."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


@cache
def releases() -> Mapping[str, Release]:
    """All releases by version, oldest first."""
    with FILE.open("rb") as file:
        document: dict[str, Any] = tomllib.load(file)
    tables = [document["defaults"] | table for table in document["release"]]
    found = msgspec.convert(tables, list[Release])
    return {one.version: one for one in sorted(found, key=lambda one: one.number)}


def find_target(text: str) -> KafkaTarget:
    """The target that `text` names; raises `ChoiceError` with what there is."""
    match = _TARGET.fullmatch(text)
    version = match["release"] if match else text.removeprefix("kafka:")
    release = releases().get(version)
    if match is None or release is None:
        near = difflib.get_close_matches(version, releases(), n=1)
        raise ChoiceError(
            f"{text} is no target; "
            + (f"did you mean kafka:{near[0]}? " if near else "")
            + f"the releases are {', '.join(releases())}"
        )
    protocol = match["protocol"] or release.protocol
    if protocol != release.protocol and protocol not in release.protocols:
        known = ", ".join((release.protocol, *release.protocols))
        raise ChoiceError(f"Kafka {version} is not run at protocol {protocol}; choose of {known}")
    client = match["client"] or ""
    if client and client not in CLIENTS:
        raise ChoiceError(f"{text}: {client} is no client; choose {' or '.join(CLIENTS)}")
    return KafkaTarget(
        release=release, protocol=protocol, client=client, folder=match["folder"] or ""
    )
