"""A behaviour of the specs as a list of steps that can be saved, and replayed without TLC.

A step is an action, its actor, what it is about, and what is different in the spec after it. The
file is JSON with the fields of `SteppedSchedule`; states are as in `spec_state.py`, and a step
keeps those variables that it changed.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.impl.sim.stepped.spec_state import LOG_VARIABLES, VARIABLES, Abstract, Plain
from fencepost.spec.tlc.config import ModelConfig
from fencepost.spec.tlc.values import Value, parse_value
from fencepost.spec.vocabulary import Action, EnvironmentAction, ProtocolLevel

SCHEDULES = Path(__file__).resolve().parents[1] / "schedules"
FORMAT = 1
"""Raised when an older reader would misread a newer file."""

_LEVELS = {'"high_watermark"': 1, '"leader_epoch"': 2}
_NEWEST = 2


class ScheduleError(ValueError):
    """A file that is no schedule, or a behaviour that has no steps; one sentence."""


class SteppedSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster is like before the first step."""

    brokers: tuple[int, ...]
    controllers: tuple[int, ...]
    initial_isr: tuple[int, ...]
    start: str
    """`empty` or `serving`, as the constant `Start` of the specs."""
    level: int
    unclean_leader_election: bool = False
    mutants: tuple[str, ...] = ()
    has_logs: bool
    """True of `Replication`; `LeaderAndIsr` knows nothing of records and fetches."""


class SpecStep(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the spec."""

    action: str
    actor: int
    """A broker or a controller; 0 for the environment."""
    parameters: dict[str, Plain] = {}
    changed: dict[str, Plain]
    """The variables that are different after the step."""


class SteppedSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """Where it begins, its steps, and what is violated at its end."""

    format: int = FORMAT
    name: str
    """Of the model of `models.toml`, or of the behaviour."""
    setting: SteppedSetting
    violates: str | None = None
    """The property that the last state violates, when this is a counterexample."""
    first: Abstract
    """The initial state."""
    steps: tuple[SpecStep, ...]

    def states(self) -> list[Abstract]:
        """The spec's state before the first step and after each."""
        states = [self.first]
        for step in self.steps:
            states.append({**states[-1], **step.changed})
        return states


def read_setting(config: ModelConfig) -> SteppedSetting:
    """What a model's configuration says about the cluster."""
    values = {name: text.removeprefix("= ") for name, text in config.constants.items()}
    return SteppedSetting(
        brokers=_numbers(values["Brokers"]),
        controllers=_numbers(values["Controllers"]),
        initial_isr=_numbers(values["InitialIsr"]),
        start=str(parse_value(values["Start"])),
        level=_LEVELS.get(values.get("truncation", ""), _NEWEST),
        unclean_leader_election=values["unclean_leader_election"] == "TRUE",
        mutants=config.mutants,
        has_logs="truncation" in values,
    )


def _items(text: str) -> list[Value]:
    value = parse_value(text)
    assert isinstance(value, list)
    return value


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(str(item)) for item in _items(text)))


def preference(schedule: SteppedSchedule) -> tuple[int, ...]:
    """The order of replicas in which the core elects the same leaders as the spec.

    The spec picks any live member of the ISR, the core the first one of the assignment.
    """
    first = min(schedule.setting.initial_isr)
    elected = [step.parameters["leader"] for step in schedule.steps if "leader" in step.parameters]
    wanted = [first] if schedule.setting.start == "serving" else []
    known = [broker for broker in elected if broker in schedule.setting.brokers]
    return tuple(dict.fromkeys([*wanted, *known, *schedule.setting.brokers]))


def write_schedule(path: Path, schedule: SteppedSchedule) -> None:
    """The file holds the schedule, one step per line."""
    head = msgspec.to_builtins(schedule)
    steps = head.pop("steps")
    lines = [msgspec.json.encode(step).decode() for step in steps]
    text = msgspec.json.encode(head).decode().removesuffix("}")
    path.write_text(text + ',"steps":[\n' + ",\n".join(lines) + "\n]}\n")


def read_schedule(path: Path) -> SteppedSchedule:
    """The schedule of a file; raises `ScheduleError`."""
    try:
        schedule = msgspec.json.decode(path.read_bytes(), type=SteppedSchedule)
    except OSError as error:
        raise ScheduleError(f"{path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ScheduleError(f"{path} is no schedule: {error}") from error
    if schedule.format != FORMAT:
        raise ScheduleError(f"{path} has format {schedule.format}, this reader knows {FORMAT}")
    if foreign := next(_foreign(schedule), ""):
        raise ScheduleError(f"{path} is no schedule: {foreign}")
    return schedule


def _foreign(schedule: SteppedSchedule) -> Iterator[str]:
    """What names nothing that the specs know: one sentence each."""
    setting = schedule.setting
    if setting.level not in {*ProtocolLevel}:
        yield f"there is no level {setting.level}"
    yield from (f"there is no mutant {name}" for name in setting.mutants if name not in MUTANTS)
    known = LOG_VARIABLES if setting.has_logs else VARIABLES
    yield from (f"the first state lacks {name}" for name in sorted(known - {*schedule.first}))
    actors = {0, *setting.brokers, *setting.controllers}
    for number, step in enumerate(schedule.steps, start=1):
        if step.action not in {*Action, *EnvironmentAction}:
            yield f"step {number} takes the action {step.action}, which no spec has"
        if step.actor not in actors:
            yield f"step {number} is taken by {step.actor}, which is not in the setting"
        unknown = sorted({*step.changed} - {*schedule.first})
        yield from (f"step {number} changes {name}, which is no variable" for name in unknown)
