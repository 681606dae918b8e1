"""Where each committed schedule comes from.

Run `python -m fencepost.impl.sim.stepped.sources` makes them anew.

A schedule is named after the mutant of the core that it shows; the switch of the specs has the same
name. `truncation_to_high_watermark` needs no mutant: that is what level 1 does.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import msgspec

from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.impl.sim.stepped.behaviours import counterexample
from fencepost.impl.sim.stepped.schedule import (
    SCHEDULES,
    ScheduleError,
    SteppedSchedule,
    read_schedule,
    read_setting,
    write_schedule,
)
from fencepost.spec.tlc.config import ConstantValue
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models, select

BUDGET_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSource:
    """A row of `models.toml`, and how it differs."""

    row: str
    constants: Mapping[str, ConstantValue] = field(default_factory=dict)
    config: str | None = None
    prefix: str | None = None
    """A row that ends where this one begins, for one that does not begin at the real start."""
    is_slow: bool = False
    """TLC takes more than a few seconds."""


_HALFWAY = "halfway_is_reached"
_IN_FLIGHT = "in_flight_is_reached"
_LARGE: Mapping[str, ConstantValue] = {"MaxCrashes": 0, "InitialIsr": (1, 2, 3)}

_OWN_ROWS = (
    "no_znode_version_check",
    "no_step_down",
    "acknowledge_before_replication",
    "accept_older_controller_epoch",
    "leader_epoch_not_raised",
    "no_controller_epoch_check",
    "two_step_controller_election",
    "controller_epoch_not_raised",
    "accept_older_leader_epoch",
    "refresh_without_version",
    "leader_may_leave_isr",
    "expand_laggards",
    "commit_with_old_isr",
    "unbounded_high_watermark",
    "no_controller_znode_check",
    "expand_overwrites_shrink",
    "inclusive_high_watermark",
    "send_unwritten_decisions",
    "commands_without_epochs",
    "unclean_on_old_live_list",
    "trust_unsettled_write",
)
"""Schedules of the row of the same name, as it stands."""

SOURCES: Mapping[str, ScheduleSource] = MappingProxyType(
    {
        **{name: ScheduleSource(row=name) for name in _OWN_ROWS},
        "truncation_to_high_watermark": ScheduleSource(
            row="truncation_to_high_watermark", constants=_LARGE, config="MCReplication3.cfg"
        ),
        "high_watermark_from_leader_alone": ScheduleSource(
            row="high_watermark_from_leader_alone_two_leaders"
        ),
        "restart_ignores_znode": ScheduleSource(
            row="restart_ignores_znode", constants={"MaxElections": 0, "MaxDuplicates": 1}
        ),
        "shrink_on_election_empties_isr": ScheduleSource(row="empty_isr_without_candidates"),
        "expand_below_epoch_start": ScheduleSource(row="expand_below_epoch_start", is_slow=True),
        "recompute_high_watermark": ScheduleSource(
            row="recompute_high_watermark",
            constants=_LARGE,
            config="MCReplication3.cfg",
            is_slow=True,
        ),
        "remember_end_offsets": ScheduleSource(
            row="remember_end_offsets", prefix=_HALFWAY, is_slow=True
        ),
        "fetch_without_epoch": ScheduleSource(
            row="fetch_without_epoch", prefix=_HALFWAY, is_slow=True
        ),
        "truncate_on_new_leader_only": ScheduleSource(
            row="truncate_on_new_leader_only", prefix=_HALFWAY, is_slow=True
        ),
        "append_from_old_leader": ScheduleSource(row="append_from_old_leader", prefix=_IN_FLIGHT),
        "init_is_unconditional": ScheduleSource(row="init_replaces_state"),
        "truncate_once": ScheduleSource(
            row="parted_truncate_once", prefix="parted_is_reached", is_slow=True
        ),
    }
)
"""Schedule -> source."""


MADE_ANEW = ("commit_with_old_isr_quorum", "unclean_election_truncation_to_high_watermark")
"""Rows of hazards that no schedule shows; TLC needs seconds for them."""

STEPPED = frozenset({"MCLeaderAndIsr", "MCReplication", "MCReplicationUnclean"})
"""The modules with actions that the core follows one by one."""


def obstacle(model: Model) -> str:
    """Why the counterexample of a row has no steps for the core: a sentence, or nothing."""
    if model.expected is not ModelVerdict.VIOLATES:
        return f"{model.name} holds: it has no counterexample"
    if model.module not in STEPPED:
        return f"the core is not stepped through {model.module.removeprefix('MC')}"
    if model.tlc_config().specification:
        return f"{model.invariant} is a liveness property: its counterexample has no end"
    unknown = sorted(set(read_setting(model.tlc_config()).mutants) - MUTANTS.keys())
    return f"the core has no mutant {unknown[0]}" if unknown else ""


def schedule_of(name: str) -> SteppedSchedule:
    """A kept schedule by its own name or its row's, a file's, or any other row's, made by TLC.

    Raises `ScheduleError`, `ModelError`, or `ValueError` for a row that has no steps for the core.
    """
    names = {source.row: kept for kept, source in SOURCES.items()}
    kept = SCHEDULES / f"{names.get(name, name)}.json"
    if kept.is_file():
        return read_schedule(kept)
    if Path(name).is_file():
        return read_schedule(Path(name))
    (model,) = select(load_models(), [name])
    if why := obstacle(model):
        raise ScheduleError(why)
    return counterexample(model)


def make(name: str) -> SteppedSchedule:
    """The schedule anew, by TLC; raises `ScheduleError` or `ModelError`."""
    source = SOURCES[name]
    (row,) = select(load_models(), [source.row])
    model = replace(
        row,
        constants={**row.constants, **source.constants},
        config=source.config or row.config,
        budget_s=BUDGET_S,
    )
    found = counterexample(model)
    if source.prefix is None:
        return msgspec.structs.replace(found, name=name)
    (prefix,) = select(load_models(), [source.prefix])
    constants = {**prefix.constants, "mutants": row.constants["mutants"]}
    there = counterexample(replace(prefix, constants=constants, budget_s=BUDGET_S))
    return msgspec.structs.replace(
        found, name=name, first=there.first, steps=(*there.steps, *found.steps)
    )


def main(names: Iterable[str]) -> int:
    """Write the schedules of these names, or all."""
    SCHEDULES.mkdir(exist_ok=True)
    for name in names or SOURCES:
        write_schedule(SCHEDULES / f"{name}.json", make(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
