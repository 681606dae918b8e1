"""All brokers restarted one after the other."""

import time

from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.injectors.injection import ProcessInjector, TargetProcess
from fencepost.fault_injection.injectors.injector import InjectionError


class RollingRestartInjector(ProcessInjector[RollBrokers]):
    """`proc.rolling`: each look at it takes the step that is due, so that nothing here waits."""

    _left: list[int]
    _done: list[str]
    """What each broker did that has been restarted, in order."""
    _down: tuple[int, TargetProcess] | None = None
    """The broker that ends, or has ended and is to start again."""
    _since: float | None = None
    """When it was seen to have ended."""
    _starting: int | None = None
    """The broker that has started, and is waited for."""
    _is_as_asked: bool = True
    """False when a broker that was told to end did not do so in good order."""

    def inject(self) -> None:
        """The first broker ends."""
        live = self.target.state.live_brokers()
        if why := self.fault.refusal({one: self.target.version_of(one) for one in live}):
            raise InjectionError(why)
        if not live:
            raise InjectionError("no broker is registered")
        self._left, self._done = live, []
        self._end_next()

    def evidence(self) -> str | None:
        """Every broker has ended as it should, and is there again."""
        if self._down is not None:
            self._start_again(*self._down)
        elif self._starting is not None and self._is_ready(self._starting):
            self._starting = None
            self._end_next()
        if self._down is not None or self._starting is not None or self._left:
            return None
        return ", ".join(self._done) if self._done and self._is_as_asked else None

    def heal(self) -> None:
        """End no further broker, and start the one that is down."""
        self._left = []
        if self._down is not None:
            broker_id, process = self._down
            process.kill()
            self._down, self._starting = None, broker_id
            self.target.restart(broker_id)

    def healed(self) -> str | None:
        """The last one is registered; so is every other."""
        target = self.target
        if self._starting is not None and target.registration(self._starting) is None:
            return None
        return f"brokers {', '.join(map(str, target.state.live_brokers()))} are registered"

    def _end_next(self) -> None:
        if not self._left:
            return
        broker_id = self._left.pop(0)
        process = self.target.process(broker_id)
        self._down, self._since = (broker_id, process), None
        self.resolved.on_broker(broker_id)
        if self.fault.how == "kill":
            process.kill()
        else:
            process.ask_to_end()
        self.target.prepare(broker_id)

    def _start_again(self, broker_id: int, process: TargetProcess) -> None:
        if process.is_running:
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since < self.fault.gap_ms / 1000:
            return
        if self.fault.how == "term" and process.returncode:
            self._is_as_asked = False
        before = self.target.version_of(broker_id)
        after = self.fault.after(before)
        what = f"broker {broker_id} ended with {process.returncode} and was restarted"
        self._done.append(what if after == before else f"{what} as {after}")
        self._down, self._starting = None, broker_id
        self.target.set_version(broker_id, after)
        self.target.restart(broker_id)
        if self._left:
            self.target.prepare(self._left[0])

    def _is_ready(self, broker_id: int) -> bool:
        match self.fault.wait:
            case "none":
                return True
            case "registered":
                return self.target.registration(broker_id) is not None
            case _:
                # Nothing else tells of a broker that was killed while its old session lasts.
                is_registered = self.target.registration(broker_id) is not None
                return is_registered and self.target.is_in_sync()
