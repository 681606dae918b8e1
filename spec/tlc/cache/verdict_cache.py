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
from fencepost.spec.tlc.cache.entries import find_entry, hash_of, keep_entry
from fencepost.spec.tlc.counterexample import Counterexample, CounterexampleState
from fencepost.spec.tlc.java import dialect, output
from fencepost.spec.tlc.java.output import Counts, TlcFinding
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.modules import modules_read

KIND = "models"
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
    return hash_of("\0".join(parts).encode())


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
    return hash_of(*(Path(module.__file__ or "").read_bytes() for module in _READERS))


def find(key: str) -> TlcFinding | None:
    """What was found under `key`; None when nothing was, or what is there is not whole."""
    if (content := find_entry(KIND, key)) is None:
        return None
    try:
        return _finding(msgspec.json.decode(content, type=_Entry))
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def keep(key: str, finding: TlcFinding) -> None:
    """Keep a finding that is final; where nothing can be kept, that is no error."""
    if finding.verdict in _FINAL:
        keep_entry(KIND, key, msgspec.json.encode(_entry(finding)))


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
