"""The page as plain values: what the template shows, in its order, with its words."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.evidence import WitnessLine
from fencepost.reports.analysis.folder_report import CheckOutcome, FolderReport, FoundViolation
from fencepost.reports.analysis.metrics import PhaseLatency
from fencepost.reports.analysis.stages import Detail, ModelRow, SimulatedViolation
from fencepost.reports.page.comparison import RunComparison
from fencepost.reports.page.proofs import ProofTable
from fencepost.spec.vocabulary import Invariant


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number worth a glance."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLink:
    """A file that lies beside the page."""

    name: str
    address: str
    """Relative to the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage of the gate."""

    name: str
    verdict: Verdict
    seconds: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMark:
    """A record of a replica's log, or the lack of one that another replica holds."""

    offset: int
    value: str
    leader_epoch: int
    differs: bool
    """True when another replica holds something else at this offset."""
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRow:
    """One line of the table of replicas."""

    broker_id: int
    colour: str
    process: str
    role: str
    leader: str
    leader_epoch: str
    isr: str
    high_watermark: str
    log_end_offset: str
    records: tuple[RecordMark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Violations of one invariant that say the same of different offsets, epochs or records."""

    first: FoundViolation
    others: tuple[FoundViolation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenCheck:
    """One invariant that a run violated."""

    invariant: Invariant
    promise: str
    groups: tuple[Alike, ...]
    omitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step of a diagram in words."""

    anchor: str
    time: str
    node: str
    text: str
    kinds: str
    """What it can be looked for as, as in the diagram."""
    is_proof: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepGroup:
    """A main step of a diagram, after the events that stand between it and the one before."""

    hidden: int
    """Events between; the page holds the `rows` of them."""
    rows: tuple[StepRow, ...]
    step: StepRow | None
    """None after the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedGroup:
    """Seeds of the simulator that violated one invariant in one way."""

    first: SimulatedViolation
    others: tuple[SimulatedViolation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One run that violated something, told from its first violation on."""

    anchor: str
    title: str
    headline: str
    facts: str
    reproduce: str
    first: str
    first_invariant: str
    witness: tuple[WitnessLine, ...]
    at: str
    before: str
    replicas: tuple[ReplicaRow, ...]
    diagram: Markup
    narrow_diagram: Markup
    """The same for a phone."""
    steps: tuple[StepGroup, ...]
    """The diagram as a list."""
    checks: tuple[BrokenCheck, ...]
    files: tuple[FileLink, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLike:
    """Runs that broke in the same way: one is told in full, the others in a line each."""

    first: Broken
    others: tuple[Broken, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """One run as a picture."""

    title: str
    facts: str
    picture: Markup
    narrow_picture: Markup
    """The same for a phone."""
    left_out: str
    moments: tuple[tuple[str, str, str, str], ...]
    """(time, subject, what it can be looked for as, sentence): what happened, in order."""
    is_open: bool
    """True when they are shown without being asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRow:
    """One phase of failover after one kind of fault."""

    row: PhaseLatency
    phase: str
    is_first: bool
    picture: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One requirement and what this run says of it."""

    requirement: str
    title: str
    level: str
    checks: str
    verdict: Verdict
    status: str
    is_planned: bool
    """True when nothing judges it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardRow:
    """One place where a text is wrong or silent, and the models of this run that show it."""

    hazard: str
    title: str
    source: str
    is_refuted: bool
    """True when it turned out to be none."""
    text: str
    repair: str
    story: tuple[str, ...]
    models: tuple[ModelRow, ...]
    """Those that follow the text; empty when this run had none of them."""
    command: str
    """Runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything that the template shows."""

    verdict: Verdict
    headline: str
    subline: str
    figures: tuple[Figure, ...]
    broken: tuple[BrokenLike, ...]
    broken_otherwise: tuple[Broken, ...]
    """Those that are told in a line for want of room."""
    seeds: tuple[SeedGroup, ...]
    stages: tuple[StageRow, ...]
    detail: Detail
    checks: tuple[CheckOutcome, ...]
    promises: dict[str, str]
    timelines: tuple[TimelineView, ...]
    latencies: tuple[LatencyRow, ...]
    failover_note: str
    proofs: tuple[ProofTable, ...]
    hazards: tuple[HazardRow, ...]
    matrix: tuple[MatrixRow, ...]
    folders: tuple[FolderReport, ...]
    analysis: Analysis
    files: Mapping[str, tuple[FileLink, ...]]
    """What lies in each trace folder, by its name."""
    run_files: tuple[FileLink, ...]
    left_out: tuple[str, ...]
    baseline: RunComparison | None = None
    """What differs from a run that was named; None: none was."""
