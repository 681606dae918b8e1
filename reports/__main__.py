"""`python -m fencepost.reports build RUN`: analyse a run folder and write its report."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fencepost.conformance.verdict import ExitCode, exit_code
from fencepost.reports.analysis.analyse import analyse
from fencepost.reports.page.render import render
from fencepost.reports.tables.errors import ReportError


def main(arguments: Sequence[str]) -> int:
    """Build one report; returns the exit code of its verdict, 3 when there is none."""
    parser = argparse.ArgumentParser(prog="python -m fencepost.reports", description=__doc__)
    commands = parser.add_subparsers(required=True)
    build = commands.add_parser("build", help="analyse a run folder and write report.html there")
    build.add_argument("run", type=Path)
    build.add_argument("--spark-master", default=None, help="default: Spark on this machine")
    chosen = parser.parse_args(arguments)
    try:
        analysis = analyse(chosen.run, spark_master=chosen.spark_master)
        report = render(chosen.run)
    except ReportError as error:
        print(f"reports: {error}", file=sys.stderr)
        return ExitCode.INCOMPLETE
    print(f"{analysis.verdict}: {report}")
    return exit_code([analysis.verdict])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
