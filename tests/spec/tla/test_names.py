"""The specs use the names of the vocabulary, all of them, and no others."""

import re
from pathlib import Path

import pytest

from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.spec.hazards import HazardFinding, load_hazards
from fencepost.spec.tlc.models import MODULES, load_models, select
from fencepost.spec.vocabulary import Action, EnvironmentAction, ModelledAction

ZOOKEEPER_TRANSACTIONS = {"CreateSession", "CloseSession", "Create", "SetData", "Delete"}
"""Actions of the trace's `kind: zookeeper`, which `Zk` adds to those of the environment."""

COMPOSED = (
    "LeaderAndIsr",
    "Replication",
    "TopicLifecycle",
    "Startup",
    "Partitions",
    "Reassignment",
)
"""What the core performs: these together have every `Action`."""


def protocol_modules() -> list[str]:
    """Those with a `Next` of their own: no bounds, no replay of traces."""
    return [
        path.stem
        for path in sorted(MODULES.glob("*.tla"))
        if not path.stem.startswith(("MC", "Trace"))
        and re.search(r"^Next ==", path.read_text(), re.MULTILINE)
    ]


FACTS = {
    "VersionsNeverRepeat",
    "NoCommitAfterElection",
    "NeverHalfway",
    "NeverInFlight",
    "NeverParted",
    "ReadsAreFresh",
    "EveryChangeIsNotified",
    "BoundedStepsHaveEffect",
}
"""They do not hold and are not meant to: not to be relied on."""


DRAFTED = ("Decisions", "LeaderAndIsr", "Replication")
"""What the draft says of one partition and its records."""
OTHER_READINGS = {"inclusive_high_watermark"}
"""The draft has both readings; this one excludes how it computes the high watermark."""


OF_METADATA = {Action.SEND_UPDATE_METADATA, Action.UPDATE_METADATA}
"""`MetadataPropagation`'s: no replica leads or follows by them."""
OF_SHUTDOWN = {Action.OBEY_SHUTDOWN}
OF_CONFIGURATION = {Action.FORWARD_REQUEST, Action.APPLY_MUTATION}
"""Of `Forwarding`, which no decision about a partition depends on: it is not composed with them."""
"""`ControlledShutdown` alone does it: its own next step is `Fencing`'s, and more."""
OF_QUOTA = {
    Action.ALTER_QUOTA,
    Action.ADMIT_MUTATION,
    Action.REFUSE_MUTATION,
    Action.VALIDATE_MUTATION,
}
"""`MutationQuota` and `QuotaPrecedence` have no step of another module."""


def source(module: str) -> str:
    return (MODULES / f"{module}.tla").read_text()


def disjuncts(module: str, name: str = "Next") -> set[str]:
    body = re.search(rf"^{name} ==\n((?:    .*\n)+)", source(module), re.MULTILINE)
    assert body, f"{module} has no {name}"
    found = re.findall(r"^    \\/ (?:\\E [\w, \\]+ : )?(\w+)", body[1], re.MULTILINE)
    assert len(found) == len(body[1].splitlines())
    return set(found)


def test_every_action_is_a_disjunct_of_next_and_every_disjunct_an_action() -> None:
    found = set().union(*(disjuncts(module) for module in protocol_modules()))

    told = {*Action, *EnvironmentAction, *ModelledAction} | ZOOKEEPER_TRANSACTIONS
    assert told - found == OF_SHUTDOWN
    assert found - told == set()
    assert disjuncts("ControlledShutdown", "ShutdownNext") >= OF_SHUTDOWN


def test_the_composed_spec_does_all_that_the_core_does() -> None:
    found = set().union(*(disjuncts(module) for module in COMPOSED))

    elsewhere = OF_SHUTDOWN | OF_METADATA | OF_CONFIGURATION | OF_QUOTA
    assert {*Action} - found == elsewhere


def test_the_composed_spec_does_all_that_its_part_does() -> None:
    assert disjuncts("LeaderAndIsr") <= disjuncts("Replication")


def test_zk_does_the_transactions_of_the_trace() -> None:
    assert disjuncts("Zk") - {*EnvironmentAction, *ModelledAction} == ZOOKEEPER_TRANSACTIONS


@pytest.mark.parametrize("module", protocol_modules())
def test_every_action_has_its_paragraph(module: str) -> None:
    text = "\n".join(source(path.stem) for path in MODULES.glob("*.tla"))
    told = set(re.findall(r"\*\)\n(\w+)(?:\([\w, ]+\))? ==", text))

    assert disjuncts(module) - told == set()


def test_every_property_that_is_checked_has_its_paragraph_and_requirement() -> None:
    text = "\n".join(path.read_text() for path in sorted(MODULES.glob("*.tla")))
    told = set(re.findall(r"\*\)\n(?:\\\* @req [A-Z]+-\d{3}\n)+(\w+) ==", text))
    checked = {
        name
        for model in load_models()
        for name in (*model.tlc_config().invariants, *model.tlc_config().properties)
    }

    assert checked - told == FACTS | {"TypeOK", "ShutdownTypeOK", "ReadingTypeOK", "UpgradeTypeOK"}


def test_bounds_live_in_mc_modules_and_nothing_else_does() -> None:
    for path in sorted(MODULES.glob("MC*.tla")):
        defined = re.findall(r"^(\w+)(?:\(.*\))? ==", path.read_text(), re.MULTILINE)
        assert defined == ["Bounds"], path.name


def test_variables_and_fields_are_in_snake_case() -> None:
    for path in sorted(Path(MODULES).glob("*.tla")):
        fields = set(re.findall(r"(?:\[|, |^\s+)(\w+) \|->", path.read_text(), re.MULTILINE))
        assert {field for field in fields if not re.fullmatch(r"[a-z][a-z_]*", field)} == set()


NOT_MODELLED = {
    "return_when_let_go",
    "move_by_request_only",
    "agent_without_timer",
    "assign_to_any_broker",
    "followers_serve_consumers",
    "tell_no_failed_log",
    *("forget_producers_at_start", "append_batch_in_part", "skip_sequences"),
    "go_on_without_log",
    "follow_for_next_controller",
    *("persistent_controller_znode", "loser_takes_office", "controller_not_watched"),
    *("stand_after_another_only", "adopt_epoch_from_zookeeper_only"),
    *("fail_over_without_watches", "successor_tells_nothing"),
    *("malformed_topic_ends_reading", "registration_not_watched"),
    *("leave_isr_to_leader", "recover_above_checkpoint"),
    *("acknowledge_on_step_down", "refuse_unknown_partition", "refuse_together"),
    "last_replica_is_preferred",
    *("give_up_when_refused", "wait_for_isr_of_earlier_epoch"),
    *("follower_ignores_high_watermark", "shrink_nobody", "shrink_on_fetch_only"),
    *("followers_join_by_id", "join_as_registered_before", "init_names_what_changed"),
    *("roles_before_metadata", "isr_changes_untold"),
    *("refuse_for_ever", "admit_in_debt"),
    *("tell_what_predecessor_told", "report_to_own_level_only"),
    *("older_brokers_do_what_is_forwarded", "obey_stop_of_last_epoch", "take_metadata_twice"),
    *("act_before_reading", "stand_after_reading_another", "leave_isr_to_its_leader"),
    *("first_leader_alone", "fenced_leader_commits", "one_coordinator_for_all"),
    "any_broker_creates_topics",
}
"""The specs' clients ask leaders only; their controllers take each step that is due, without being
told; their topics are assigned to brokers that there are; disks work; a command is about one
partition; a watch, a fetch or a start happens when its action is taken; a follower fetches as the
incarnation that it is; metadata and roles are told in any order, of leaders alone, by controllers
of one level; what is forwarded comes to the controller, or late to one that was; a stop is of one
leader epoch; a bucket is charged and filled in whole tokens; a controller takes office and sees
registrations at once, and a fenced leader is no leader; any coordinator will do, and a change of
the configuration stands for one of topics, so that `any_broker_writes` is both."""


def test_every_mutant_of_the_core_is_a_mutant_of_the_specs() -> None:
    broken = {
        name
        for model in load_models()
        if model.invariant and isinstance(names := model.constants.get("mutants"), list)
        for name in names
    }

    assert {*MUTANTS} - broken == NOT_MODELLED


def test_the_draft_as_a_whole_has_every_rule_of_the_draft() -> None:
    (whole,) = select(load_models(), ["draft_as_a_whole"])
    switches = {
        str(hazard.switch["mutants"])
        for hazard in load_hazards()
        if hazard.source.startswith("V3")
        and hazard.finding is HazardFinding.SHOWN
        and hazard.module in DRAFTED
        and "mutants" in hazard.switch
    }

    assert set(whole.mutants) == switches - OTHER_READINGS
    assert whole.effective_constants["truncation"] == '= "high_watermark"'
