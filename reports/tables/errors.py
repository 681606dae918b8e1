"""What can go wrong outside this room: a folder, a file or a Java that is not as promised."""


class ReportError(Exception):
    """One sentence that says what is wrong, where, and what to do; never shown as a traceback."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(f"{problem}; {hint}")
        self.problem = problem
        self.hint = hint
