"""Behaviours of the specs from TLC, within `CoreCan.tla`: the steps that the core takes too."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from fencepost.impl.sim.stepped.schedule import (
    ScheduleError,
    SpecStep,
    SteppedSchedule,
    SteppedSetting,
    read_setting,
)
from fencepost.impl.sim.stepped.spec_state import canonical
from fencepost.impl.sim.stepped.steps import read_step
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.config import ModelConfig, tla_value
from fencepost.spec.tlc.models import Model
from fencepost.spec.tlc.mutants import MUTANTS
from fencepost.spec.tlc.runner import TlcOptions, check_model
from fencepost.spec.tlc.values import Value

CORE_CAN = Path(__file__).with_name("CoreCan.tla")
_STEPPED = """---- MODULE {stepped} ----
EXTENDS {module}
VARIABLES told, looks, refused, overtaken
Core == INSTANCE CoreCan WITH mutants <- {mutants}
SteppedInit == {init} /\\ Core!CoreInit
SteppedNext == {next} /\\ Core!CoreCan{more}
====
"""
_ONE_ANSWER = """
    /\\ (\\/ \\A a \\in fetches \\ fetches' : a.copy = 1
        \\/ logs' = logs
        \\/ replicas' # replicas)"""
"""The core takes one answer per request. A second copy may set the specs' high watermark back."""


def counterexample(model: Model) -> SteppedSchedule:
    """The shortest counterexample of a row of `models.toml`; raises `ScheduleError`."""
    config = model.tlc_config()
    with stepped_model(model, config) as stepped:
        found = check_model(stepped, options=TlcOptions(use_cache=False))
    if found.counterexample is None:
        raise ScheduleError(f"model {model.name} has no counterexample: {found.why}")
    behaviour = [state.values for state in found.counterexample.states]
    return schedule_from(model.name, read_setting(config), behaviour, model.invariant)


def schedule_from(
    name: str,
    setting: SteppedSetting,
    behaviour: Sequence[Mapping[str, Value]],
    violates: str | None = None,
) -> SteppedSchedule:
    """The schedule of a behaviour; raises `ScheduleError` for a change that no action makes."""
    states = [canonical(values) for values in behaviour]
    steps: list[SpecStep] = []
    for number, (before, after) in enumerate(pairwise(states), start=1):
        if before == after:
            continue
        try:
            action, actor, parameters = read_step(before, after)
        except ScheduleError as error:
            raise ScheduleError(f"{name}, step {number}: {error}") from error
        changed = {key: value for key, value in after.items() if before[key] != value}
        steps.append(SpecStep(action=action, actor=actor, parameters=parameters, changed=changed))
    return SteppedSchedule(
        name=name, setting=setting, violates=violates, first=states[0], steps=tuple(steps)
    )


@contextmanager
def stepped_model(model: Model, config: ModelConfig) -> Iterator[Model]:
    """The model without the steps that the core does not take, in a folder of its own."""
    with scratch_folder("steps") as directory:
        for module in (*model.directory.glob("*.tla"), CORE_CAN):
            shutil.copyfile(module, directory / module.name)
        name = f"Stepped{model.module}"
        text = _STEPPED.format(
            stepped=name,
            module=model.module,
            init=config.init,
            next=config.next,
            mutants=tla_value(model.mutants),
            more=_ONE_ANSWER if read_setting(config).has_logs else "",
        )
        (directory / f"{name}.tla").write_text(text)
        if (model.directory / MUTANTS).is_dir():
            shutil.copytree(model.directory / MUTANTS, directory / MUTANTS)
        stepped = replace(config, init="SteppedInit", next="SteppedNext", replaced={})
        (directory / f"{name}.cfg").write_text(stepped.render())
        yield replace(
            model,
            module=name,
            config=f"{name}.cfg",
            constants={MUTANTS: model.mutants} if model.mutants else {},
            directory=directory,
        )
