"""`python -m impl node ...`: the reference implementation as processes."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    # gRPC's C core writes to stderr past Python, and reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from impl.shell.node import run
    from impl.shell.options import node_options, parse

    return run(node_options(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
