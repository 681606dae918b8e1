"""Batches of one producer get the numbers that come next, and not too many are open."""

from fencepost.fault_injection.workload.operations import Produce
from fencepost.fault_injection.workload.producer_window import ProducerWindow
from fencepost.spec.vocabulary import ProducerId
from fencepost.spec.znodes import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(window: ProducerWindow, values: str, partition: TopicPartition = T0) -> Produce:
    return window.number(Produce(partition=partition, values=tuple(values)))


def test_each_partition_counts_its_records() -> None:
    window = ProducerWindow(5, ProducerId(7))

    sent = [batch(window, "ab"), batch(window, "c"), batch(window, "d", T1)]

    assert [(one.producer_id, one.base_sequence) for one in sent] == [(7, 0), (7, 2), (7, 0)]


def test_a_window_is_full_up_to_its_first_open_batch() -> None:
    window = ProducerWindow(2)
    first, second = batch(window, "a"), batch(window, "b")
    assert window.is_full(T0)
    assert not window.is_full(T1)

    window.acknowledged(second)
    assert window.is_full(T0)
    window.acknowledged(first)

    assert not window.is_full(T0)


def test_a_batch_is_first_when_all_before_it_is_acknowledged() -> None:
    window = ProducerWindow(2)
    first, second = batch(window, "a"), batch(window, "b")

    assert (window.is_first(first), window.is_first(second)) == (True, False)
    window.acknowledged(first)
    assert window.is_first(second)


def test_what_is_given_up_ends_the_epoch_of_its_partition() -> None:
    window = ProducerWindow(3)
    first, second, other = batch(window, "a"), batch(window, "b"), batch(window, "c", T1)

    window.give_up(second)
    window.give_up(first)
    again = batch(window, "d")

    assert (again.producer_epoch, again.base_sequence) == (1, 0)
    assert [window.is_current(one) for one in (first, second, other)] == [False, False, True]


def test_a_late_acknowledgement_of_a_former_epoch_changes_nothing() -> None:
    window = ProducerWindow(1)
    former = batch(window, "a")
    window.give_up(former)
    batch(window, "b")

    window.acknowledged(former)

    assert window.is_full(T0)
