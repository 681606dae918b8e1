"""What is drawn fits the cluster on which it is to be played."""

import pytest

from fencepost.conformance.adapters.capabilities import needed_by
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.scenarios import find
from fencepost.conformance.scenarios.drawn import draw_for
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.story import AfterAction, Story
from tests.conformance.toy import Toy

SEEDS = range(200)


def drawn(settings: ClusterSettings) -> list[Story]:
    return [find("random").on(settings, seed).story for seed in SEEDS]


def kinds(settings: ClusterSettings) -> set[str]:
    return {one.fault.kind for story in drawn(settings) for one in story.actions}


def test_the_reference_is_hurt_by_what_seeds_have_always_meant() -> None:
    assert kinds(ClusterSettings()) == set(DRAWN_FOR_REAL)


@pytest.mark.parametrize("target", ["kafka:3.9.1", "kafka:4.1.1"])
def test_faults_are_those_that_the_target_offers(target: str) -> None:
    settings = ClusterSettings(implementation=implementation_of(target))
    capabilities = settings.implementation.capabilities

    found = drawn(settings)

    assert all(story.actions for story in found)
    for story in found:
        assert needed_by([one.fault for one in story.actions]) <= capabilities
    areas = {kind.partition(".")[0] for kind in kinds(settings)}
    assert areas >= {"proc", "cpu"}
    assert ("zk" in areas) == (Capability.ZOOKEEPER in capabilities)


def test_a_bounce_needs_a_process_that_is_ready_to_start() -> None:
    kafka = ClusterSettings(implementation=implementation_of("kafka:3.9.1"))

    assert "proc.bounce_fast" not in kinds(kafka)


def test_what_cannot_be_had_is_left_out_unless_there_is_nothing_else() -> None:
    settings = ClusterSettings(implementation=Toy())

    killed = draw_for(settings, ["net.isolate", "proc.kill"], seed=1, duration_ms=60_000)
    isolated = draw_for(settings, ["net.isolate"], seed=1, duration_ms=60_000)

    assert {one.fault.kind for one in killed.actions} == {"proc.kill"}
    assert not needed_by([one.fault for one in isolated.actions]) <= Toy().capabilities


@pytest.mark.parametrize("target", ["kafka:3.9.1", "kafka:4.1.1"])
def test_a_fault_from_outside_waits_until_the_last_sure_one_has_healed(target: str) -> None:
    settings = ClusterSettings(implementation=implementation_of(target))

    for story in drawn(settings):
        sure = ""
        for action in (one for one in story.actions if not isinstance(one.fault, RpcFault)):
            waits_for = action.when.action_id if isinstance(action.when, AfterAction) else ""
            assert waits_for == sure
            sure = action.action_id if action.must_take_effect else sure


def test_a_story_of_the_library_has_its_faults_in_the_form_that_the_target_offers() -> None:
    kafka = ClusterSettings(implementation=implementation_of("kafka:3.9.1"))
    story = find("session_expiry")

    (action,) = story.on(kafka, 0).story.actions

    assert isinstance(action.fault, ExpireSession)
    assert action.fault.mode == "server"
    assert story.on(ClusterSettings(), 0).story == story.story
