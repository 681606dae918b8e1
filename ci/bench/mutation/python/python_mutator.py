"""The program of a mutator of a Python package: edits drawn by chance, judged, and told."""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.ci.bench.mutation.edit import sample
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit, python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import modules_of
from fencepost.ci.bench.mutation.score import Scale, Scored, finish, list_edits, parser_of

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
        parser.add_argument(
            "--retry", type=Path, metavar="FILE", help="only what survived in these results"
        )
        self.add_options(parser)
        given = parser.parse_args(arguments)
        edits = [
            edit
            for name, text in modules_of(self.package, given.module)
            for edit in python_edits(name, text)
        ]
        if not edits:
            parser.error(f"no edit is in {', '.join(given.module)}")
        drawn = sample(edits, given.count, given.seed)
        if given.retry is not None:
            survived = self.survivors(json.loads(given.retry.read_text()))
            drawn = tuple(edit for edit in edits if (edit.key, edit.after) in survived)
        if given.list:
            return list_edits(drawn)
        judge = self.judge(given)
        with ThreadPoolExecutor(max_workers=given.jobs) as pool:
            scored = tuple(pool.map(judge, drawn))
        return finish(self.scale, scored, given)

    def survivors(self, results: dict[str, Any]) -> set[tuple[str, str]]:
        """Of results, as `score.document` has them, the edits that count and met no goal."""
        fine = self.scale.wanted | self.scale.without_count
        return {
            (row["key"], row["after"])
            for row in results["edits"]
            if row["outcome"] not in fine and not row["equivalent"]
        }
