"""Delegation tokens: what is believed, and laws over all lives of a token (SEC-003)."""

import pytest
from hypothesis import given, strategies as st

from fencepost.impl.core.rules.security import tokens
from fencepost.impl.core.rules.security.tokens import (
    EXPIRY_MS,
    MAX_LIFETIME_MS,
    PROOF_WINDOW_MS,
    DelegationToken,
    TakenProofs,
    create_token,
    expire_token,
    is_over,
    principal_of_proof,
    renew_token,
    token_hmac,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire.tokens import HeldToken, SignedCall, TokenProof, proof_in, prove

TOKEN_ID, OTHER_ID = "t1", "t2"
CALL = SignedCall("Metadata", "", b"")
KEY = b"the key of the brokers"
OWNER, RENEWER, FOREIGNER = "User:alice", "User:scheduler", "User:mallory"
PRINCIPALS = st.sampled_from((OWNER, RENEWER, FOREIGNER))
TIMES = st.integers(-2, 2 * MAX_LIFETIME_MS)
STEPS = st.tuples(st.booleans(), PRINCIPALS, TIMES, st.integers(0, 2 * EXPIRY_MS))
"""Renewed or expired, by which principal, for how long, and so much later."""


def token(max_lifetime_ms: int = -1) -> DelegationToken:
    made = create_token(
        token_id=TOKEN_ID,
        owner=OWNER,
        renewers=[RENEWER],
        max_lifetime_ms=max_lifetime_ms,
        now_ms=0,
    )
    assert isinstance(made, DelegationToken)
    return made


@given(TIMES, TIMES)
def test_what_is_removed_is_over_and_stays_so(now_ms: int, later_ms: int) -> None:
    one = token()
    removed = tokens.outlived([one], now_ms)

    assert removed in ((), (TOKEN_ID,))
    assert bool(removed) == (is_over(one, now_ms) and now_ms >= one.issued_ms)
    assert not removed or later_ms < now_ms or tokens.outlived([one], later_ms) == removed
    assert tokens.keep_all([one], now_ms) == ()


def proof(stamp_ms: int = 0, token_id: str = TOKEN_ID, key: bytes = KEY) -> TokenProof:
    held = HeldToken(token_id=token_id, hmac=token_hmac(token_id, key))
    return prove(held, CALL, stamp_ms=stamp_ms, nonce="n")


def believed(
    one: DelegationToken | None,
    now_ms: int,
    shown: TokenProof | None = None,
    call: SignedCall = CALL,
) -> str | ErrorCode:
    found = principal_of_proof(one, shown or proof(), call, key=KEY, now_ms=now_ms)
    return found.error_code if isinstance(found, Refusal) else found


def test_a_token_counts_until_it_expires() -> None:
    over = ErrorCode.DELEGATION_TOKEN_EXPIRED

    assert believed(token(), EXPIRY_MS - 1) == OWNER
    assert believed(token(), EXPIRY_MS) is over
    assert believed(token(max_lifetime_ms=5), 5) is over
    assert believed(token(), -1) is over


def test_a_foreign_token_is_not_believed() -> None:
    shown = [proof(token_id=OTHER_ID), proof(key=b"another key"), proof()._replace(signature=b"")]

    codes = {believed(token(), 1, one) for one in shown} | {believed(None, 1)}

    assert codes == {ErrorCode.SASL_AUTHENTICATION_FAILED}


def test_a_proof_is_of_one_call_one_time_and_one_number() -> None:
    calls = [CALL._replace(method="Produce"), CALL._replace(receiver="2"), CALL._replace(body=b"x")]
    altered = [proof()._replace(stamp_ms=1), proof()._replace(nonce="m")]
    codes = {believed(token(), 1, call=call) for call in calls}
    codes |= {believed(token(), 1, one) for one in altered}

    assert codes == {ErrorCode.SASL_AUTHENTICATION_FAILED}


def test_a_proof_counts_once_and_while_it_is_new() -> None:
    table, now_ms = TakenProofs(begun_ms=PROOF_WINDOW_MS), 3 * PROOF_WINDOW_MS
    of_another = proof(stamp_ms=now_ms)._replace(token_id=OTHER_ID)

    assert table.take(proof(stamp_ms=now_ms), now_ms)
    assert not table.take(proof(stamp_ms=now_ms), now_ms)
    assert not table.take(proof(stamp_ms=now_ms), now_ms + PROOF_WINDOW_MS)
    assert table.take(of_another, now_ms)
    for stamp_ms in (now_ms - PROOF_WINDOW_MS - 1, now_ms + PROOF_WINDOW_MS + 1):
        assert not table.take(proof(stamp_ms=stamp_ms)._replace(nonce="m"), now_ms)


def test_a_proof_of_before_the_start_is_not_known_to_be_new() -> None:
    assert not TakenProofs(begun_ms=10).take(proof(stamp_ms=9), 10)
    assert TakenProofs(begun_ms=10).take(proof(stamp_ms=10), 10)


def test_proofs_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "PROOFS_MAX", 3)
    table, later_ms = TakenProofs(begun_ms=0), 2 * PROOF_WINDOW_MS

    taken = [table.take(proof(stamp_ms=1)._replace(nonce=str(n)), 1) for n in range(5)]
    again = table.take(proof(stamp_ms=later_ms), later_ms)

    assert taken == [True, True, True, False, False]
    assert again


@given(st.text(max_size=30))
def test_metadata_are_a_proof_or_none(text: str) -> None:
    shown = proof(stamp_ms=7)

    assert proof_in(shown.text) == shown
    assert proof_in(text) is None or len(text.split(" ")) == 4


def test_what_cannot_be_a_token_is_refused() -> None:
    for lifetime_ms in (0, -2):
        made = create_token(
            token_id=TOKEN_ID, owner=OWNER, renewers=(), max_lifetime_ms=lifetime_ms, now_ms=0
        )
        assert isinstance(made, Refusal)


@given(st.integers(1, 2 * MAX_LIFETIME_MS), st.lists(STEPS, max_size=8))
def test_no_token_outlives_its_maximum_or_is_changed_by_a_foreigner_or_after_its_end(
    lifetime_ms: int, steps: list[tuple[bool, str, int, int]]
) -> None:
    now_ms, one = 0, token(lifetime_ms)
    end_ms = min(lifetime_ms, MAX_LIFETIME_MS)
    for is_renewal, principal, for_ms, later_ms in steps:
        now_ms += later_ms
        if is_renewal:
            changed = renew_token(one, principal=principal, renew_ms=for_ms, now_ms=now_ms)
        else:
            changed = expire_token(one, principal=principal, after_ms=for_ms, now_ms=now_ms)
        if principal == FOREIGNER:
            assert isinstance(changed, Refusal)
            assert changed.error_code is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        if is_over(one, now_ms):
            assert isinstance(changed, Refusal)
        if isinstance(changed, DelegationToken):
            one = changed

        assert one.max_ms == end_ms
        assert one.expires_ms <= end_ms
        assert (one.owner, one.issued_ms) == (OWNER, 0)
        assert believed(one, end_ms) is ErrorCode.DELEGATION_TOKEN_EXPIRED


@given(st.text(max_size=5), st.text(max_size=5), st.binary(max_size=8), st.binary(max_size=8))
def test_an_hmac_is_of_one_id_and_one_key(
    one_id: str, other_id: str, one_key: bytes, other_key: bytes
) -> None:
    # HMAC fills a short key with zeros.
    is_same = (one_id, one_key.rstrip(b"\0")) == (other_id, other_key.rstrip(b"\0"))

    assert (token_hmac(one_id, one_key) == token_hmac(other_id, other_key)) == is_same
