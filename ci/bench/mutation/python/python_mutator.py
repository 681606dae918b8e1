"""The program of a mutator of a Python package: edits drawn by chance, judged, and told."""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fencepost.ci.bench.mutation.edit import sample
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit, python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import modules_of
from fencepost.ci.bench.mutation.score import (
    JudgedEdits,
    Scale,
    Scored,
    drawn_by,
    left_of,
    list_edits,
    parser_of,
    read_results,
)

Judge = Callable[[PythonEdit], Scored]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonMutator:
    """What is edited, and what says what becomes of an edit."""

    program: str
    description: str | None
    package: str
    """A folder of a room, such as `impl/core`."""
    scale: Scale
    judge: Callable[[argparse.Namespace], Judge]
    """Called with the options, once there are edits to judge."""
    add_options: Callable[[argparse.ArgumentParser], None] = lambda _: None

    def run(self, arguments: Sequence[str]) -> int:
        """Draw edits, judge them, tell the score; 0 when the goals are reached, else 1."""
        parser = parser_of(self.program, self.description)
        self.add_options(parser)
        given = parser.parse_args(arguments)
        edits = [
            edit
            for name, text in modules_of(self.package, given.module)
            for edit in python_edits(name, text)
        ]
        if not edits:
            parser.error(f"no edit is in {', '.join(given.module)}")
        drawn = sample(edits, given.count, given.seed, given.each)
        kept: tuple[Scored, ...] = ()
        if given.again is not None:
            drawn, kept = left_of(self.scale, read_results(given.again), edits)
        if given.list:
            return list_edits(drawn)
        judge = self.judge(given)
        judged = JudgedEdits(
            scale=self.scale, drawn=drawn_by(given), path=given.results, scored=list(kept)
        )
        with ThreadPoolExecutor(max_workers=given.jobs) as pool:
            for _ in pool.map(lambda edit: judged.add(judge(edit)), drawn):
                pass
        return judged.finish(is_json=given.json)
