"""What differs between two runs of the suite, case by case."""

from dataclasses import dataclass

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.records import SuiteRun
from fencepost.conformance.verdict import Verdict

DIFFERS = 16
"""The exit code of `fencepost conform diff` when it finds something: no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDifference:
    """A case that ended otherwise, or is in one run only."""

    case: str
    old_target: str
    new_target: str
    old: Verdict | None
    """None: it was not asked for."""
    new: Verdict | None
    message: str
    """Of the newer one that is no pass."""

    @property
    def sentence(self) -> str:
        """What became of what, for people."""
        targets = dict.fromkeys((self.old_target, self.new_target))
        told = f"{' → '.join(targets)} {self.case}: {_word(self.old)} → {_word(self.new)}"
        return f"{told}: {self.message}" if self.message else told


def differences(old: SuiteRun, new: SuiteRun) -> list[CaseDifference]:
    """Case by case over the targets of both; with one target each, these are compared.

    Raises `ChoiceError` when the runs have no target in common.
    """
    pairs = [(one, one) for one in old.header.targets if one in new.header.targets]
    if not pairs and len(old.header.targets) == len(new.header.targets) == 1:
        pairs = [(old.header.targets[0], new.header.targets[0])]
    if not pairs:
        raise ChoiceError("the runs have no target in common; compare runs of the same targets")
    cases = dict.fromkeys((*old.header.cases, *new.header.cases))
    found = [_compared(old, new, pair, case) for pair in pairs for case in cases]
    return [one for one in found if one.old is not one.new]


def _compared(old: SuiteRun, new: SuiteRun, pair: tuple[str, str], case: str) -> CaseDifference:
    before, after = pair
    end = new.end_of(after, case)
    return CaseDifference(
        case=case,
        old_target=before,
        new_target=after,
        old=old.verdict_of(before, case) if case in old.header.cases else None,
        new=new.verdict_of(after, case) if case in new.header.cases else None,
        message=end.message if end else "",
    )


def _word(verdict: Verdict | None) -> str:
    return str(verdict) if verdict else "not asked for"
