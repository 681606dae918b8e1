"""Plays a scenario, block by block, and writes those of failing runs.

Everything is virtual and drawn from the seed, so that a text gives the same output every time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import TOPIC, RunOptions
from fencepost.impl.sim.script.language import SEPARATOR, Block, ScriptError, parse, rewritten
from fencepost.impl.sim.script.settings import write_options
from fencepost.impl.sim.script.stage import Judge, Stage
from fencepost.impl.sim.script.verbs import perform
from fencepost.spec.trace import TraceEvent

QUIET = "ok"
"""The output of a block of commands that print nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a scenario printed."""

    blocks: tuple[Block, ...]
    outputs: tuple[tuple[str, ...], ...]
    """One per block."""
    text: str
    """The scenario with these outputs."""
    traces: tuple[Sequence[TraceEvent], ...]
    """One per `cluster`."""
    noted: tuple[tuple[RunOptions, MoveRecorder], ...]
    """The same, when it was to be noted."""


def play(text: str, name: str, judge: Judge, *, is_noted: bool = False) -> Played:
    """Play the scenario `name`; raises `ScriptError`, one sentence with file and line."""
    blocks = parse(text, name)
    stage = Stage(name, judge, move_recorder=MoveRecorder if is_noted else None)
    outputs = tuple(_play(stage, block) for block in blocks)
    return Played(
        blocks=blocks,
        outputs=outputs,
        text=rewritten(text, blocks, outputs),
        traces=tuple(stage.traces),
        noted=tuple(stage.noted),
    )


def _play(stage: Stage, block: Block) -> tuple[str, ...]:
    output: list[str] = []
    for command in block.commands:
        try:
            output += perform(stage, command)
        except ScriptError:
            raise
        except ValueError as error:
            raise command.error(str(error)) from error
    return tuple(output or [QUIET])


def scenario_text(options: RunOptions, *, comment: str = "", expected: Sequence[str] = ()) -> str:
    """The scenario that plays the same run as `run(options)`, event for event.

    `comment` says what the run shows, one line or several. `expected` is what `check` prints at the
    end: violated invariants, or `ok` when it is empty. Until the file is played with `--rewrite`
    the output of the other blocks is `ok`, so write it through `play(...).text` or the command.
    Every field of `RunOptions` and `Weather`, and every fault with its fields, is said by its name:
    what is added to them needs no change here.
    """
    settings = " ".join(write_options(options))
    breaks = ["breaks"] if options.connection_breaks else []
    faults = [fault_line(timed.at_ms, as_json(timed.fault)) for timed in options.story.actions]
    return "\n".join(
        [
            *(f"# {line}".rstrip() for line in comment.splitlines()),
            *([""] if comment else []),
            f"cluster {settings}".rstrip(),
            f"create-topic {TOPIC}",
            SEPARATOR,
            QUIET,
            "",
            "workload",
            *faults,
            *breaks,
            f"run {options.duration_ms}ms",
            SEPARATOR,
            QUIET,
            "",
            "settle",
            "read",
            SEPARATOR,
            "converged",
            "",
            "check",
            SEPARATOR,
            *(expected or [QUIET]),
            "",
        ]
    )


def fault_line(at_ms: int, fault: dict[str, object]) -> str:
    """The command that plans a fault, which is given as `as_json` has it."""
    kind, *given = fault.items()
    words = [f"{name}={_word(value)}" for name, value in given]
    return " ".join([f"at {at_ms}ms fault {kind[1]}", *(w for w in words if not w.endswith("="))])


def _word(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
