"""Wrong rules of level 3: a restarted broker is taken for the one before it (BEP)."""

from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.incarnations import (
    know_what_fetches,
    obey_any_incarnation,
    remembered_bounces,
    tell_any_state,
)
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import hunted_at, mutant
from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ErrorCode,
    Invariant,
    ProtocolLevel,
)


@mutant(
    102,
    "BEP-002",
    {Invariant.STALE_INCARNATION_HARMLESS},
    seed=9,
    shows="StaleIncarnationHarmless",
)
def commands_without_broker_epoch(rules: Rules) -> Rules:
    """A broker obeys a command that was sent to the process before it."""
    return replace(rules, is_stale_broker_epoch=obey_any_incarnation)


@mutant(
    103,
    "BEP-006",
    {Invariant.STALE_INCARNATION_HARMLESS, Invariant.LEADER_COMPLETE},
    shows="StaleIncarnationHarmless",
)
def broker_epochs_in_memory(rules: Rules) -> Rules:
    """A controller asks its memory which members have bounced, and not the ISR."""
    return replace(rules, bounced_members=remembered_bounces)


@mutant(104, "BEP-006", {Invariant.STALE_INCARNATION_HARMLESS}, shows="StaleIncarnationHarmless")
def started_before_failed(rules: Rules) -> Rules:
    """A broker that came back is told that it leads, before its failure is decided."""
    return replace(rules, tells_state=tell_any_state)


@mutant(
    105,
    "BEP-002",
    {Invariant.STALE_INCARNATION_HARMLESS},
    seed=3,
    shows="StaleIncarnationHarmless",
)
def refuse_larger_broker_epoch(rules: Rules) -> Rules:
    """A broker refuses a command for an incarnation that it has yet to hear of (KAFKA-9839)."""
    return replace(
        rules, is_stale_broker_epoch=lambda own, command: command not in (NO_BROKER_EPOCH, own)
    )


@mutant(153, "BEP-006", {Invariant.STALE_INCARNATION_HARMLESS}, shows="StaleIncarnationHarmless")
def join_as_registered_before(rules: Rules) -> Rules:
    """A leader lets a follower join as it asks, whatever the controller told of it since."""
    return replace(rules, meet_registered=know_what_fetches)


@mutant(106, "BEP-006", {Invariant.STALE_INCARNATION_HARMLESS}, shows="StaleIncarnationHarmless")
def followers_join_by_id(rules: Rules) -> Rules:
    """A follower joins the ISR without the epoch of its fetch."""

    def forget(replica: Replica, follower: BrokerId, broker_epoch: BrokerEpoch) -> Replica:
        after = rules.meet_follower(replica, follower, broker_epoch)
        return structs.replace(after, follower_broker_epochs={})

    return replace(rules, meet_follower=forget)


@mutant(
    107,
    "BEP-005",
    {Invariant.ONLY_ASKERS_SHUT_DOWN},
    seed=38,
    shows="OnlyAskersShutDown",
)
def obey_obsolete_shutdown(rules: Rules) -> Rules:
    """The controller lets a broker go by what it asked for before its present start."""

    def obey(registered: BrokerEpoch | None, broker_epoch: BrokerEpoch) -> ErrorCode:
        error = rules.shutdown_error(registered, broker_epoch)
        return ErrorCode.NONE if error is ErrorCode.STALE_BROKER_EPOCH else error

    return replace(rules, shutdown_error=obey)


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(150, "BEP-005", {Invariant.ONLY_ASKERS_SHUT_DOWN}, seed=19)
def return_when_let_go(rules: Rules) -> Rules:
    """A broker that is to end follows where it was left out, and its leader lets it in again."""
    return replace(rules, follows_when_ending=lambda _replica: True)


@mutant(108, "BEP-007", {Invariant.INIT_NAMES_ALL}, shows="InitNamesAll")
def init_names_what_changed(rules: Rules) -> Rules:
    """The first command to a broker names what it is told of, and not all that it has."""
    return replace(rules, named_by_init=lambda _assigned, told: tuple(sorted(told)))
