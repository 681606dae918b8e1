"""Become a supervised process: die with the parent, wait for the byte to go, then exec.

`python launch.py [--parent PID] [--net PATH] [--go-fd FD] -- argv...` (or `-m
fencepost.fault_injection.processes.launch`); `--net` is a network namespace that the command is to
be in. This process keeps its pid and start time through the exec, so both can be written down
before the command runs: it starts only when a byte arrives on `--go-fd`, and never when that pipe
just ends. A command that ends in the same option waits itself, and gets the pipe from
there on. It runs before every process of a run, so it imports next to nothing.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h. It survives exec, and it follows the *thread* that forked us."""

CLONE_NEWNET = 0x40000000
"""From linux/sched.h."""

GO_OPTION = "--go-fd"

EXIT_NOT_STARTED = 126
"""The harness was gone, or never gave the word."""
EXIT_CANNOT_EXEC = 127


def main(arguments: list[str]) -> int:
    """Replace this process by the command after `--`; returns only when that is not to be."""
    split = arguments.index("--")
    options, argv = _options(arguments[:split]), arguments[split + 1 :]
    if "--parent" in options:
        _call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != int(options["--parent"]):
            return EXIT_NOT_STARTED
    if GO_OPTION in options:
        keeps = argv[-2:] == [GO_OPTION, options[GO_OPTION]]
        if not _may_go(int(options[GO_OPTION]), keeps=keeps):
            return EXIT_NOT_STARTED
    if "--net" in options and not _enter_network(options["--net"]):
        return EXIT_NOT_STARTED
    return _exec(argv)


def _options(arguments: list[str]) -> dict[str, str]:
    return {name: arguments[at + 1] for at, name in enumerate(arguments) if at % 2 == 0}


def _enter_network(path: str) -> bool:
    """Enter the network; False when there is none, or none that we may enter."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        _call("setns", descriptor, CLONE_NEWNET)
    except OSError as error:
        sys.stderr.write(f"the network {path} cannot be entered: {error.strerror}\n")
        return False
    os.close(descriptor)
    return True


def _call(name: str, *arguments: int) -> None:
    import ctypes  # not needed by a process that outlives its parent

    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _may_go(go_fd: int, *, keeps: bool) -> bool:
    """Wait for the byte; False when the pipe ended without one."""
    word = os.read(go_fd, 1)
    if not keeps:
        os.close(go_fd)
    return bool(word)


def _exec(argv: list[str]) -> int:
    # Python ignores these two, and what is ignored stays ignored across exec.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - a shell would be one process too many
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {error.strerror}\n")
    return EXIT_CANNOT_EXEC


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
