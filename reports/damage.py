"""What is wrong with the trace files of one run, in sentences that name the file.

A run whose broker left no trace cannot be judged: what that broker wrote would look like the deed
of a stranger.
"""

from collections.abc import Sequence

from reports.ingest import FileHealth
from reports.words import count


def missing_brokers(files: Sequence[FileHealth], brokers: int | None) -> tuple[int, ...]:
    """The brokers, of 1 to `brokers`, that no line of the run comes from."""
    heard = {node for file in files for node in file.nodes}
    return tuple(b for b in range(1, (brokers or 0) + 1) if f"broker-{b}" not in heard)


def damage_of(folder: str, files: Sequence[FileHealth]) -> tuple[str, ...]:
    """One sentence per defect, by file; none when every line of every file was read."""
    where = "" if folder == "." else f"{folder}/"
    ordered = sorted(files, key=_name)
    told = (sentence for file in ordered for sentence in _defects(f"{where}{file.file}", file))
    return tuple(sentence for sentence in told if sentence)


def _name(file: FileHealth) -> str:
    return file.file


def _defects(name: str, file: FileHealth) -> tuple[str, ...]:
    first = f", the first at line {file.foreign_examples[0]}" if file.foreign_examples else ""
    foreign = f"{count(file.foreign_lines, 'line')} of {name} cannot be read{first}."
    lost = f"{count(file.missing_lines, 'event')} of {name} are missing by their numbers."
    return (
        foreign if file.foreign_lines else "",
        f"{name} ends in the middle of a line." if file.torn_lines else "",
        lost if file.missing_lines else "",
        f"{name} is empty." if not file.lines and not file.torn_lines else "",
    )
