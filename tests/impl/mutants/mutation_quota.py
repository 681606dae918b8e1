"""What a mutant of the quota does to one controller: the observations of the kill table.

Two partitions per second, and twenty at once.
"""

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.topic_messages import CreateTopicRequest, CreateTopicResponse
from fencepost.impl.mutants.mutants import mutant_name, rules_of
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import BrokerId, ErrorCode, ProtocolLevel
from fencepost.spec.znodes import TOPICS
from tests.impl.core.configuration.test_config_store import put
from tests.impl.core.driver import Driver

NEW, OLD = 6, 5


def _controller(mutant: str | None) -> Driver:
    rules = rules_of(ProtocolLevel.BROKER_EPOCH, mutant_name(mutant) if mutant else None)
    driver = Driver(
        Config(broker_id=BrokerId(1), has_mutation_quota=True, quota_window_num=10, rules=rules)
    )
    driver.start()
    driver.acknowledge_commands()
    put(driver, ConfigEntity(EntityKind.USER, ("",)), "2")
    return driver


def _create(
    driver: Driver, partitions: int, *, user: str = "ann", version: int = NEW, only: bool = False
) -> tuple[bool, int]:
    """Whether it was admitted, and the throttle time."""
    request = CreateTopicRequest(
        topic=f"t{len(driver.zookeeper.children(TOPICS))}",
        partition_count=partitions,
        user=user,
        client_id="x",
        api_version=version,
        validate_only=only,
    )
    response = driver.deliver(request, CreateTopicResponse)
    is_refused = response.error_code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    return not is_refused, response.throttle_time_ms


def admitted_after(mutant: str | None, partitions: int, wait_ms: int) -> bool:
    """Whether one more is admitted so long after so many."""
    driver = _controller(mutant)
    _create(driver, partitions)
    driver.tick(wait_ms)
    return _create(driver, 1)[0]


def in_debt(mutant: str | None) -> bool:
    """After 30, ten too many."""
    return admitted_after(mutant, 30, 0)


def after_the_wait(mutant: str | None) -> bool:
    """After 30, and the five seconds in which ten are given back."""
    return admitted_after(mutant, 30, 5_000)


def in_half_a_partition_of_debt(mutant: str | None) -> bool:
    """After 21, a quarter of a second later."""
    return admitted_after(mutant, 21, 250)


def after_an_hour_of_silence(mutant: str | None) -> bool:
    """After 1, and an hour, and 30."""
    driver = _controller(mutant)
    _create(driver, 1)
    driver.tick(3_600_000)
    _create(driver, 30)
    return _create(driver, 1)[0]


def after_validation(mutant: str | None) -> bool:
    """After 30 that were validated."""
    driver = _controller(mutant)
    _create(driver, 30, only=True)
    return _create(driver, 1)[0]


def beside_another_user(mutant: str | None) -> bool:
    """After 30 of another user."""
    driver = _controller(mutant)
    _create(driver, 30, user="bob")
    return _create(driver, 1)[0]


def with_a_quota_of_its_client_id(mutant: str | None) -> bool:
    """After 5, where the client-id may have one and the user twenty."""
    driver = _controller(mutant)
    put(driver, ConfigEntity(EntityKind.CLIENT, ("x",)), "0.1")
    _create(driver, 5)
    return _create(driver, 1)[0]


def told_when_refused(mutant: str | None) -> int:
    """The throttle time after 30."""
    driver = _controller(mutant)
    _create(driver, 30)
    return _create(driver, 1)[1]


def told_in_an_old_version(mutant: str | None) -> tuple[bool, int]:
    """What becomes of 30 and 1 in a version that has no word for a refusal."""
    driver = _controller(mutant)
    _create(driver, 30, version=OLD)
    return _create(driver, 1, version=OLD)


CASES = [
    ("charge_per_topic", in_debt, False, True),
    ("refuse_for_ever", after_the_wait, True, False),
    ("unbounded_bucket", after_an_hour_of_silence, False, True),
    ("charge_validate_only", after_validation, True, False),
    ("client_id_before_user", with_a_quota_of_its_client_id, True, False),
    ("bucket_of_the_quota", beside_another_user, True, False),
    ("request_throttle_only", told_in_an_old_version, (True, 5_500), (True, 0)),
    ("throttle_multiplies_rate", told_when_refused, 5_000, 20_000),
    ("refuse_old_clients", told_in_an_old_version, (True, 5_500), (False, 5_000)),
    ("admit_in_debt", in_half_a_partition_of_debt, False, True),
]
