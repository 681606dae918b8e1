"""A session of the gate that can be gone on with after a kill.

`session.json` says what was asked for, of which program, and which files each stage left. A stage
is whole when its record says that it ended and all its files are as it left them; of anything else
the folder is emptied, and it runs again, and so does what reads it.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import msgspec

from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.ci.gate.runs import require_folder
from fencepost.ci.gate.shards import Shard
from fencepost.ci.gate.verdict_files import GateRun, GateStage, StageRecord, versions, write_json
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier

SESSION = "session.json"
LOCK = "session.lock"
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ("ci", "conformance", "fault_injection", "impl", "reports", "spec")
"""The rooms with texts that decide what a stage finds."""
TEXTS = frozenset({".py", ".toml", ".yaml", ".tla", ".cfg", ".json"})
AGAIN = frozenset({Verdict.NOT_RUN, Verdict.ERROR})
"""A stage that ended like this is run again."""


class SessionFile(msgspec.Struct, frozen=True, kw_only=True):
    """What `session.json` holds."""

    run_id: str
    tier: Tier
    level: int
    seed: int
    zookeeper: str
    spark_master: str | None = None
    baseline: str | None = None
    workers: int | None = None
    shard: str = "1/1"
    target: str = ""
    program: str
    """A digest of the program's text, and its versions: another program goes on with nothing."""
    stages: dict[str, dict[str, str]] = {}
    """Stage -> file below the folder -> size and digest."""


@cache
def program_digest(root: Path = ROOT) -> str:
    """The same for the same text, and the same versions of what it stands on; read once."""
    digest = hashlib.sha256(json.dumps(versions(), sort_keys=True).encode())
    for room in PROGRAM:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in TEXTS and path.is_file():
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def begin_session(run: GateRun) -> None:
    """`session.json` says what was asked for."""
    _write(run, {})


def note_stage(run: GateRun, stage: GateStage) -> None:
    """`session.json` says which files the stage left; its record is written after that."""
    stages = read_session(run.folder).stages
    _write(run, {**stages, stage.name: files_of(run.folder, stage.leaves)})


def read_session(folder: Path) -> SessionFile:
    """What was asked for; raises `UsageError` without a session, `HarnessError` for a bad file."""
    require_folder(folder)
    path = folder / SESSION
    try:
        return msgspec.json.decode(path.read_bytes(), type=SessionFile)
    except FileNotFoundError:
        raise UsageError(f"{folder} holds no {SESSION}: no gate was begun there") from None
    except OSError as error:
        raise HarnessError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise HarnessError(
            f"{path} is not what a gate leaves ({error}); begin a new one"
        ) from error


def stored_run(folder: Path) -> GateRun:
    """The run as it was asked for; raises `UsageError` when the program is another one by now."""
    session = read_session(folder)
    if session.program != program_digest():
        raise UsageError(
            f"the program has changed since {folder} was begun, so its stages cannot stand beside "
            "new ones; begin a new gate"
        )
    return GateRun(
        folder=folder,
        run_id=session.run_id,
        tier=session.tier,
        level=session.level,
        seed=session.seed,
        zookeeper=session.zookeeper,
        spark_master=session.spark_master,
        baseline=Path(session.baseline) if session.baseline else None,
        workers=session.workers,
        shard=Shard.parse(session.shard),
        target=session.target,
    )


def whole_stages(
    run: GateRun, records: Sequence[StageRecord], stages: Sequence[GateStage]
) -> list[StageRecord]:
    """The records of stages that need not run again, in the order of the stages."""
    left, ended = read_session(run.folder).stages, {record.stage: record for record in records}
    whole: dict[str, StageRecord] = {}
    for stage in stages:
        record = ended.get(stage.name)
        if record is None or record.verdict in AGAIN or stage.name not in left:
            continue
        builds_on = [one.name for one in stages if one.name in stage.reads]
        is_same = left[stage.name] == files_of(run.folder, stage.leaves)
        if is_same and all(name in whole for name in builds_on):
            whole[stage.name] = record
    return list(whole.values())


def clear_stage(run: GateRun, stage: GateStage) -> None:
    """Nothing is left of what the stage had begun, nor is it told to be whole."""
    if (run.folder / SESSION).is_file():
        others = read_session(run.folder).stages
        _write(run, {name: files for name, files in others.items() if name != stage.name})
    for name in stage.leaves:
        path = run.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def files_of(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Size and digest of each file at or below these names; what is not there has none."""
    found = [path for name in names for path in (folder / name, *(folder / name).rglob("*"))]
    return {str(path.relative_to(folder)): _told(path) for path in sorted(found) if path.is_file()}


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Inside, no other gate runs in `folder`; raises `UsageError` while one does."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise UsageError(f"a gate still runs in {folder}; wait for its end") from error
    finally:
        os.close(descriptor)


def _told(path: Path) -> str:
    with path.open("rb") as file:
        return f"{path.stat().st_size} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _write(run: GateRun, stages: dict[str, dict[str, str]]) -> None:
    document = SessionFile(
        run_id=run.run_id,
        tier=run.tier,
        level=run.level,
        seed=run.seed,
        zookeeper=run.zookeeper,
        spark_master=run.spark_master,
        baseline=str(run.baseline.resolve()) if run.baseline else None,
        workers=run.workers,
        shard=str(run.shard),
        target=run.target,
        program=program_digest(),
        stages=stages,
    )
    write_json(run.folder / SESSION, msgspec.to_builtins(document))
