"""The interface of all injectors, on real processes and in the simulated world.

An engine calls `inject`, then asks for `evidence` until there is some, then calls `heal` and asks
`healed` until that is proved. No method waits: what has several steps takes one at each look.
"""

from typing import Protocol, TypeVar

Evidence = TypeVar("Evidence")
"""A sentence on processes, the fields of a trace line in the simulator."""
Evidence_co = TypeVar("Evidence_co", covariant=True)


class InjectionError(Exception):
    """A fault could not be done, seen or undone; says at which broker and why."""


class Injector(Protocol[Evidence_co]):
    """One fault on its way from injection to healing; evidence is a text, or fields of a line."""

    def inject(self) -> None:
        """Do the fault; raises `InjectionError`."""

    def evidence(self) -> Evidence_co | None:
        """What proves that it took effect; None: nothing yet."""

    def heal(self) -> None:
        """Undo the fault; may be called again."""

    def healed(self) -> Evidence_co | None:
        """What proves that the target is well again; None: not yet."""
