"""What survives a crash."""

import pytest

from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.sim.world.disk import SimulatedDisk
from fencepost.spec.vocabulary import LeaderEpoch, Offset, PartitionIncarnation
from tests.impl.core.build import T0, T1, records

INCARNATION = PartitionIncarnation(7)


def disk() -> SimulatedDisk:
    """t/0 with records of the epochs 0, 0, 3."""
    filled = SimulatedDisk()
    filled.start_log(T0, INCARNATION)
    filled.append(T0, Offset(0), records(0, 0))
    filled.append(T0, Offset(2), records(3))
    return filled


def test_a_start_finds_records_epochs_and_checkpoint() -> None:
    crashed = disk()
    crashed.start_log(T1, INCARNATION)
    crashed.checkpoint(T0, Offset(2))

    assert crashed.recover() == {
        T0: RecoveredLog(
            log_end_offset=Offset(3),
            high_watermark=Offset(2),
            epoch_starts=((LeaderEpoch(0), Offset(0)), (LeaderEpoch(3), Offset(2))),
            partition_incarnation=INCARNATION,
        ),
        T1: RecoveredLog(
            log_end_offset=Offset(0),
            high_watermark=Offset(0),
            partition_incarnation=INCARNATION,
        ),
    }


def test_a_checkpoint_above_the_log_end_is_capped() -> None:
    cut = disk()
    cut.checkpoint(T0, Offset(3))
    cut.truncate(T0, Offset(1))

    assert cut.recover()[T0].high_watermark == 1
    assert cut.recover()[T0].epoch_starts == ((0, 0),)


@pytest.mark.parametrize("with_checkpoints", [False, True])
def test_of_a_wiped_disk_checkpoints_stay_or_nothing(with_checkpoints: bool) -> None:
    wiped = disk()
    wiped.start_log(T1, INCARNATION)
    wiped.checkpoint(T0, Offset(2))
    gone = wiped.wipe(with_checkpoints=with_checkpoints)

    begun = RecoveredLog(
        log_end_offset=Offset(0), high_watermark=Offset(0), partition_incarnation=INCARNATION
    )
    assert (gone, wiped.recover()) == ((2, {}) if with_checkpoints else (1, {T0: begun, T1: begun}))
    wiped.start_log(T0, INCARNATION)
    wiped.append(T0, Offset(0), records(4, 4, 4))
    assert wiped.recover()[T0].high_watermark == (0 if with_checkpoints else 2)


def test_of_a_deleted_log_nothing_is_left() -> None:
    emptied = disk()
    emptied.checkpoint(T0, Offset(3))
    emptied.delete(T0)
    emptied.start_log(T0, PartitionIncarnation(8))

    assert emptied.recover() == {
        T0: RecoveredLog(
            log_end_offset=Offset(0),
            high_watermark=Offset(0),
            partition_incarnation=PartitionIncarnation(8),
        )
    }


def test_starting_a_log_again_keeps_it() -> None:
    kept = disk()
    kept.start_log(T0, INCARNATION)

    assert kept.read(T0, Offset(1), Offset(3)) == (*records(0, 0)[1:], *records(3))


@pytest.mark.parametrize("offset", [2, 4])
def test_a_log_has_no_gap_and_no_overlap(offset: int) -> None:
    with pytest.raises(AssertionError, match="appends at"):
        disk().append(T0, Offset(offset), records(3))


def test_what_ends_there_is_not_cut() -> None:
    with pytest.raises(AssertionError, match="cuts at 3 what has 3 records"):
        disk().truncate(T0, Offset(3))


def test_what_is_not_in_the_log_cannot_be_read() -> None:
    with pytest.raises(AssertionError, match="not in the log"):
        disk().read(T0, Offset(2), Offset(4))
    assert disk().read(T0, Offset(3), Offset(3)) == ()
