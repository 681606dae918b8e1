"""The gate of a broker, as its command line asks for it."""

from collections.abc import Callable
from pathlib import Path

from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.configuration.stored_acls import StoredAuthorizer
from fencepost.impl.core.configuration.stored_tokens import stored_token
from fencepost.impl.core.rules.security.acls import USER, Authorizer
from fencepost.impl.core.rules.security.token_gate import TokenGate
from fencepost.impl.core.rules.security.tokens import TakenProofs
from fencepost.impl.shell.clock import wall_ms
from fencepost.impl.shell.options import NodeOptions
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.spec.wire.tls import TlsIdentity
from fencepost.spec.wire.tokens import read_token_key


def broker_gate(
    options: NodeOptions, identity: TlsIdentity, configs: Callable[[], ConfigStore]
) -> RequestGate:
    """Judges by what the broker has read by then; raises `TokenFileError`."""
    stored: list[StoredAuthorizer] = []

    def authorizer() -> Authorizer | None:
        if not options.authorizer:
            return None
        if not stored:
            super_users = frozenset(USER + name for name in options.super_user)
            stored.append(StoredAuthorizer(configs(), super_users))
        return stored[0].now()

    tokens = _token_gate(options.token_key, configs) if options.token_key else None
    return RequestGate(identity, authorizer, tokens)


def _token_gate(path: Path, configs: Callable[[], ConfigStore]) -> TokenGate:
    return TokenGate(
        key=read_token_key(path),
        known=lambda token_id: stored_token(configs(), token_id),
        is_read=lambda: configs().is_read,
        now_ms=wall_ms,
        proofs=TakenProofs(wall_ms()),
    )
