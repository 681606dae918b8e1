"""The reference as processes: `python -m fencepost.impl node ...` and `... client ...`."""

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    # gRPC's C core writes to stderr past Python, and reads this when it is imported.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    if arguments and arguments[0] == "client":
        from fencepost.impl.client.command import run as call

        return call(arguments[1:])
    from fencepost.impl.shell.node import EXIT_STOPPED, run
    from fencepost.impl.shell.options import node_options, parse
    from fencepost.impl.shell.warm_start import WarmStartError, complete_arguments

    try:
        arguments = complete_arguments(arguments)
    except WarmStartError as error:
        sys.stderr.write(f"python -m fencepost.impl: {error}\n")
        return EXIT_STOPPED
    options = node_options(parse(arguments))
    if options.paced:
        from fencepost.impl.shell.stepped.stepped_process import SteppedNodeProcess

        return run(options, SteppedNodeProcess)
    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
