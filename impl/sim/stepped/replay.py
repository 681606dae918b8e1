"""Replays a schedule on the core, and compares the core's state with the spec's after each step.

A run ends at its last step, at the first that the core cannot take, or at the first difference.
"""

from dataclasses import dataclass, field
from functools import partial

import msgspec

from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.sim.stepped.cluster import FLAGS, SteppedWorld
from fencepost.impl.sim.stepped.loss_probe import LossProbe
from fencepost.impl.sim.stepped.observed_state import observe
from fencepost.impl.sim.stepped.properties import violated
from fencepost.impl.sim.stepped.schedule import SpecStep, SteppedSchedule, preference
from fencepost.impl.sim.stepped.spec_state import Abstract, Difference, differences
from fencepost.impl.sim.stepped.step_context import ImpossibleStepError
from fencepost.impl.sim.stepped.steps import SPEC_ACTIONS, StepPerformer
from fencepost.spec.pacing import Move, MoveList
from fencepost.spec.trace import TRACE_VERSION, TraceEvent
from fencepost.spec.vocabulary import ANY_VERSION, Action, ProtocolLevel

_UNCOMPOSED = frozenset(
    {
        Action.DETECT_TOPIC_CHANGE,
        Action.READ_ASSIGNMENT,
        Action.RECOVER_REPLICAS,
        Action.SEND_INIT,
        Action.OBEY_INIT,
    }
)
"""Of topics that come and go, which the composed specs leave out."""

LEVEL_OF_STEPS = ProtocolLevel.BROKER_EPOCH
"""The last level at which roles are told alone: metadata are modelled apart from them."""
_OBEYS_OLDER_CONTROLLERS = frozenset({"accept_older_controller_epoch", "commands_without_epochs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """Where the core left the spec's path."""

    step: int
    """From 1; 0 is the beginning."""
    action: str
    actor: int
    differences: tuple[Difference, ...] = ()
    impossible: str = ""
    """Why the core could not take the action."""

    def __str__(self) -> str:
        told = self.impossible or "; ".join(map(str, self.differences))
        return f"step {self.step}, {self.action} of {self.actor}: {told}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedReplay:
    """What came of a schedule."""

    steps: int
    """How many were taken, with equal states after each."""
    mismatch: Mismatch | None
    violated: frozenset[str]
    """The properties that the core's states violated, by the operators of the specs."""
    events: list[TraceEvent] = field(repr=False)
    """The trace, as the checks read it."""
    moves: tuple[Move, ...] = field(repr=False)
    """What leads processes the same way."""


def replay(schedule: SteppedSchedule, *, probes_loss: bool = False) -> SteppedReplay:
    """The schedule as far as the core follows it; then, if wanted, what shows what it broke."""
    return _Stepper(schedule, probes_loss=probes_loss).run()


def repaired(schedule: SteppedSchedule) -> SteppedSchedule:
    """The same steps of the protocol as it should be: no mutant, `LEVEL_OF_STEPS`."""
    level = LEVEL_OF_STEPS.value
    setting = msgspec.structs.replace(schedule.setting, mutants=(), level=level)
    return msgspec.structs.replace(schedule, setting=setting)


def moves_along(schedule: SteppedSchedule, *, is_repaired: bool) -> MoveList:
    """The moves that lead processes along the schedule, as far as the core follows it.

    With `is_repaired` the core is as it should be: without the mutant, at `LEVEL_OF_STEPS`.
    """
    schedule = repaired(schedule) if is_repaired else schedule
    setting = schedule.setting
    done = replay(schedule, probes_loss=True)
    return MoveList(
        name=schedule.name,
        level=setting.level,
        brokers=setting.brokers,
        controllers=setting.controllers,
        unclean_leader_election=setting.unclean_leader_election,
        flags=FLAGS,
        mutant=setting.mutants[0] if setting.mutants else "",
        steps=tuple(f"{step.action} of {step.actor}" for step in schedule.steps),
        taken=done.steps,
        refused=str(done.mismatch) if done.mismatch else "",
        violates=schedule.violates or "",
        moves=done.moves,
    )


class _Stepper:
    def __init__(self, schedule: SteppedSchedule, *, probes_loss: bool) -> None:
        self.schedule = schedule
        self.probes_loss = probes_loss
        self.cluster = SteppedWorld(
            schedule.setting, preference(schedule), f"steps-{schedule.name}"
        )
        self.steps = StepPerformer(self.cluster)

    def run(self) -> SteppedReplay:
        self.cluster.tell_run("RunStarted", {"trace_version": TRACE_VERSION, **self._describe()})
        self.cluster.begin()
        states = self.schedule.states()
        before = observe(self.cluster)
        found = self._compare(states[0], before)
        mismatch = Mismatch(step=0, action="Init", actor=0, differences=found) if found else None
        broken: set[str] = set()
        taken = 0
        for number, step in enumerate(self.schedule.steps, start=1):
            if mismatch is not None:
                break
            mismatch = self._take(number, step, states[number])
            now = observe(self.cluster)
            if mismatch is None:
                taken = number
            broken |= violated(before, now)
            before = now
        if self.probes_loss:
            self.cluster.move_recorder.step = len(self.schedule.steps) + 1
            LossProbe(self.cluster, self.steps, self.schedule.violates).run()
        self.cluster.tell_run("RunEnded", {"steps": taken})
        events = self.cluster.recorder.events
        return SteppedReplay(
            steps=taken,
            mismatch=mismatch,
            violated=frozenset(broken),
            events=events,
            moves=self.cluster.move_recorder.moves,
        )

    def _describe(self) -> dict[str, object]:
        setting = self.schedule.setting
        return {
            "backend": "steps",
            "level": setting.level,
            "brokers": len(setting.brokers) + len(setting.controllers),
            "scenario": self.schedule.name,
            "mutant": setting.mutants[0] if setting.mutants else None,
        }

    def _take(self, number: int, step: SpecStep, expected: Abstract) -> Mismatch | None:
        for broker in self.cluster.nodes.values():
            broker.taken.clear()
        self.cluster.move_recorder.step = number
        mismatch = partial(Mismatch, step=number, action=step.action, actor=step.actor)
        try:
            self.steps.take(step)
        except ImpossibleStepError as error:
            return mismatch(impossible=str(error))
        found = self._compare_actions(step) or self._compare(expected, observe(self.cluster))
        return mismatch(differences=found) if found else None

    def _compare_actions(self, step: SpecStep) -> tuple[Difference, ...]:
        """The core has reported this action, and no other that is not a part of it."""
        taken = [
            (broker.number, t)
            for broker in self.cluster.nodes.values()
            for t in broker.taken
            if t.action not in _UNCOMPOSED
        ]
        foreign = [one for one in taken if not self._belongs(step, *one)]
        is_reported = any(t.action == step.action and actor == step.actor for actor, t in taken)
        if not foreign and (is_reported or not SPEC_ACTIONS[step.action].is_reported):
            return ()
        core = [(actor, t.action.value) for actor, t in taken]
        return (Difference(field="actions", spec=[(step.actor, step.action)], core=core),)

    def _belongs(self, step: SpecStep, actor: int, taken: ActionTaken) -> bool:
        companions = SPEC_ACTIONS[step.action].reports
        if not self.schedule.setting.has_logs:
            companions |= {Action.SERVE_FETCH}
        return actor == step.actor and (taken.action == step.action or taken.action in companions)

    def _compare(self, spec: Abstract, core: Abstract) -> tuple[Difference, ...]:
        return tuple(differences(self._expected(spec, core), core))

    def _expected(self, spec: Abstract, core: Abstract) -> Abstract:
        """The spec's state without what `observe` says is not compared."""
        never_sent = self.steps.never_sent
        expected = {name: value for name, value in spec.items() if name != "budget"}
        expected["messages"] = [m for m in spec["messages"] if m not in never_sent]
        never_sent[:] = [m for m in never_sent if m in spec["messages"]]
        expected["controllers"] = {
            key: self._expected_controller(int(key), spec, core["controllers"][key])
            for key in spec["controllers"]
        }
        if self.cluster.is_state_a_leaders and spec["state"] and core["state"]:
            epoch = core["state"]["controller_epoch"]
            expected["state"] = {**spec["state"], "controller_epoch": epoch}
        if _OBEYS_OLDER_CONTROLLERS & set(self.schedule.setting.mutants):
            epochs = {b: core["replicas"][b]["controller_epoch"] for b in spec["replicas"]}
            expected["replicas"] = {
                b: {**replica, "controller_epoch": epochs[b]}
                for b, replica in spec["replicas"].items()
            }
        if "logs" in spec:
            expected["logs"] = {
                key: _expected_log(log, core["logs"][key]) for key, log in spec["logs"].items()
            }
            is_early = "inclusive_high_watermark" in self.schedule.setting.mutants
            if is_early or all(entry in spec["acknowledged"] for entry in core["acknowledged"]):
                expected["acknowledged"] = core["acknowledged"]
        return expected

    def _expected_controller(self, number: int, spec: Abstract, core: Abstract) -> Abstract:
        wanted = dict(spec["controllers"][str(number)])
        wanted["to_send"] = [
            {
                "state": {k: v for k, v in told["state"].items() if k != "controller_epoch"},
                "znode_version": told["znode_version"],
            }
            for told in wanted["to_send"]
        ]
        is_deposed = spec["controller"] != number
        if wanted["status"] == "active" and core["status"] == "standing" and is_deposed:
            return core
        if number in self.steps.is_deferred:
            wanted["to_send"] = core["to_send"]
        if wanted["decision"] and "no_znode_version_check" in self.schedule.setting.mutants:
            wanted["decision"] = [{**wanted["decision"][0], "expected_version": ANY_VERSION}]
        if number in self.steps.is_hidden:
            wanted["decision"] = core["decision"]
        return wanted


def _expected_log(spec: Abstract, core: Abstract) -> Abstract:
    if core["records"] or core["is_truncated"] == spec["is_truncated"]:
        return spec
    return {**spec, "is_truncated": core["is_truncated"]}
