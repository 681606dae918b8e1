"""Verdicts that were reached before, found again by the content of what was checked.

An entry is a finding of TLC, counterexample included, under a hash of everything that it follows
from: the root module and all that it reads, the configuration, TLC itself, and the code that reads
its output. A search that did not end is never kept.
"""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from fencepost.spec.tlc import counterexample, simulation, values
from fencepost.spec.tlc.cache.cache_folder import cache_folder, write_whole
from fencepost.spec.tlc.counterexample import Counterexample, CounterexampleState
from fencepost.spec.tlc.java import dialect, output
from fencepost.spec.tlc.java.output import Counts, TlcFinding
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.modules import modules_read

FOLDER = "models"
_READERS = (counterexample, dialect, output, simulation, values)
_FINAL = frozenset(ModelVerdict) - {ModelVerdict.NOT_EXHAUSTED, ModelVerdict.ERROR}


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    verdict: ModelVerdict
    violated: str | None
    distinct: int
    generated: int
    queued: int
    states: list[dict[str, Any]] | None
    back_to: int | None
    taken: list[tuple[str, str, int]] = []


def key_of(root: Path, config: str, jar: Path, mutants: Iterable[Path] = ()) -> str:
    """The hash of all that a finding follows from, in hexadecimal."""
    parts = [root.stem, config, hash_of_file(jar), _hash_of_readers()]
    for module in (*modules_read(root), *mutants):
        parts += [module.name, hash_of_file(module)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def hash_of_file(path: Path) -> str:
    """SHA-256 of what is in the file now."""
    status = path.stat()
    return _hash_of(path, status.st_mtime_ns, status.st_size)


@cache
def _hash_of(path: Path, _changed_ns: int, _size: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def _hash_of_readers() -> str:
    texts = [Path(module.__file__ or "").read_bytes() for module in _READERS]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def find(key: str) -> TlcFinding | None:
    """What was found under `key`; None when nothing was, or what is there is not whole."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        hash_, _, content = _path(folder, key).read_bytes().partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != hash_:
            return None
        return _finding(msgspec.json.decode(content, type=_Entry))
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return None


def keep(key: str, finding: TlcFinding) -> None:
    """Keep a finding that is final; where nothing can be kept, that is no error."""
    folder = cache_folder()
    if folder is None or finding.verdict not in _FINAL:
        return
    content = msgspec.json.encode(_entry(finding))
    hash_ = hashlib.sha256(content).hexdigest().encode()
    write_whole(_path(folder, key), hash_ + b"\n" + content)


def _path(folder: Path, key: str) -> Path:
    return folder / FOLDER / key[:2] / key


def _entry(finding: TlcFinding) -> _Entry:
    behaviour = finding.counterexample
    return _Entry(
        verdict=finding.verdict,
        violated=finding.violated,
        distinct=finding.counts.distinct,
        generated=finding.counts.generated,
        queued=finding.counts.queued,
        states=behaviour.as_data() if behaviour else None,
        back_to=behaviour.back_to if behaviour else None,
        taken=[(module, action, number) for (module, action), number in finding.taken.items()],
    )


def _finding(entry: _Entry) -> TlcFinding:
    behaviour = None
    if entry.states is not None:
        states = tuple(CounterexampleState(**state) for state in entry.states)
        behaviour = Counterexample(states=states, back_to=entry.back_to)
    return TlcFinding(
        verdict=entry.verdict,
        violated=entry.violated,
        counts=Counts(generated=entry.generated, distinct=entry.distinct, queued=entry.queued),
        counterexample=behaviour,
        taken={(module, action): number for module, action, number in entry.taken},
    )
