"""Behaviours of the specs from TLC: counterexamples, and random walks of the correct protocol.

Both are asked for within `CoreCan.tla`: the steps that the core takes too.
"""

import re
import shutil
import subprocess
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
from fencepost.spec.tlc.config import ModelConfig
from fencepost.spec.tlc.java.installation import find_tlc
from fencepost.spec.tlc.models import Model
from fencepost.spec.tlc.runner import TlcOptions, check_model
from fencepost.spec.tlc.values import Value, parse_value

CORE_CAN = Path(__file__).with_name("CoreCan.tla")
SIMULATION_S = 120
_VARIABLE = re.compile(r"^/\\ (\w+) = ", re.MULTILINE)
_STEPPED = """---- MODULE {stepped} ----
EXTENDS {module}
VARIABLES told, looks, refused
Core == INSTANCE CoreCan
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
    with _stepped(model, config) as stepped:
        found = check_model(stepped, options=TlcOptions(use_cache=False))
    if found.counterexample is None:
        raise ScheduleError(f"model {model.name} has no counterexample: {found.why}")
    behaviour = [state.values for state in found.counterexample.states]
    return _schedule(model.name, read_setting(config), behaviour, model.invariant)


def random_behaviours(
    model: Model, *, count: int, depth: int, seed: int
) -> Iterator[SteppedSchedule]:
    """`count` random walks of at most `depth` states; raises `ScheduleError`."""
    config = replace(model.tlc_config(), invariants=(), properties=())
    options = ("-simulate", f"file=walk,num={count}", "-depth", str(depth), "-seed", str(seed))
    with _stepped(model, config) as stepped:
        command = find_tlc().command(
            stepped.module,
            stepped.directory,
            heap_mb=stepped.heap_mb,
            is_short=True,
            options=options,
        )
        _run(command, stepped.directory)
        files = sorted(stepped.directory.glob("walk_*"), key=_number)
        if len(files) != count:
            raise ScheduleError(f"TLC wrote {len(files)} behaviours instead of {count}")
        for number, path in enumerate(files):
            name = f"{model.name}-{seed}-{number}"
            yield _schedule(name, read_setting(config), list(_states(path.read_text())))


def _schedule(
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
def _stepped(model: Model, config: ModelConfig) -> Iterator[Model]:
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
            more=_ONE_ANSWER if read_setting(config).has_logs else "",
        )
        (directory / f"{name}.tla").write_text(text)
        stepped = replace(config, init="SteppedInit", next="SteppedNext")
        (directory / f"{name}.cfg").write_text(stepped.render())
        yield replace(model, module=name, config=f"{name}.cfg", constants={}, directory=directory)


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(
        command,
        check=False,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SIMULATION_S,
    )
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise ScheduleError(f"TLC did not simulate: {' '.join(lines[-30:])}")


def _states(text: str) -> Iterator[dict[str, Value]]:
    for block in text.split("STATE_")[1:]:
        body = block.partition("==")[2].partition("====")[0]
        starts = list(_VARIABLE.finditer(body))
        ends = [match.start() for match in starts[1:]] + [len(body)]
        yield {
            match[1]: parse_value(body[match.end() : end])
            for match, end in zip(starts, ends, strict=True)
        }


def _number(path: Path) -> int:
    return int(path.name.rpartition("_")[2])
