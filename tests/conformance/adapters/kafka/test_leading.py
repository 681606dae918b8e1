"""Where an epoch begins in a leader's log, and what it commits, by its lines in each release."""

import pytest

from fencepost.conformance.adapters.kafka.leading import Leading
from fencepost.spec.znodes import TopicPartition

KEY = TopicPartition("my-topic", 0)
EPOCH = 3
OLD = "DEBUG Partition [my-topic,0] on broker 1: "
NEW = "DEBUG [Partition my-topic-0 broker=1] "
BEGINS = {
    "0.10": OLD + "Skipping update high watermark since Old hw 8 [0 : 369] is larger than new hw "
    "-1 [0 : 0] for partition [my-topic,0]. All leo's are 9 [0 : 416],-1 [0 : 0] (kafka)",
    "0.10, alone": OLD + "High watermark for partition [my-topic,0] updated to 9 [0 : 416] (kafka)",
    "0.11": OLD + "my-topic-0 starts at Leader Epoch 3 from offset 9. Previous Leader Epoch was: 2",
    "1.1": NEW + "my-topic-0 starts at Leader Epoch 3 from offset 9. Previous Leader Epoch was: 2",
    "2.6": "INFO [Broker id=1] Leader my-topic-0 starts at leader epoch 3 from offset 9 with high "
    "watermark 8 ISR [1,2] addingReplicas [] removingReplicas []. Previous leader epoch was 2.",
    "3.9": "INFO [Broker id=1] Leader my-topic-0 with topic id Some(bi6) starts at leader epoch 3 "
    "from offset 9 with partition epoch 4, high watermark 8, ISR [1,2], adding replicas [] and "
    "removing replicas [] . Previous leader Some(2) and previous leader epoch was 2.",
}
ADVANCES = {
    "0.10": OLD + "High watermark for partition [my-topic,0] updated to {} [0 : 416] (kafka)",
    "0.11": OLD + "High watermark updated to {} [0 : 160] (kafka)",
    "1.1": NEW + "High watermark updated to {} [0 : 80] (kafka)",
    "2.1": NEW + "High watermark updated to (offset={} segment=[0:80]) (kafka)",
    "2.6": NEW
    + "High watermark updated from (offset=1 segment=[0:0]) to (offset={} segment=[0:8])",
    "3.9": NEW
    + "High watermark updated from (offset=1, segment=[0:0]) to (offset={}, segment=[0:])",
}


def leading() -> Leading:
    found = Leading()
    found.begin(KEY, EPOCH)
    return found


@pytest.mark.parametrize("release", BEGINS)
def test_a_leader_tells_where_its_epoch_begins(release: str) -> None:
    found = leading()
    found.read(BEGINS[release])

    assert found.log_end_offset(KEY, EPOCH) == 9
    assert found.log_end_offset(KEY, EPOCH + 1) is None


def test_up_to_0_10_only_a_new_leader_knows_its_own_log_end_from_others() -> None:
    again, caught_up = leading(), leading()
    again.read(BEGINS["0.10"])
    again.begin(KEY, EPOCH + 1)
    again.read(BEGINS["0.10"])
    caught_up.read(BEGINS["0.10"].replace("-1 [0 : 0] (", "7 [0 : 0] ("))
    caught_up.read(BEGINS["0.10"])

    assert again.log_end_offset(KEY, EPOCH + 1) is None
    assert caught_up.log_end_offset(KEY, EPOCH) is None


def test_one_that_followed_or_was_started_again_is_new() -> None:
    followed, started = leading(), leading()
    followed.end(KEY)
    started.read("INFO [Controller 1]: Controller starting up (kafka.controller.KafkaController)")
    for one in (followed, started):
        one.begin(KEY, EPOCH + 1)
        one.read(BEGINS["0.10"])

        assert one.log_end_offset(KEY, EPOCH + 1) == 9


def test_where_a_follower_starts_says_nothing() -> None:
    found = leading()
    found.read(BEGINS["2.6"].replace("Leader", "Follower"))

    assert found.log_end_offset(KEY, EPOCH) is None


@pytest.mark.parametrize("release", ADVANCES)
def test_an_advance_is_of_the_epoch_in_which_the_broker_leads(release: str) -> None:
    line = ADVANCES[release]

    assert leading().read(line.format(5)) == {
        "topic": "my-topic",
        "partition": 0,
        "leader_epoch": EPOCH,
        "high_watermark": 5,
    }
    assert Leading().read(line.format(5)) is None


def test_an_advance_that_was_written_late_says_nothing() -> None:
    found, line = leading(), ADVANCES["3.9"]

    told = [found.read(line.format(offset)) for offset in (5, 4, 6)]

    assert [one and one["high_watermark"] for one in told] == [5, None, 6]


def test_what_comes_until_a_broker_follows_is_of_the_epoch_in_which_it_led() -> None:
    found = leading()
    found.end(KEY)
    advance = found.read(ADVANCES["3.9"].format(5))

    assert advance
    assert advance["leader_epoch"] == EPOCH
