"""Wrong rules of a listener: permissions, senders, tokens (SEC).

No simulated broker has a listener, so none of these is hunted in random runs: each is killed by the
observation of its name in `tests/impl/mutants/test_security_mutants.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fencepost.impl.core.rules.security.access import ACCESS_RULES, AccessRules
from fencepost.impl.core.rules.security.acls import (
    ACL_RULES,
    AclEntry,
    AclRules,
    Operation,
    Permission,
)
from fencepost.impl.core.rules.security.tokens import TOKEN_RULES, TokenRules


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityRules:
    """All rules by which a listener judges."""

    acls: AclRules = ACL_RULES
    access: AccessRules = ACCESS_RULES
    tokens: TokenRules = TOKEN_RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityMutant:
    """A deliberately wrong rule of a listener."""

    name: str
    number: int
    """Its place in the kill table."""
    rule: str
    """What it does, in one sentence."""
    requirement: str
    rules: SecurityRules
    """All rules, of which this one is wrong."""


SECURITY_MUTANTS: dict[str, SecurityMutant] = {}
"""By name, in the order of the kill table."""


def _mutant(
    number: int, requirement: str
) -> Callable[[Callable[[], SecurityRules]], SecurityMutant]:
    def declare(change: Callable[[], SecurityRules]) -> SecurityMutant:
        made = SecurityMutant(
            name=change.__name__,
            number=number,
            rule=change.__doc__ or "",
            requirement=requirement,
            rules=change(),
        )
        SECURITY_MUTANTS[made.name] = made
        return made

    return declare


@_mutant(140, "SEC-001")
def permission_wins() -> SecurityRules:
    """An entry that allows is enough, whatever another one denies."""

    def permits(about: Sequence[AclEntry], operation: Operation) -> bool:
        kept = [entry for entry in about if entry.permission is Permission.ALLOW]
        return ACL_RULES.permits(kept, operation)

    return SecurityRules(acls=replace(ACL_RULES, permits=permits))


@_mutant(141, "SEC-001")
def prefix_is_literal() -> SecurityRules:
    """A prefix is taken for the whole name."""
    covers = ACL_RULES.covers
    return SecurityRules(
        acls=replace(
            ACL_RULES,
            covers=lambda entry, resource: covers(entry, resource) and entry.name == resource.name,
        )
    )


@_mutant(142, "SEC-001")
def open_without_entry() -> SecurityRules:
    """What no entry is about is allowed."""
    permits = ACL_RULES.permits
    return SecurityRules(
        acls=replace(
            ACL_RULES, permits=lambda about, operation: not about or permits(about, operation)
        )
    )


@_mutant(143, "SEC-002")
def commands_from_clients() -> SecurityRules:
    """A user is taken for the broker that its request names."""
    is_sender = ACCESS_RULES.is_sender
    return SecurityRules(
        access=replace(
            ACCESS_RULES,
            is_sender=lambda caller, named: caller.broker_id is None or is_sender(caller, named),
        )
    )


@_mutant(144, "SEC-002")
def commands_from_any_broker() -> SecurityRules:
    """A broker may speak for another one."""
    return SecurityRules(
        access=replace(ACCESS_RULES, is_sender=lambda caller, _named: caller.broker_id is not None)
    )


@_mutant(145, "SEC-002")
def believe_forwarding_clients() -> SecurityRules:
    """A user may forward for any principal."""
    return SecurityRules(access=replace(ACCESS_RULES, is_forwarder=lambda _caller, _named: True))


@_mutant(146, "SEC-003")
def expired_token_counts() -> SecurityRules:
    """A token counts whatever the time is."""
    return SecurityRules(tokens=replace(TOKEN_RULES, is_over=lambda _token, _now: False))


@_mutant(147, "SEC-003")
def any_proof_is_genuine() -> SecurityRules:
    """The signature of a proof is not looked at."""
    return SecurityRules(
        tokens=replace(TOKEN_RULES, is_genuine=lambda _proof, _secret, _call: True)
    )


@_mutant(148, "SEC-003")
def renewal_beyond_maximum() -> SecurityRules:
    """A renewed token lives as long as is asked."""
    return SecurityRules(tokens=replace(TOKEN_RULES, within_maximum=lambda _token, wanted: wanted))


@_mutant(149, "SEC-003")
def proof_counts_again() -> SecurityRules:
    """A proof is taken as often as it comes."""
    return SecurityRules(tokens=replace(TOKEN_RULES, is_used=lambda _proof, _taken: False))
