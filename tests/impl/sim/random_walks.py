"""Random walks of the correct protocol from TLC, as schedules."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fencepost.impl.sim.stepped.behaviours import schedule_from, stepped_model
from fencepost.impl.sim.stepped.schedule import ScheduleError, SteppedSchedule, read_setting
from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.runner import TlcOptions, check_model
from fencepost.spec.tlc.values import Value, parse_value

SIMULATION_S = 120
_VARIABLE = re.compile(r"^/\\ (\w+) = ", re.MULTILINE)


def random_behaviours(
    model: Model, *, count: int, depth: int, seed: int
) -> Iterator[SteppedSchedule]:
    """`count` random walks of at most `depth` states; raises `ScheduleError`."""
    config = replace(model.tlc_config(), invariants=(), properties=(), reports=())
    options = ("-depth", str(depth), "-seed", str(seed))
    with stepped_model(model, config) as stepped:
        walks = f"file={stepped.directory / 'walk'},num={count}"
        _simulate(stepped, ("-simulate", walks, *options))
        files = sorted(stepped.directory.glob("walk_*"), key=_number)
        if len(files) != count:
            raise ScheduleError(f"TLC wrote {len(files)} behaviours instead of {count}")
        for number, path in enumerate(files):
            name = f"{model.name}-{seed}-{number}"
            yield schedule_from(name, read_setting(config), list(_states(path.read_text())))


def _simulate(model: Model, options: tuple[str, ...]) -> None:
    told = check_model(
        replace(model, reaches=(), budget_s=SIMULATION_S),
        options=TlcOptions(use_cache=False, tlc_options=options),
    )
    if told.verdict is ModelVerdict.ERROR:
        raise ScheduleError(f"TLC did not simulate: {told.why}")


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
