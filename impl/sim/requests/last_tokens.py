"""What becomes of tokens on a healed cluster: each life, each right and each proof (SEC-003).

The users are those of `last_rights.py`, while its lists hold. What is over, copied, foreign or not
one's own gets nothing through.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from fencepost.impl.core.rules.security.token_changes import token_entity
from fencepost.impl.core.rules.security.tokens import (
    EXPIRY_MS,
    MAX_LIFETIME_MS,
    PROOF_WINDOW_MS,
    RENEWERS_MAX,
    token_hmac,
)
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenDescription,
)
from fencepost.impl.core.types.messages import Request, Response
from fencepost.impl.sim.engine.listener import TOKEN_KEY, CertifiedCaller, signed_call
from fencepost.impl.sim.requests.asking import (
    After,
    Asked,
    AskingClient,
    Step,
    Until,
    results,
)
from fencepost.impl.sim.requests.last_rights import (
    KEY,
    NOT_OF_CLUSTER,
    NOT_OF_TOPIC,
    OK,
    ROOT,
    LastRights,
    attempts,
    user,
)
from fencepost.spec.vocabulary import BrokerId, ErrorCode, ProtocolLevel
from fencepost.spec.wire.tokens import HeldToken, prove

ANN, BOB, CYN, EVE, GUS = (user(name) for name in ("ann", "bob", "cyn", "eve", "gus"))
Made = TokenDescription
Change = RenewDelegationTokenRequest | ExpireDelegationTokenRequest
NEAR_MS = PROOF_WINDOW_MS
FAR_MS = PROOF_WINDOW_MS + 1_000
NO_ID = "none"
SHORT_MS = 600
"""Lives of tokens that end while they are asked about."""
NOT_TAKEN = ErrorCode.SASL_AUTHENTICATION_FAILED
NOT_ONES_OWN = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
OVER = ErrorCode.DELEGATION_TOKEN_EXPIRED
NOT_FOUND = ErrorCode.DELEGATION_TOKEN_NOT_FOUND
WRONG = ErrorCode.INVALID_REQUEST


@dataclass(slots=True)
class LastTokens:
    """The part of the last requests that is about tokens."""

    rights: LastRights
    _nonces: int = field(init=False, default=0)

    @classmethod
    def of(cls, rights: LastRights) -> Step:
        """The script, while these rights hold."""
        return cls(rights).script()

    @property
    def client(self) -> AskingClient:
        """That asks."""
        return self.rights.client

    def script(self) -> Step:
        """Some tokens are made, told, used, renewed and ended."""
        yield from self._wrong_ones_are_refused()
        long = yield from self._make(ANN, ("User:bob", "User:eve"))
        short = yield from self._make(ANN, _renewers(RENEWERS_MAX), SHORT_MS)
        other = yield from self._make(BOB, ("User:ann",), MAX_LIFETIME_MS + 1)
        if long is None or short is None or other is None:
            return
        yield self.rights.all_read()
        made = (long, short, other)
        yield from self._are_told(made)
        yield from self._proofs_are_judged(long)
        yield from self._holder_is_no_owner(long)
        yield from self._are_renewed(long, short)
        yield After(SHORT_MS)
        yield from self._is_over(short)
        yield from self._are_expired(long, other)
        # Below level 5 no controller writes the configuration of its own accord.
        if self.client.cluster.options.level >= ProtocolLevel.CONTROLLER_MUTATIONS:
            yield Until("the end of tokens that are over", lambda: not any(map(self._stands, made)))

    def _wrong_ones_are_refused(self) -> Step:
        """And a connection that proves nothing makes none."""
        for renewers, lifetime_ms in (
            (_renewers(RENEWERS_MAX + 1), -1),
            (("",), -1),
            (("a,b",), -1),
            ((), 0),
            ((), -2),
        ):
            asked = CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=lifetime_ms)
            yield from self.client.expect(asked, WRONG, caller=ANN)
        yield from self.client.expect(CreateDelegationTokenRequest(), NOT_ALLOWED)
        yield from self.client.expect(DescribeDelegationTokenRequest(), NOT_ALLOWED)
        nobody = CreateDelegationTokenRequest()
        yield from self.client.expect(nobody, NOT_OF_CLUSTER, caller=user(""))

    def _make(
        self, owner: CertifiedCaller, renewers: tuple[str, ...], lifetime_ms: int = -1
    ) -> Generator[Asked, Response | None, Made | None]:
        """A new token of the owner, which lives as long as it may."""
        request = CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=lifetime_ms)
        begun_ms = self._now_ms
        told = yield None, request, owner
        if not isinstance(told, CreateDelegationTokenResponse) or told.error_code is not OK:
            self.client.wrong.append(f"no token is made: {told}")
            return None
        life_ms = MAX_LIFETIME_MS if lifetime_ms == -1 else min(lifetime_ms, MAX_LIFETIME_MS)
        issued_ms = told.max_ms - life_ms
        if not begun_ms <= issued_ms <= self._now_ms:
            self.client.wrong.append(f"a token of {lifetime_ms} ms lives to {told.max_ms}")
        if told.expires_ms != min(issued_ms + EXPIRY_MS, told.max_ms):
            self.client.wrong.append(f"a token of {lifetime_ms} ms is over at {told.expires_ms}")
        if told.hmac != token_hmac(told.token_id, TOKEN_KEY):
            self.client.wrong.append("a token is told without its secret")
        return Made(
            token_id=told.token_id,
            owner=f"User:{owner.proven.name}",
            renewers=tuple(sorted(renewers)),
            issued_ms=issued_ms,
            expires_ms=told.expires_ms,
            max_ms=told.max_ms,
        )

    def _are_told(self, made: tuple[Made, ...]) -> Step:
        """To owners and renewers, and to those that may describe the cluster."""
        long, short, _ = made
        for caller, owners, seen in (
            (ROOT, (), made),
            (ROOT, ("User:ann",), (long, short)),
            (ROOT, ("User:gus",), ()),
            (ANN, (), made),
            (BOB, (), made),
            (EVE, (), (long,)),
            (CYN, (), ()),
            (CYN, ("User:ann",), ()),
        ):
            for to in sorted(self.client.cluster.disks):
                told = yield to, DescribeDelegationTokenRequest(owners=owners), caller
                tokens = told.tokens if isinstance(told, DescribeDelegationTokenResponse) else ()
                mine = {one for one in tokens if one.token_id in {m.token_id for m in made}}
                if mine != {*seen}:
                    who = caller.proven.name
                    self.client.wrong.append(f"broker {to} tells {who} of {len(mine)} tokens")

    def _proofs_are_judged(self, made: Made) -> Step:
        """One that is genuine, new and near counts once, for the owner."""
        now_ms, to = self._now_ms, self.client.leader_of(KEY)
        read, write = (attempts()[name].request for name in ("describe", "write"))
        good = self._proof(read, to, made)
        for request, shown, code in (
            (read, good, OK),
            (read, good, NOT_TAKEN),
            (write, self._proof(write, to, made), NOT_OF_TOPIC),
            (write, self._proof(read, to, made), NOT_TAKEN),
            (read, self._proof(read, BrokerId(to + 1), made), NOT_TAKEN),
            (read, self._proof(read, to, made, key=b"another key"), NOT_TAKEN),
            (read, "no proof", NOT_TAKEN),
            (read, self._proof(read, to, made, stamp_ms=now_ms + NEAR_MS), OK),
            (read, self._proof(read, to, made, stamp_ms=now_ms + FAR_MS), NOT_TAKEN),
            (read, self._proof(read, to, made, stamp_ms=-1), NOT_TAKEN),
        ):
            yield from self.client.expect(request, code, to=to, caller=shown_by(GUS, shown))
        again = self._proof(read, to, made)
        yield from self.client.expect(read, NOT_TAKEN, to=to, caller=shown_by(user(""), again))
        yield from self.client.expect(read, OK, to=to, caller=shown_by(GUS, again))
        nobodys = self._proof(read, to, structs.replace(made, token_id=NO_ID))
        yield from self.client.expect(read, NOT_TAKEN, to=to, caller=shown_by(GUS, nobodys))

    def _holder_is_no_owner(self, made: Made) -> Step:
        """A loan is not lent on (KIP-48)."""
        for request in (
            CreateDelegationTokenRequest(),
            RenewDelegationTokenRequest(token_id=made.token_id),
            ExpireDelegationTokenRequest(token_id=made.token_id),
            DescribeDelegationTokenRequest(),
        ):
            to = self.client.any_broker()
            shown = self._proof(request, to, made)
            yield from self.client.expect(request, NOT_ALLOWED, to=to, caller=shown_by(GUS, shown))

    def _are_renewed(self, long: Made, short: Made) -> Step:
        """By the owner or a renewer, within the longest life."""
        for caller, renew_ms, code in (
            (CYN, -1, NOT_ONES_OWN),
            (ROOT, -1, NOT_ONES_OWN),
            (ANN, -2, WRONG),
        ):
            refused = RenewDelegationTokenRequest(token_id=long.token_id, renew_ms=renew_ms)
            yield from self.client.expect(refused, code, caller=caller)
        for unknown in (
            RenewDelegationTokenRequest(token_id=NO_ID),
            ExpireDelegationTokenRequest(token_id=NO_ID),
        ):
            yield from self.client.expect(unknown, NOT_FOUND, caller=ANN)
        for token, caller, renew_ms, life_ms in (
            (long, BOB, 50_000, 50_000),
            (long, EVE, MAX_LIFETIME_MS, MAX_LIFETIME_MS),
            (long, ANN, -1, EXPIRY_MS),
            (short, ANN, -1, EXPIRY_MS),
        ):
            request = RenewDelegationTokenRequest(token_id=token.token_id, renew_ms=renew_ms)
            yield from self._lives(token, request, caller, life_ms)

    def _are_expired(self, long: Made, other: Made) -> Step:
        """By the owner or a renewer: soon, or at once, and then there is no token."""
        refused = ExpireDelegationTokenRequest(token_id=long.token_id)
        yield from self.client.expect(refused, NOT_ONES_OWN, caller=CYN)
        for after_ms in (2 * MAX_LIFETIME_MS, SHORT_MS):
            request = ExpireDelegationTokenRequest(token_id=long.token_id, after_ms=after_ms)
            yield from self._lives(long, request, BOB, after_ms)
        yield self.rights.all_read()
        yield After(SHORT_MS)
        yield from self._is_over(long)
        gone = [*("expires_ms", "issued_ms", "max_ms", "owner", "renewers")]
        at_once = ExpireDelegationTokenRequest(token_id=other.token_id)
        asked = self._lives(other, at_once, ANN, 0)
        yield from self.client.drops(token_entity(other.token_id), gone, asked)
        yield self.rights.all_read()
        renewal = RenewDelegationTokenRequest(token_id=other.token_id)
        yield from self.client.expect(renewal, NOT_FOUND, caller=BOB)
        yield from self._is_answered(other, NOT_TAKEN)

    def _is_over(self, made: Made) -> Step:
        """What is over is good for nothing, and stays so, removed or not."""
        yield from self._is_answered(made, OVER, NOT_TAKEN)
        for request in (
            RenewDelegationTokenRequest(token_id=made.token_id),
            ExpireDelegationTokenRequest(token_id=made.token_id, after_ms=SHORT_MS),
        ):
            yield from self._is_one_of((OVER, NOT_FOUND), (None, request, ANN))

    def _is_answered(self, made: Made, *codes: ErrorCode) -> Step:
        request, to = attempts()["describe"].request, self.client.leader_of(KEY)
        caller = shown_by(GUS, self._proof(request, to, made))
        yield from self._is_one_of(codes, (to, request, caller))

    def _is_one_of(self, codes: Sequence[ErrorCode], asked: Asked) -> Step:
        told = results((yield asked))
        if told not in [[code] for code in codes]:
            of = ", ".join(told)
            self.client.wrong.append(f"a token that is over: {of} in place of {codes[0]}")

    def _stands(self, made: Made) -> bool:
        path = token_entity(made.token_id).path
        return self.client.cluster.zookeeper.peek(path).stat is not None

    def _lives(self, made: Made, request: Change, caller: CertifiedCaller, life_ms: int) -> Step:
        """The token is over so long from now, or at the end of its longest life."""
        begun_ms = self._now_ms
        told = yield None, request, caller
        if not isinstance(told, RenewDelegationTokenResponse | ExpireDelegationTokenResponse):
            self.client.wrong.append(f"the life of a token is answered by {told}")
            return
        least_ms, most_ms = (
            min(now_ms + life_ms, made.max_ms) for now_ms in (begun_ms, self._now_ms)
        )
        if told.error_code is not OK or not least_ms <= told.expires_ms <= most_ms:
            self.client.wrong.append(
                f"a token that lives {life_ms} ms more is over at {told.expires_ms}: {told.message}"
            )

    @property
    def _now_ms(self) -> int:
        return self.client.cluster.scheduler.now_ms

    def _proof(
        self,
        request: Request,
        to: BrokerId,
        made: Made,
        *,
        stamp_ms: int | None = None,
        key: bytes = TOKEN_KEY,
    ) -> str:
        """Of this call; no two are alike."""
        self._nonces += 1
        held = HeldToken(token_id=made.token_id, hmac=token_hmac(made.token_id, key))
        stamp_ms = self._now_ms if stamp_ms is None else stamp_ms
        call = signed_call(request, to)
        return prove(held, call, stamp_ms=stamp_ms, nonce=f"{self._nonces}").text


def shown_by(caller: CertifiedCaller, proof: str) -> CertifiedCaller:
    """The caller shows the proof of a token."""
    return CertifiedCaller(caller.proven, proof)


def _renewers(count: int) -> tuple[str, ...]:
    """So many that ask for nothing."""
    return tuple(f"User:u{number}" for number in range(count))
