"""Idempotent producers with several batches in flight: senders that share one window.

Each sender has one batch that is not answered. What `ProducerWindow` says of numbers, tries and
giving up holds for simulated producers as well.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.conformance.clients.client import RoutedClient
from fencepost.fault_injection.workload.operations import Answer, Operation, Produce
from fencepost.fault_injection.workload.producer_window import UNJUSTIFIED, ProducerWindow
from fencepost.spec.vocabulary import Outcome

RETRIES = 40
"""How often a batch is sent again that was refused for another reason than its number."""
AGAIN_S = 0.1
"""Between two tries, and between two looks whether there is room for one batch more."""


@dataclass(slots=True, kw_only=True)
class NumberedProducer:
    """One producer; its senders may be in several threads."""

    window: ProducerWindow
    over: threading.Event
    """Set when no more batches are to be begun."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def perform(self, client: RoutedClient, operation: Operation) -> Answer:
        """Number the batch, once there is room for it, and send it until it is in or given up."""
        assert isinstance(operation, Produce)
        batch = self._number(operation)
        if batch is None:
            return Answer(outcome=Outcome.DEFINITE_ERROR)
        answer = client.perform(batch, again=self._tries(batch))
        with self.lock:
            if answer.is_ok:
                self.window.acknowledged(batch)
            else:
                self.window.give_up(batch)
        return answer

    def _number(self, operation: Produce) -> Produce | None:
        """None when the time is over before there is room."""
        while True:
            with self.lock:
                if not self.window.is_full(operation.partition):
                    return self.window.number(operation)
            if self.over.wait(AGAIN_S):
                return None

    def _tries(self, batch: Produce) -> Callable[[Answer], bool]:
        """Whether the batch is sent once more, after a pause, given the answer to the last try.

        One that overtook another comes again however often, others `RETRIES` times.
        """
        left, pause = RETRIES, threading.Event()
        with self.lock:
            was_due = self.window.is_first(batch)

        def again(answer: Answer) -> bool:
            nonlocal left, was_due
            is_early = answer.error_code in UNJUSTIFIED
            left -= not is_early
            with self.lock:
                is_current = self.window.is_current(batch)
            if answer.is_ok or not is_current or left < 0 or (is_early and was_due):
                return False
            pause.wait(AGAIN_S)
            with self.lock:
                was_due = self.window.is_first(batch)
            return True

        return again
