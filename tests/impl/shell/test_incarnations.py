"""A folder knows its incarnation, and goes as a whole."""

from pathlib import Path

import pytest

from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.storage import DELETED, Storage, recovered_logs
from fencepost.spec.vocabulary import NO_INCARNATION, LeaderEpoch, Offset, PartitionIncarnation
from fencepost.spec.znodes import TopicPartition

T0 = TopicPartition("t", 0)
OLD, NEW = PartitionIncarnation(2**40), PartitionIncarnation(2**40 + 1)
RECORD = Record(LeaderEpoch(0), "a")


def begun(folder: Path, incarnation: PartitionIncarnation) -> Storage:
    storage = Storage(folder)
    storage.begin(T0, incarnation)
    storage.append(T0, Offset(0), [RECORD])
    return storage


def found(folder: Path) -> dict[TopicPartition, tuple[Offset, PartitionIncarnation]]:
    storage = Storage(folder)
    logs = recovered_logs(storage.recover())
    storage.close()
    return {key: (log.log_end_offset, log.partition_incarnation) for key, log in logs.items()}


def test_a_folder_keeps_the_incarnation_that_it_was_begun_with(tmp_path: Path) -> None:
    storage = begun(tmp_path, OLD)
    storage.begin(T0, NEW)
    storage.close()

    assert found(tmp_path) == {T0: (1, OLD)}


def test_a_folder_that_does_not_tell_has_no_incarnation(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    storage.append(T0, Offset(0), [RECORD])
    storage.close()

    assert found(tmp_path) == {T0: (1, NO_INCARNATION)}


def test_of_a_deleted_log_nothing_is_left(tmp_path: Path) -> None:
    storage = begun(tmp_path, OLD)
    storage.delete(T0)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    storage.delete(T0)

    storage.begin(T0, NEW)
    storage.append(T0, Offset(0), [RECORD])
    storage.close()
    assert found(tmp_path) == {T0: (1, NEW)}


def test_a_deletion_that_a_crash_cut_short_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(_: Path) -> None:
        raise KeyboardInterrupt

    storage = begun(tmp_path, OLD)
    with monkeypatch.context() as patch:
        patch.setattr("fencepost.impl.shell.storage.storage.shutil.rmtree", crash)
        with pytest.raises(KeyboardInterrupt):
            storage.delete(T0)
    storage.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [f"t-0{DELETED}"]

    assert found(tmp_path) == {}
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
