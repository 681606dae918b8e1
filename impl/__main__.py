"""`python -m impl node ...`: the reference implementation as processes."""

import sys
from collections.abc import Sequence

from impl.shell.node import run
from impl.shell.options import node_options, parse


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    return run(node_options(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
