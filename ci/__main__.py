"""`python -m fencepost.ci` is the `fencepost` command."""

import signal


def main() -> None:
    """Run the command; Ctrl-C while it is still being loaded ends it without a word."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fencepost.ci.cli import main as run_command

    signal.signal(signal.SIGINT, before)
    run_command()


if __name__ == "__main__":
    main()
