"""The servers of one ZooKeeper by number, as processes or in containers."""

from abc import ABC, abstractmethod

from fencepost.fault_injection.zookeeper.configuration import SYNC_TICKS
from fencepost.fault_injection.zookeeper.status import (
    MemberState,
    Mode,
    ServerStatus,
    server_status,
)


class ZooKeeperMembers(ABC):
    """Servers numbered from 1, each of which faults can hurt alone."""

    def __init__(self, size: int, tick_ms: int) -> None:
        self.size = size
        self.tick_ms = tick_ms
        self._cut_off: set[int] = set()

    @abstractmethod
    def endpoint_of(self, number: int) -> tuple[str, int]:
        """The host and port at which clients reach the server."""

    @abstractmethod
    def process_state(self, number: int) -> MemberState:
        """Whether the process of a server runs, stands still or has ended."""

    @abstractmethod
    def pause(self, number: int) -> None:
        """Pause a server."""

    @abstractmethod
    def resume(self, number: int) -> None:
        """Resume a server."""

    @abstractmethod
    def kill(self, number: int) -> None:
        """Kill a server."""

    @abstractmethod
    def stop(self, number: int) -> None:
        """Ask a server to end, and wait for that."""

    def prepare(self, number: int) -> None:
        """Load a server's next process, if it can wait until `restart`; here it cannot."""
        del number

    def is_ready(self, number: int) -> bool:
        """False while a process that was prepared is still loading what it needs."""
        del number
        return True

    @abstractmethod
    def restart(self, number: int) -> None:
        """Start a server that has ended again on its data."""

    @abstractmethod
    def cut_off(self, number: int) -> None:
        """Cut off a server, which runs on; raises `ZooKeeperError` where that cannot be."""

    @abstractmethod
    def join(self, number: int) -> None:
        """Connect a server that was cut off again."""

    @property
    def silence_ms(self) -> int:
        """How long a leader may stand still before the other servers elect a new one."""
        return SYNC_TICKS * self.tick_ms

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all servers."""
        return tuple(range(1, self.size + 1))

    def state(self, number: int) -> MemberState:
        """Whether a server runs, stands still, has ended or is cut off."""
        return MemberState.CUT_OFF if number in self._cut_off else self.process_state(number)

    def leader(self) -> int | None:
        """The number of the server that leads; None while there is none.

        One that was paused reports for a moment that it still leads: then the newest counts.
        """
        leaders = {n: one for n, one in self.status().items() if one.mode is Mode.LEADER}
        return max(leaders, key=lambda number: leaders[number].zxid, default=None)

    def status(self) -> dict[int, ServerStatus]:
        """The status of each server that serves; only those that run are asked."""
        asked = [number for number in self.numbers() if self.state(number) is MemberState.RUNNING]
        answers = {number: server_status(self.endpoint_of(number)) for number in asked}
        return {number: answer for number, answer in answers.items() if answer is not None}
