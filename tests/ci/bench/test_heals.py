"""The table of how long faults took to be healed."""

from pathlib import Path

import pytest

from fencepost.ci.bench.heals import main
from fencepost.spec.trace import Kind, Phase, TraceEvent, encode


def write(folder: Path, *phases: tuple[Phase, int]) -> None:
    """One fault, with each phase at its ms."""
    lines = [
        TraceEvent(
            run_id="r",
            node="harness",
            seq=seq,
            mono_ns=at_ms * 1_000_000,
            kind=Kind.FAULT,
            action="proc.kill",
            fault="proc.kill",
            fault_id="f",
            broker_id=2,
            phase=phase,
        )
        for seq, (phase, at_ms) in enumerate(phases)
    ]
    folder.mkdir()
    (folder / "trace-harness.ndjson").write_bytes(b"".join(map(encode, lines)))


@pytest.mark.parametrize(
    ("ended", "ended_ms", "code"),
    [(Phase.HEALED, 3000, 0), (Phase.HEALED, 3500, 1), (Phase.FAILED, 1001, 1)],
)
def test_what_heals_late_or_never_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ended: Phase, ended_ms: int, code: int
) -> None:
    phases = ((Phase.INJECTING, 0), (Phase.ACTIVE, 10), (Phase.HEALING, 1000), (ended, ended_ms))
    write(tmp_path / "a", *phases)

    assert main([str(tmp_path)]) == code
    assert "proc.kill" in capsys.readouterr().out


def test_start_of_a_process_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", (Phase.INJECTING, 0), (Phase.HEALING, 1000), (Phase.HEALED, 2900))
    started = TraceEvent(
        run_id="r",
        node="broker-2",
        seq=1,
        mono_ns=2_740_000_000,
        kind=Kind.RUN,
        action="NodeStarted",
    )
    (tmp_path / "a" / "trace-broker-2.ndjson").write_bytes(encode(started))

    assert main([str(tmp_path)]) == 0
    *_, row = capsys.readouterr().out.split("proc.kill")
    assert row.split()[-2:] == ["1.90", "1.74"]


def test_folder_without_faults_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 4
    assert "holds no trace of a fault" in capsys.readouterr().err


def test_a_trace_that_cannot_be_read_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a", (Phase.ACTIVE, 10), (Phase.HEALING, 20), (Phase.HEALED, 30))
    (tmp_path / "a" / "trace-broker-1-1.ndjson").mkdir()
    (tmp_path / "a" / "trace-broker-2-1.ndjson").write_bytes(b"hello\n")

    code = main([str(tmp_path)])

    told = capsys.readouterr().err
    assert code == 3
    assert "trace-broker-1-1.ndjson cannot be read: Is a directory" in told
    assert "trace-broker-2-1.ndjson has 1 line that is no event" in told
