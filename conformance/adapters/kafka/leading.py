"""What a broker's log tells of partitions that it leads: where an epoch begins, what is committed.

A partition is locked while its leader changes and while its high watermark rises, and both lines
are written under that lock: an advance belongs to the epoch of the last such line. Several requests
may raise it at once, and their lines may come in the other order; so an advance counts only when it
is the highest of its epoch so far, and says nothing of how the high watermark moves otherwise.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from fencepost.spec.znodes import TopicPartition

_ADVANCED = re.compile(
    r"Partition \[?(?P<topic>\S+)[-,](?P<partition>\d+)\]? (?:on broker |broker=)\d+\]?:? "
    r"High watermark (?:for partition \S+ )?updated (?:from \(.*?\) )?to \(?(?:offset=)?"
    r"(?P<high_watermark>\d+)"
)
_STARTS = re.compile(
    r"(?<= )(?<!Follower )(?P<topic>\S+)-(?P<partition>\d+) (?:with topic id \S+ )?"
    r"starts at [Ll]eader [Ee]poch (?P<leader_epoch>\d+) from offset (?P<log_end_offset>\d+)"
)
"""From 0.11 on; in later releases of each follower too."""
_LOG_ENDS = re.compile(
    r"Partition \[(?P<topic>\S+),(?P<partition>\d+)\] on broker \d+: (?:Skipping update .*"
    r"All leo's are|High watermark for partition \S+ updated to) (?P<ends>.*)"
)
"""Up to 0.10, whenever a leader looks at the log ends that count for its high watermark."""
_END = re.compile(r"(-?\d+) \[")
_NEW_PROCESS = "Controller starting up"
"""The first line of each process up to 0.10."""


def partition_in(told: re.Match[str]) -> TopicPartition:
    """The partition that a line is about."""
    return TopicPartition(told["topic"], int(told["partition"]))


@dataclass(slots=True)
class _Term:
    """One leader epoch of a partition on this broker."""

    leader_epoch: int
    is_new: bool
    """It did not lead before, and no line about its log end came yet."""
    log_end_offset: int | None = None
    """Where its log ended when the epoch began; None where no line tells."""
    committed: int = 0
    is_over: bool = False


@dataclass(slots=True)
class Leading:
    """The partitions that one broker leads, after the lines that were read so far."""

    _terms: dict[TopicPartition, _Term] = field(default_factory=dict)

    def begin(self, partition: TopicPartition, leader_epoch: int) -> None:
        """It is about to lead in this epoch; what it commits from now on counts for that."""
        last = self._terms.get(partition)
        self._terms[partition] = _Term(leader_epoch, is_new=last is None or last.is_over)

    def end(self, partition: TopicPartition) -> None:
        """It is about to follow; what it commits until then counts for the epoch before."""
        if partition in self._terms:
            self._terms[partition].is_over = True

    def log_end_offset(self, partition: TopicPartition, leader_epoch: int) -> int | None:
        """Where its log ended when this epoch began; None where no line tells."""
        term = self._terms.get(partition)
        is_current = term is not None and term.leader_epoch == leader_epoch
        return term.log_end_offset if term is not None and is_current else None

    def read(self, line: str) -> dict[str, Any] | None:
        """Partition, leader epoch and high watermark, if the line tells of an advance."""
        if _NEW_PROCESS in line:
            self._terms.clear()
        elif " starts at " in line:
            self._start(_STARTS.search(line))
        elif "igh watermark" in line:
            self._start_at_log_end(_LOG_ENDS.search(line))
            return self._advance(_ADVANCED.search(line))
        return None

    def _start(self, told: re.Match[str] | None) -> None:
        term = self._term(told)
        if told is not None and term is not None:
            is_current = term.leader_epoch == int(told["leader_epoch"])
            term.log_end_offset = int(told["log_end_offset"]) if is_current else None

    def _start_at_log_end(self, told: re.Match[str] | None) -> None:
        """A new leader knows no log end but its own: the others count as -1 until they fetch."""
        term = self._term(told)
        if told is None or term is None or not term.is_new:
            return
        term.is_new = False
        found = {int(end) for end in _END.findall(told["ends"])} - {-1}
        if len(found) == 1:
            (term.log_end_offset,) = found

    def _advance(self, told: re.Match[str] | None) -> dict[str, Any] | None:
        term = self._term(told)
        if told is None or term is None or int(told["high_watermark"]) <= term.committed:
            return None
        term.committed = int(told["high_watermark"])
        return {
            "topic": told["topic"],
            "partition": int(told["partition"]),
            "leader_epoch": term.leader_epoch,
            "high_watermark": term.committed,
        }

    def _term(self, told: re.Match[str] | None) -> _Term | None:
        return None if told is None else self._terms.get(partition_in(told))
