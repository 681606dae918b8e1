"""How a client shows that it holds a delegation token, without telling the secret (SEC-003).

The metadata of a call name the token, a time and a number that no other call has, and sign them
together with the method, the receiver and the message. A proof is of that one call: what another
has seen of it makes no second one.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

TOKEN_KEY = "fencepost-token"  # noqa: S105  the name of a metadata key
"""Metadata key of a proof."""
TOKEN_VARIABLE = "FENCEPOST_TOKEN"  # noqa: S105  the name of a variable
"""Of the environment: the file of a client's token, when its options name none."""
KEY_FILE = "token-key"
"""Beside the identities of a cluster: the key of its brokers, by which tokens are genuine."""
KEY_BYTES_MIN = 32
PROOF_MAX = 1000
"""Characters of a proof."""


class TokenFileError(ValueError):
    """A file of a token, or of the key of tokens, cannot be used; the text names it."""


class SignedCall(NamedTuple):
    """What a proof is for."""

    method: str
    receiver: str
    """Id of the broker that is to answer; empty when any may."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldToken:
    """A token with its secret, as its holder has it."""

    token_id: str
    hmac: bytes = field(repr=False)


class TokenProof(NamedTuple):
    """That the sender of one call holds the token."""

    token_id: str
    stamp_ms: int
    """When it was made, in milliseconds since 1970."""
    nonce: str
    """No other call of the token has it."""
    signature: bytes

    @property
    def text(self) -> str:
        """As metadata."""
        return f"{self.token_id} {self.stamp_ms} {self.nonce} {self.signature.hex()}"

    def is_of(self, token_hmac: bytes, call: SignedCall) -> bool:
        """True when the holder of that secret has made it for this call."""
        expected = _signature(token_hmac, self.token_id, self.stamp_ms, self.nonce, call)
        return hmac.compare_digest(expected, self.signature)


def prove(held: HeldToken, call: SignedCall, *, stamp_ms: int, nonce: str) -> TokenProof:
    """The proof of one call."""
    signature = _signature(held.hmac, held.token_id, stamp_ms, nonce, call)
    return TokenProof(held.token_id, stamp_ms, nonce, signature)


def proof_in(text: str) -> TokenProof | None:
    """The proof in metadata; None when they are none."""
    parts = text.split(" ") if len(text) <= PROOF_MAX else []
    if len(parts) != len(TokenProof._fields):
        return None
    token_id, stamp, nonce, signature = parts
    try:
        return TokenProof(token_id, int(stamp), nonce, bytes.fromhex(signature))
    except ValueError:
        return None


def read_token(path: Path) -> HeldToken:
    """The token in a file that `write_token` made; raises `TokenFileError`."""
    try:
        found = msgspec.json.decode(_read(path), type=dict[str, str])
        return HeldToken(token_id=found["token_id"], hmac=bytes.fromhex(found["hmac"]))
    except (msgspec.MsgspecError, KeyError, ValueError) as error:
        if isinstance(error, TokenFileError):
            raise
        raise TokenFileError(f"{path} holds no token that `tokens create` has written") from error


def token_document(held: HeldToken) -> bytes:
    """What the file of a token holds."""
    return msgspec.json.encode({"token_id": held.token_id, "hmac": held.hmac.hex()}) + b"\n"


def read_token_key(path: Path) -> bytes:
    """The key of a cluster's brokers; raises `TokenFileError`."""
    key = _read(path).strip()
    if len(key) < KEY_BYTES_MIN:
        raise TokenFileError(f"{path} has less than {KEY_BYTES_MIN} bytes; a key needs more")
    return key


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TokenFileError(f"cannot read {path}: {error.strerror}") from error


def _signature(secret: bytes, token_id: str, stamp_ms: int, nonce: str, call: SignedCall) -> bytes:
    digest = hashlib.sha256(call.body).hexdigest()
    words = (token_id, str(stamp_ms), nonce, call.method, call.receiver, digest)
    return hmac.digest(secret, " ".join(words).encode(), hashlib.sha512)
