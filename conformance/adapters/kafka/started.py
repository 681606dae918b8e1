"""Writes the line that begins each process of a broker in its log, then becomes the broker.

`python -m fencepost.conformance.adapters.kafka.started COMMAND ...`
"""

import os
import sys
from datetime import datetime
from typing import NoReturn

STARTED = "START of a broker process"


def started_line(now: datetime) -> str:
    """The first line of each process of a broker, dated as log4j dates its own."""
    return f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}] {STARTED}\n"


def become(command: list[str]) -> NoReturn:
    """Write that line, and be the command from now on, under the same pid."""
    sys.stdout.write(started_line(datetime.now()))  # noqa: DTZ005 - log4j dates in local time
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    become(sys.argv[1:])
