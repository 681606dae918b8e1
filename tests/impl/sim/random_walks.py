"""Random walks of the correct protocol from TLC, as schedules."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fencepost.impl.sim.stepped.behaviours import schedule_from, stepped_model
from fencepost.impl.sim.stepped.schedule import ScheduleError, SteppedSchedule, read_setting
from fencepost.spec.tlc.java.installation import find_tlc
from fencepost.spec.tlc.models import Model
from fencepost.spec.tlc.values import Value, parse_value

SIMULATION_S = 120
_VARIABLE = re.compile(r"^/\\ (\w+) = ", re.MULTILINE)


def random_behaviours(
    model: Model, *, count: int, depth: int, seed: int
) -> Iterator[SteppedSchedule]:
    """`count` random walks of at most `depth` states; raises `ScheduleError`."""
    config = replace(model.tlc_config(), invariants=(), properties=(), reports=())
    options = ("-simulate", f"file=walk,num={count}", "-depth", str(depth), "-seed", str(seed))
    with stepped_model(model, config) as stepped:
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
            yield schedule_from(name, read_setting(config), list(_states(path.read_text())))


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
