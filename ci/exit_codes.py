"""Every code with which `fencepost` ends, in one place: README, help and summaries tell these.

`cli.run` lets a command return no other: one that does is a defect of ours.
"""

VIOLATION, UNDECIDED, INCOMPLETE, USAGE = 1, 2, 3, 4
"""As verdicts give them (`conformance.verdict.ExitCode`); not imported, for that takes its time."""
DIFFERENT = 16
"""Of `fencepost conform diff` alone."""
INTERRUPTED = 130
"""After Ctrl-C, SIGTERM or SIGHUP, whatever was found before: `verdict.json` tells that."""
PIPE_CLOSED = 141
"""As shells give it for SIGPIPE."""

MEANINGS = {
    0: "fine",
    VIOLATION: "a violation was found",
    UNDECIDED: "nothing was violated, but not everything was decided",
    INCOMPLETE: "the harness failed, or not everything ran",
    USAGE: "a mistake in the command line, or nothing was selected",
    DIFFERENT: "`conform diff` found cases that ended otherwise",
    INTERRUPTED: "interrupted",
    PIPE_CLOSED: "the reader of the output went away",
}


def listed() -> str:
    """All of them on one line."""
    return ", ".join(f"{code} {meaning}" for code, meaning in sorted(MEANINGS.items()))
