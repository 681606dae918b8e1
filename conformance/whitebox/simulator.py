"""What a module must offer to be reached as a simulator by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from fencepost.spec.pacing import MoveList
from fencepost.spec.trace import TraceEvent


class Simulator(Protocol):
    """What a target module offers."""

    def simulate(self, seed: int, *, level: int, mutant: str | None) -> list[TraceEvent]:
        """The trace that belongs to `seed`; the same seed gives the same trace."""

    def simulate_upgrade(
        self, seed: int, *, level: int, upgrade_from: int, mutant: str | None
    ) -> list[TraceEvent]:
        """As `simulate`; brokers that speak `upgrade_from` are upgraded while it goes on."""

    def simulate_modelled(self, seed: int, *, level: int, mutant: str | None) -> list[TraceEvent]:
        """The same without what the specs do not have, for a replay by TLC."""

    def mutants(self) -> list[dict[str, Any]]:
        """What can be made wrong: `mutant`, `rule`, `requirement`, `caught_by`.

        `family`, if it is there, is the part of the protocol that is wrong. `seed`, if it is there,
        is tried before the others. `shows`, if it is there and not empty, is a property of the
        specs that `replay` violates. `upgrade_from`, if it is there and not None, is the level at
        which its runs begin. `hunted_at`, if it is there and not None, is the level of its `seed`.
        """

    def suite_mutants(self) -> list[dict[str, Any]]:
        """What else can be made wrong: cases of the suite show it, and no run is hunted for it."""

    def replay(
        self, steps: str, judge: Callable[[Sequence[TraceEvent]], Sequence[str]]
    ) -> dict[str, Any]:
        """What comes of a schedule of steps: a file, or that of a mutant; `impl.sim.adapter`."""

    def replayed(self) -> list[str]:
        """The names that `replay` takes without a file's path."""

    def schedules(self) -> list[dict[str, str]]:
        """The counterexamples that are led when all are: `schedule`, `row` and `violates`."""

    def why_not_stepped(self, row: str) -> str:
        """Why nothing can be led along the counterexample of a row; empty when it can."""

    def moves(self, steps: str, *, is_repaired: bool) -> MoveList:
        """What leads paced processes along a schedule; `fencepost.impl.sim.adapter`."""

    def moves_of_number(
        self,
        number: int,
        *,
        level: int,
        mutant: str | None,
        is_enough: Callable[[Sequence[TraceEvent]], bool],
    ) -> tuple[MoveList, list[TraceEvent]]:
        """What leads paced processes along a dense random run, and its trace.

        The run ends as soon as it is enough; `fencepost.impl.sim.adapter`.
        """

    def variations(
        self, texts: Mapping[str, str], number: int, *, mutant: str | None, skips_own: bool
    ) -> Iterator[tuple[str, Callable[[], MoveList], list[TraceEvent]]]:
        """What is like these stories, and what leads paced processes along it."""

    def play_story(
        self, document: dict[str, Any], *, level: int, mutant: str | None = None, host: str
    ) -> list[TraceEvent]:
        """The trace of a story file as plain values; `fencepost.impl.sim.adapter`."""

    def play(
        self, text: str, judge: Callable[[Sequence[TraceEvent]], Sequence[str]]
    ) -> dict[str, Any]:
        """What the steps of a story print; `judge` is its step `check`; `impl.sim.adapter`."""
