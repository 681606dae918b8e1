"""Each wrong rule of a listener, and what shows it: the kill table of SEC."""

import re
from collections.abc import Callable

import pytest

from fencepost.impl.core.rules.security.access import ProvenCaller, refuse_request
from fencepost.impl.core.rules.security.acls import (
    AclEntry,
    Actor,
    Authorizer,
    Operation,
    Pattern,
    Permission,
    Resource,
    ResourceType,
)
from fencepost.impl.core.rules.security.tokens import (
    DelegationToken,
    TakenProofs,
    principal_of_proof,
    renew_token,
    token_hmac,
)
from fencepost.impl.core.types.broker_reports import LogsFailedRequest
from fencepost.impl.core.types.config_messages import CreateAclsRequest
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.impl.mutants.security import SECURITY_MUTANTS, SecurityRules
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId
from fencepost.spec.wire.tokens import HeldToken, SignedCall, TokenProof, prove

ALICE, BROKER_2 = ProvenCaller(name="alice"), ProvenCaller(name="broker-2", broker_id=BrokerId(2))
KEY, CALL = b"the key of the brokers", SignedCall("Produce", "1", b"")
OVER_MS = 10
TOKEN = DelegationToken(
    token_id="t1",  # noqa: S106  an id, which is no secret
    owner="User:alice",
    renewers=frozenset(),
    issued_ms=0,
    expires_ms=OVER_MS,
    max_ms=OVER_MS,
)


def entry(name: str, permission: Permission, pattern: Pattern = Pattern.LITERAL) -> AclEntry:
    return AclEntry(ResourceType.TOPIC, pattern, name, permission, Operation.READ, "User:alice")


def reads(rules: SecurityRules, *entries: AclEntry) -> bool:
    """Whether alice may read topic `news` by these entries."""
    authorizer = Authorizer(entries, acl_rules=rules.acls)
    resource = Resource(ResourceType.TOPIC, "news")
    return authorizer.allows(Actor("User:alice", "127.0.0.1"), Operation.READ, resource)


def reads_what_is_denied(rules: SecurityRules) -> bool:
    return reads(rules, entry("news", Permission.ALLOW), entry("news", Permission.DENY))


def reads_by_prefix(rules: SecurityRules) -> bool:
    return reads(rules, entry("ne", Permission.ALLOW, Pattern.PREFIXED))


def reads_without_entry(rules: SecurityRules) -> bool:
    return reads(rules)


def takes_report(rules: SecurityRules, caller: ProvenCaller) -> bool:
    """Whether a report in the name of broker 1 is taken."""
    request = LogsFailedRequest(broker_id=BrokerId(1), broker_epoch=BrokerEpoch(1), partitions=())
    return refuse_request(request, caller, None, rules.access) is None


def takes_report_of_a_client(rules: SecurityRules) -> bool:
    return takes_report(rules, ALICE)


def takes_report_of_another_broker(rules: SecurityRules) -> bool:
    return takes_report(rules, BROKER_2)


def takes_forwarded_of_a_client(rules: SecurityRules) -> bool:
    header = RequestHeader(forwards=1, forwarder=BrokerId(1), principal="User:root")
    request = CreateAclsRequest(header=header, entities=())
    return refuse_request(request, ALICE, Authorizer(()), rules.access) is None


def proof() -> TokenProof:
    held = HeldToken(token_id=TOKEN.token_id, hmac=token_hmac(TOKEN.token_id, KEY))
    return prove(held, CALL, stamp_ms=0, nonce="n")


def is_taken(rules: SecurityRules, shown: TokenProof, now_ms: int) -> bool:
    """Whether a proof of the token is that of alice."""
    found = principal_of_proof(TOKEN, shown, CALL, key=KEY, now_ms=now_ms, rules=rules.tokens)
    return found == "User:alice"


def takes_when_over(rules: SecurityRules) -> bool:
    return is_taken(rules, proof(), OVER_MS)


def takes_a_wrong_signature(rules: SecurityRules) -> bool:
    return is_taken(rules, proof()._replace(signature=b"x"), 1)


def lives_beyond(rules: SecurityRules) -> bool:
    renewed = renew_token(
        TOKEN, principal="User:alice", renew_ms=OVER_MS, now_ms=1, rules=rules.tokens
    )
    return isinstance(renewed, DelegationToken) and renewed.expires_ms > TOKEN.max_ms


def takes_a_copy(rules: SecurityRules) -> bool:
    table = TakenProofs(0, rules.tokens)
    return table.take(proof(), 1) and table.take(proof(), 1)


CASES: dict[str, tuple[Callable[[SecurityRules], bool], bool]] = {
    "permission_wins": (reads_what_is_denied, False),
    "prefix_is_literal": (reads_by_prefix, True),
    "open_without_entry": (reads_without_entry, False),
    "commands_from_clients": (takes_report_of_a_client, False),
    "commands_from_any_broker": (takes_report_of_another_broker, False),
    "believe_forwarding_clients": (takes_forwarded_of_a_client, False),
    "expired_token_counts": (takes_when_over, False),
    "any_proof_is_genuine": (takes_a_wrong_signature, False),
    "renewal_beyond_maximum": (lives_beyond, False),
    "proof_counts_again": (takes_a_copy, False),
}
"""Mutant -> what is observed of a listener, and what of the right one."""


@pytest.mark.parametrize("name", SECURITY_MUTANTS)
def test_a_mutant_is_shown_and_by_its_own_observation_alone(name: str) -> None:
    wrong = SECURITY_MUTANTS[name].rules

    shown = {case for case, (observe, right) in CASES.items() if observe(wrong) is not right}

    assert shown == {name}


def test_the_right_rules_show_none() -> None:
    right = SecurityRules()

    assert [name for name, (observe, is_so) in CASES.items() if observe(right) is not is_so] == []


def test_the_kill_table_is_whole_and_its_numbers_are_its_own() -> None:
    numbers = [one.number for one in SECURITY_MUTANTS.values()]

    assert SECURITY_MUTANTS.keys() == CASES.keys()
    assert numbers == sorted({*numbers})
    assert not {*numbers} & {one.number for one in MUTANTS.values()}
    for one in SECURITY_MUTANTS.values():
        assert one.rule.endswith(".")
        assert re.fullmatch(r"SEC-00[1-3]", one.requirement)
