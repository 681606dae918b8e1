"""`results.jsonl` of a run of the suite: one record per line, each flushed as it comes.

A run that was killed has all lines up to then and no footer; readers say that it is incomplete.
`results.schema.json` says the same to other programs.
"""

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedWriter
from pathlib import Path

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.verdict import Verdict

SCHEMA = "fencepost-conformance/1"
RESULTS = "results.jsonl"
SCHEMA_FILE = Path("conformance/suite/results.schema.json")
MANIFEST = "MANIFEST.sha256"
"""As `sha256sum -c` reads it: the results, and what the cases left."""


class ResultRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """One line."""


class Header(ResultRecord, frozen=True, kw_only=True, tag="header"):
    """What was asked for."""

    schema: str
    version: str
    """Of Fencepost."""
    catalogue: str
    """A digest of cases, profiles and requirements: two runs with the same one can be compared."""
    targets: tuple[str, ...]
    profile: str
    select: tuple[str, ...]
    skip: tuple[str, ...]
    seed: int | None
    """None: that of each case."""
    started: str
    """In UTC, as ISO 8601."""
    command: str
    """What runs the same again."""
    cases: tuple[str, ...]
    """What every target is to play."""
    confirm: int = 0
    """How often a case that waited in vain is played again."""

    @property
    def is_whole(self) -> bool:
        """True when nothing of the profile was left out: only then there is a claim."""
        return bool(self.profile) and not self.select and not self.skip


class TargetRecord(ResultRecord, frozen=True, kw_only=True, tag="target"):
    """What a target declares, before its first case."""

    target: str
    name: str
    levels: tuple[int, ...]
    wire: str
    """What its brokers speak."""
    znodes: str
    """The dialect of its state in ZooKeeper; empty: the state is not there."""
    dialect: str
    """By which its traces are judged."""
    capabilities: tuple[str, ...]
    observes: dict[str, str]
    """Kind of events -> fidelity."""
    definite_errors: tuple[str, ...]
    """Of a produce: that nothing was appended."""
    differences: tuple[str, ...]

    @classmethod
    def of(cls, target: str, implementation: Implementation) -> "TargetRecord":
        """What the implementation declares."""
        has_znodes = Capability.ZOOKEEPER in implementation.capabilities
        return cls(
            target=target,
            name=implementation.name,
            levels=implementation.levels,
            wire=implementation.wire_protocol,
            znodes=implementation.znode_dialect.name if has_znodes else "",
            dialect=implementation.trace_dialect.name,
            capabilities=tuple(sorted(implementation.capabilities)),
            observes={str(kind): str(one) for kind, one in implementation.observes.items()},
            definite_errors=tuple(sorted(implementation.definite_errors)),
            differences=implementation.differences,
        )


class CaseStart(ResultRecord, frozen=True, kw_only=True, tag="case_start"):
    """A case begins."""

    target: str
    case: str


class RequirementRecord(ResultRecord, frozen=True, kw_only=True, tag="verdict"):
    """What a case says of one requirement."""

    target: str
    case: str
    requirement: str
    verdict: Verdict
    premise_count: int = 0
    message: str = ""


class CaseTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of several runs of a case on one target."""

    verdict: Verdict
    message: str = ""
    folder: str = ""
    seconds: float = 0.0


class CaseEnd(ResultRecord, frozen=True, kw_only=True, tag="case_end"):
    """A case is over."""

    target: str
    case: str
    verdict: Verdict
    message: str = ""
    """Why it is no pass, in one sentence."""
    violated: tuple[str, ...] = ()
    """The checks that found something."""
    seconds: float = 0.0
    events: int = 0
    folder: str = ""
    """Of its traces, below that of the run."""
    others: tuple[str, ...] = ()
    """Topics in these traces that belong to other cases."""
    again: str = ""
    """The command that runs it again."""
    tries: tuple[CaseTry, ...] = ()
    """All of its runs, when it was played again to confirm what came of it."""

    @property
    def is_flaky(self) -> bool:
        """True when it failed, and passed when it was played again."""
        return any(one.verdict is Verdict.PASS for one in self.tries)


class Footer(ResultRecord, frozen=True, kw_only=True, tag="footer"):
    """All that was asked for has run."""

    counts: dict[str, int]
    """Cases by verdict, over all targets."""
    seconds: float
    complete: bool = True


AnyRecord = Header | TargetRecord | CaseStart | RequirementRecord | CaseEnd | Footer


def schema_text() -> str:
    """What `results.schema.json` holds."""
    found = msgspec.json.schema(AnyRecord)
    for definition in found["$defs"].values():
        definition["description"] = inspect.cleandoc(definition.get("description", ""))
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Fencepost: one line of {RESULTS}, {SCHEMA}",
    }
    return json.dumps({**schema, **found}, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """Appends records; each is on its way to the disk when `write` returns."""

    file: BufferedWriter

    def write(self, record: AnyRecord) -> None:
        """Append one line."""
        self.file.write(msgspec.json.encode(record) + b"\n")
        self.file.flush()


@contextmanager
def appending(folder: Path) -> Iterator[ResultWriter]:
    """The results of the run in `folder`."""
    with (folder / RESULTS).open("ab") as file:
        yield ResultWriter(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """What the results of a run say."""

    folder: Path
    header: Header
    ends: tuple[CaseEnd, ...] = ()
    """The last end of each case on each target."""
    requirements: tuple[RequirementRecord, ...] = ()
    targets: tuple[TargetRecord, ...] = ()
    footer: Footer | None = None
    doubts: tuple[str, ...] = ()
    """Why it is not whole, one sentence each."""

    def end_of(self, target: str, case_id: str) -> CaseEnd | None:
        """How the case ended on the target; None when it did not."""
        found = [one for one in self.ends if (one.target, one.case) == (target, case_id)]
        return found[-1] if found else None

    def verdict_of(self, target: str, case_id: str) -> Verdict:
        """The verdict of the case on the target; `NOT_RUN` when it did not end."""
        end = self.end_of(target, case_id)
        return end.verdict if end else Verdict.NOT_RUN

    @property
    def verdicts(self) -> list[Verdict]:
        """Of every case on every target that was asked for."""
        return [
            self.verdict_of(target, case)
            for target in self.header.targets
            for case in self.header.cases
        ]


def read_run(folder: Path) -> SuiteRun:
    """The results of a run; raises `ChoiceError` when there are none that can be read."""
    path = folder / RESULTS
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ChoiceError(
            f"{path}: {error.strerror}; name the folder of a run of fencepost conform"
        ) from error
    doubts: list[str] = []
    records = list(_records(path, lines, doubts))
    header = records[0] if records else None
    if not isinstance(header, Header):
        raise ChoiceError(f"{path} has no header; name the folder of a run of fencepost conform")
    if header.schema != SCHEMA:
        raise ChoiceError(f"{path} is of schema {header.schema}; this Fencepost reads {SCHEMA}")
    return _run_of(folder, header, records, doubts)


def _records(path: Path, lines: list[bytes], doubts: list[str]) -> Iterator[AnyRecord]:
    decoder = msgspec.json.Decoder(AnyRecord)
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError as error:
            doubts.append(f"line {number} of {path.name} is no record: {error}")


def _run_of(
    folder: Path, header: Header, records: Sequence[AnyRecord], doubts: list[str]
) -> SuiteRun:
    ends: dict[tuple[str, str], CaseEnd] = {}
    judged: dict[tuple[str, str, str], RequirementRecord] = {}
    targets: dict[str, TargetRecord] = {}
    footer: Footer | None = None
    for record in records[1:]:
        match record:
            case TargetRecord():
                targets[record.target] = record
            case CaseStart():
                footer = None
                ends.pop((record.target, record.case), None)
                for key in [k for k in judged if k[:2] == (record.target, record.case)]:
                    del judged[key]
            case RequirementRecord():
                judged[record.target, record.case, record.requirement] = record
            case CaseEnd():
                ends[record.target, record.case] = record
            case Footer():
                footer = record
            case Header():
                doubts.append("there is more than one header")
    run = SuiteRun(
        folder=folder,
        header=header,
        ends=tuple(ends.values()),
        requirements=tuple(r for k, r in judged.items() if k[:2] in ends),
        targets=tuple(targets.values()),
        footer=footer,
    )
    missing = run.verdicts.count(Verdict.NOT_RUN)
    if footer is None:
        told = f"{missing} of {len(run.verdicts)} cases were not played"
        doubts.append(f"the run was cut off: {told}; fencepost conform run --resume goes on")
    elif footer.counts != counts_of(run.verdicts):
        doubts.append("the footer counts other verdicts than the records have")
    return replace(run, doubts=tuple(doubts))


def write_manifest(folder: Path) -> None:
    """Write down what the files of a run are that is over."""
    found = [folder / RESULTS, *sorted(path for path in folder.glob("*/**/*") if path.is_file())]
    lines = (f"{_digest(path)}  {path.relative_to(folder)}\n" for path in found)
    (folder / MANIFEST).write_text("".join(lines), encoding="utf-8")


def altered(folder: Path) -> list[str]:
    """Which files are not as they were when the run was over, one sentence each."""
    try:
        lines = (folder / MANIFEST).read_text("utf-8").splitlines()
    except OSError:
        return [f"there is no {MANIFEST}: nothing tells what the files were"]
    named = (line.partition("  ") for line in lines)
    digests = {name: digest for digest, _, name in named}
    missing = [name for name in digests if not (folder / name).is_file()]
    changed = (n for n, one in digests.items() if n not in missing and _digest(folder / n) != one)
    return [
        *(f"{name} is missing" for name in missing),
        *(f"{name} has changed" for name in changed),
    ]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def counts_of(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many there are of each verdict."""
    found = list(verdicts)
    return {str(verdict): found.count(verdict) for verdict in Verdict if verdict in found}
