"""The implementation that comes with Fencepost, known by its command line and by names only."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.conformance.adapters.choices import ADAPTER, ATTACHED, IN_PROCESS, KAFKA
from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.kafka.packages import require_packages
from fencepost.spec.trace import TraceEvent


@dataclass(frozen=True, kw_only=True)
class Reference(CommandLine):
    """The reference, or one of its mutants: the same with one rule broken on purpose."""

    name: str = "reference"
    capabilities: frozenset[Capability] = frozenset(Capability) - {Capability.UPDATE_METADATA}
    command: str = f"{shlex.quote(sys.executable)} -m fencepost.impl node"

    @property
    def target(self) -> str:
        """Nothing: it is what runs when no command is given."""
        return ""

    @property
    def told(self) -> Mapping[str, object]:
        """What the trace's `RunStarted` says of it."""
        return {**super().told, "mutant": self.broken_rule or None}

    @property
    def again(self) -> str:
        """Options of `fencepost chaos` that choose it."""
        return f" --mutant {self.broken_rule}" if self.broken_rule else ""

    @property
    def own_flags(self) -> tuple[str, ...]:
        """The rule to break."""
        return ("--mutant", self.broken_rule) if self.broken_rule else ()

    def contradictions(self, events: Sequence[TraceEvent], /) -> list[str]:
        """Brokers that broke another rule than they were asked to, or none."""
        awake = {event.detail or "" for event in events if event.action == "MutantAwake"}
        wanted = {self.broken_rule} - {""}
        unwanted = [f"a broker runs mutant {n}, which was not asked for" for n in awake - wanted]
        missing = [f"no broker told that it runs mutant {name}" for name in wanted - awake]
        return [*sorted(unwanted), *missing]


REFERENCE = Reference()


def implementation_of(target: object) -> Implementation:
    """The implementation that `target` names; without one, the reference.

    `kafka:RELEASE[@PROTOCOL][+CLIENT][=FOLDER]` is Apache Kafka, `cmd:PROGRAM ARGUMENTS` an adapter
    that speaks JSON lines, `tcp:HOST:PORT` one that listens, `py:PACKAGE.MODULE:NAME` an
    `Implementation` in Python; all else is the command that starts a broker, of which nothing is
    known beyond its flags. Raises `ChoiceError`, and `AdapterError` for an adapter that cannot be
    greeted.
    """
    if not target:
        return REFERENCE
    if str(target).startswith((ADAPTER, ATTACHED)):
        from fencepost.conformance.adapters.remote.remote import greet

        return greet(str(target))
    if str(target).startswith(KAFKA):
        require_packages(str(target))
        from fencepost.conformance.adapters.kafka.modes import kafka_of

        return kafka_of(str(target))
    if str(target).startswith(IN_PROCESS):
        from fencepost.conformance.adapters.remote.in_process import load

        return load(str(target).removeprefix(IN_PROCESS))
    return CommandLine(command=str(target))
