"""Delegation tokens: what is believed, and laws over all lives of a token (SEC-003)."""

from hypothesis import given, strategies as st

from fencepost.impl.core.rules.security.tokens import (
    EXPIRY_MS,
    MAX_LIFETIME_MS,
    DelegationToken,
    create_token,
    expire_token,
    is_over,
    principal_of_token,
    renew_token,
    token_hmac,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.vocabulary import ErrorCode

TOKEN_ID, NO_ID = "t1", ""
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


def believed(
    one: DelegationToken | None, now_ms: int, shown: bytes | None = None, key: bytes = KEY
) -> str | None:
    hmac = token_hmac(TOKEN_ID, KEY) if shown is None else shown
    return principal_of_token(one, hmac, secret_key=key, now_ms=now_ms)


def test_a_token_counts_until_it_expires() -> None:
    assert believed(token(), EXPIRY_MS - 1) == OWNER
    assert believed(token(), EXPIRY_MS) is None
    assert believed(token(max_lifetime_ms=5), 5) is None
    assert believed(token(), -1) is None


def test_a_foreign_token_is_not_believed() -> None:
    other = token_hmac("t2", KEY)

    assert believed(token(), 1, shown=other) is None
    assert believed(token(), 1, shown=b"") is None
    assert believed(token(), 1, key=b"another key") is None
    assert believed(None, 1) is None
    assert believed(None, 1, shown=token_hmac("", KEY)) is None


def test_what_cannot_be_a_token_is_refused() -> None:
    for lifetime_ms in (0, -2):
        made = create_token(
            token_id=TOKEN_ID, owner=OWNER, renewers=(), max_lifetime_ms=lifetime_ms, now_ms=0
        )
        assert isinstance(made, Refusal)
    nameless = create_token(token_id=NO_ID, owner=OWNER, renewers=(), max_lifetime_ms=1, now_ms=0)
    assert isinstance(nameless, Refusal)


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
        assert believed(one, end_ms) is None


@given(st.text(max_size=5), st.text(max_size=5), st.binary(max_size=8), st.binary(max_size=8))
def test_an_hmac_is_of_one_id_and_one_key(
    one_id: str, other_id: str, one_key: bytes, other_key: bytes
) -> None:
    # HMAC fills a short key with zeros.
    is_same = (one_id, one_key.rstrip(b"\0")) == (other_id, other_key.rstrip(b"\0"))

    assert (token_hmac(one_id, one_key) == token_hmac(other_id, other_key)) == is_same
