"""A run that is over, read from its folder: of the gate, of chaos, of seeds or of the suite."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fencepost.ci.gate.failures import HarnessError, UsageError, as_usage
from fencepost.ci.gate.runs import require_folder
from fencepost.ci.gate.verdict_files import STAGES, VERDICT, StageRecord
from fencepost.ci.results.cases import CaseGroup, groups_of
from fencepost.ci.results.suite_cases import suite_groups
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.suite.records import RESULTS, read_run
from fencepost.conformance.verdict import Verdict

SETTINGS = ("command", "tier", "level", "seed", "target", "shard")
"""What two runs should have in common before they are compared."""


class StoredStage(msgspec.Struct, frozen=True):
    """A stage as `stages.json` has it."""

    stage: str
    verdict: Verdict
    seconds: float = 0.0
    summary: str = ""
    figures: dict[str, Any] = {}
    detail: dict[str, Any] = {}

    @property
    def record(self) -> StageRecord:
        """As the gate has it."""
        return StageRecord(
            stage=self.stage,
            verdict=self.verdict,
            seconds=self.seconds,
            summary=self.summary,
            figures=self.figures,
            detail=self.detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """What a run found, case by case."""

    folder: Path
    groups: tuple[CaseGroup, ...]
    settings: dict[str, str] = field(default_factory=dict)
    """How it was run, as far as it says so."""


def read_stored(folder: Path) -> PastRun:
    """The cases of a run; raises `UsageError` for another folder, `HarnessError` for a bad file."""
    require_folder(folder)
    if (folder / RESULTS).is_file():
        with as_usage(ChoiceError):
            return PastRun(folder=folder, groups=tuple(suite_groups(read_run(folder))))
    records = read_stages(folder)
    if not records:
        raise UsageError(f"{folder} is not a run folder: it holds no {STAGES} and no {RESULTS}")
    verdict = read_verdict(folder)
    settings = {name: str(verdict[name]) for name in SETTINGS if name in verdict}
    return PastRun(folder=folder, groups=tuple(groups_of(records)), settings=settings)


def read_stages(folder: Path) -> list[StageRecord]:
    """The stages that ended so far; none without the file. Raises `HarnessError`."""
    path = folder / STAGES
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[StoredStage])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HarnessError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        told = f"{path} is not what a run leaves ({error}); is the folder whole?"
        raise HarnessError(told) from error
    return [stage.record for stage in found]


def read_verdict(folder: Path) -> dict[str, Any]:
    """What the run said at its end; empty for one that did not end. Raises `HarnessError`."""
    path = folder / VERDICT
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise HarnessError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise HarnessError(f"{path} is no JSON ({error}); is the folder whole?") from error
    if not isinstance(found, dict):
        raise HarnessError(f"{path} is not what a run leaves; is the folder whole?")
    return found
