"""Wrong rules of level 5: changes of the configuration, and the way that they come (FWD)."""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.configuration.redirection import (
    RedirectingNode,
    Redirection,
    change_anywhere,
    change_what_is_asked,
)
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.security.tokens import DelegationToken
from fencepost.impl.core.rules.tables import MAY_WRITE, WriteKind, Writer, ZnodeKind
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.core.types.zookeeper import SetData, WriteOp, Znode
from fencepost.impl.mutants.mutant import allowing, during_upgrade, mutant
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    Ending,
    ErrorCode,
    Invariant,
    Liveness,
    ProtocolLevel,
)

_LEVEL = ProtocolLevel.CONTROLLER_MUTATIONS


@mutant(120, "FWD-001", {Invariant.ONLY_CONTROLLER_WRITES}, level=_LEVEL)
def any_broker_writes(rules: Rules) -> Rules:
    """Every broker makes the changes that it is asked for, as below level 5."""
    may_write = {**rules.may_write, Writer.ADMINISTRATOR: MAY_WRITE[Writer.ADMINISTRATOR]}
    return replace(rules, redirect=change_anywhere, may_write=may_write)


@mutant(252, "FWD-001", {Invariant.ONLY_CONTROLLER_WRITES}, level=_LEVEL)
def any_broker_creates_topics(rules: Rules) -> Rules:
    """Every broker writes what it is asked of topics, as below level 5."""
    may_write = {**rules.may_write, Writer.ADMINISTRATOR: MAY_WRITE[Writer.ADMINISTRATOR]}
    return replace(rules, topics_at_controller=False, may_write=may_write)


@mutant(121, "FWD-003", {Invariant.FORWARDED_ONCE}, seed=7, level=_LEVEL)
def forward_again(rules: Rules) -> Rules:
    """A broker that is not controller forwards what another one has forwarded to it."""

    def redirect(header: RequestHeader, node: RedirectingNode) -> Redirection:
        right = rules.redirect(header, node)
        is_again = header.forwards and node.knows_controller and not node.is_controller
        return Redirection.FORWARD if is_again else right

    return replace(rules, redirect=redirect)


@mutant(
    122,
    "FWD-004",
    {Invariant.FORWARDED_ONCE, Invariant.LINEARIZABLE_CONFIG},
    seed=144,
    level=_LEVEL,
)
def apply_again(rules: Rules) -> Rules:
    """A controller does a forwarded request each time that it comes."""
    return replace(rules, takes_forwarded=lambda _numbers, _header: True)


@mutant(123, "FWD-004", {Invariant.LINEARIZABLE_CONFIG}, level=_LEVEL)
def lost_answer_is_refusal(rules: Rules) -> Rules:
    """A broker that hears nothing of the controller answers that nothing was changed."""
    return replace(rules, forward_without_answer=ErrorCode.NOT_CONTROLLER)


@mutant(124, "FWD-005", {Invariant.PRINCIPAL_KEPT}, level=_LEVEL)
def believe_any_principal(rules: Rules) -> Rules:
    """A name in a request counts, whatever connection it comes on."""
    return replace(rules, principal_of=lambda header, asker: header.principal or asker.principal)


@mutant(125, "FWD-005", {Invariant.PRINCIPAL_KEPT}, level=_LEVEL)
def forwarder_is_principal(rules: Rules) -> Rules:
    """A broker forwards requests in its own name."""
    return replace(rules, forwarded_for=lambda _principal, broker: f"User:broker-{broker}")


@mutant(126, "FWD-008", {Liveness.EVENTUALLY_PROPAGATED}, level=_LEVEL)
def watch_fires_once(rules: Rules) -> Rules:
    """The first reading of the changes alone sets a watch."""
    return replace(rules, watches_changes=lambda was_read: not was_read)


@mutant(154, "FWD-007", {Invariant.LINEARIZABLE_CONFIG}, shows="LinearizableConfig")
def two_config_writers(rules: Rules) -> Rules:
    """A writer of the configuration puts back what it read, whatever was written since."""

    def config_operation(znode: Znode, data: bytes) -> WriteOp:
        right = rules.config_operation(znode, data)
        if isinstance(right, SetData):
            return structs.replace(right, expected_version=ANY_VERSION)
        return right

    for writer in (Writer.CONTROLLER, Writer.ADMINISTRATOR):
        if ZnodeKind.CONFIG in rules.may_write[writer]:
            rules = allowing(rules, writer, ZnodeKind.CONFIG, WriteKind.SET)
    return replace(rules, config_operation=config_operation)


@during_upgrade(ProtocolLevel.MAX_BROKER_EPOCH)
@mutant(127, "FWD-007", {Invariant.ONLY_CONTROLLER_WRITES}, seed=14, level=_LEVEL)
def older_brokers_do_what_is_forwarded(rules: Rules) -> Rules:
    """A broker below level 5 makes what others forward to it, as it does what clients ask for."""
    if rules.redirect is not change_what_is_asked:
        return rules
    return replace(rules, redirect=change_anywhere)


@mutant(250, "FWD-006", {Invariant.PRINCIPAL_KEPT}, level=_LEVEL)
def coordinator_as_client(rules: Rules) -> Rules:
    """A broker asks for the internal topic in the name of the client that has asked it."""
    return replace(rules, asks_for_internal_topic=lambda client, _broker: client)


@mutant(251, "FWD-006", {Ending.ANSWERS}, level=_LEVEL)
def one_coordinator_for_all(rules: Rules) -> Rules:
    """Every group is coordinated by the leader of the first partition."""
    return replace(rules, coordinating_partition=lambda _key, _count: 0)


@mutant(253, "SEC-003", {Ending.ANSWERS}, seed=1, level=_LEVEL)
def keep_outlived_tokens(rules: Rules) -> Rules:
    """The controller removes no token that is over."""
    return replace(rules, tokens_to_remove=lambda _tokens, _now_ms: ())


@mutant(254, "SEC-003", {Invariant.LINEARIZABLE_CONFIG, Ending.ANSWERS}, seed=1, level=_LEVEL)
def remove_living_tokens(rules: Rules) -> Rules:
    """The controller removes every token, however long it is to live."""

    def all_of(tokens: Iterable[DelegationToken], _now_ms: int) -> tuple[str, ...]:
        return tuple(sorted(one.token_id for one in tokens))

    return replace(rules, tokens_to_remove=all_of)
