"""`fencepost tokens`: delegation tokens, with which others act for a user for a while (KIP-48)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.client_process import answers, call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import show_json, show_table, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.fault_injection.network.certificates import write_secret
from fencepost.spec.wire.tokens import TOKEN_VARIABLE, HeldToken, token_document

app = typer.Typer(no_args_is_help=True)

TokenId = Annotated[str, typer.Argument(help="The id that `create` and `describe` tell.")]
COLUMNS = ("token", "owner", "renewers", "expires", "at the latest")
DEFAULT_MS = -1
MS_PER_S = 1000


@app.command("create")
def create(
    out: Annotated[Path, typer.Argument(help="The file for the token and its secret.")],
    renewer: Annotated[
        list[str] | None, typer.Option(help="May renew and expire it; may be given again.")
    ] = None,
    max_lifetime_s: Annotated[int, typer.Option(help="Never longer; -1: 7 days.")] = DEFAULT_MS,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Make a token of the user that asks; the file is for whoever is to act for that user."""
    if out.exists():
        raise UsageError(f"{out} is there already; name another file")
    renewers = [_principal(name) for name in renewer or ()]
    lifetime_ms = _milliseconds(max_lifetime_s)
    made = call(
        "create_token", bootstrap_server, cluster, renewers=renewers, max_lifetime_ms=lifetime_ms
    )
    held = HeldToken(token_id=made["token_id"], hmac=bytes.fromhex(made["hmac"]))
    write_secret(out, token_document(held))
    ends = made["expires_ms"]
    sentence = f"{held.token_id}: until {_shown(ends)}; use it with {TOKEN_VARIABLE}={out}"
    document = {"token_id": held.token_id, "expires_ms": ends, "file": str(out)}
    tell(document, sentence, as_json=as_json)
    return 0


@app.command("renew")
def renew(
    token_id: TokenId,
    seconds: Annotated[int, typer.Option(help="From now; -1: a day.")] = DEFAULT_MS,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Let a token live on, never beyond its maximum."""
    renew_ms = _milliseconds(seconds)
    changed = call("renew_token", bootstrap_server, cluster, token_id=token_id, renew_ms=renew_ms)
    _tell_end(token_id, changed["expires_ms"], as_json=as_json)
    return 0


@app.command("expire")
def expire(
    token_id: TokenId,
    seconds: Annotated[int, typer.Option(help="From now; -1: at once.")] = DEFAULT_MS,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """End a token."""
    after_ms = _milliseconds(seconds)
    changed = call("expire_token", bootstrap_server, cluster, token_id=token_id, after_ms=after_ms)
    _tell_end(token_id, changed["expires_ms"], as_json=as_json)
    return 0


@app.command("describe")
def describe(
    owner: Annotated[list[str] | None, typer.Option(help="Of this user; may be repeated.")] = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show the tokens that the user may know of, without their secrets."""
    owners = [_principal(name) for name in owner or ()]
    found = list(answers("describe_tokens", bootstrap_server, cluster, owners=owners))
    if as_json:
        show_json(found)
        return 0
    rows = [
        [
            one["token_id"],
            one["owner"],
            ", ".join(one["renewers"]),
            _shown(one["expires_ms"]),
            _shown(one["max_ms"]),
        ]
        for one in found
    ]
    show_table("Delegation tokens", COLUMNS, rows)
    return 0


def _tell_end(token_id: str, expires_ms: int, *, as_json: bool) -> None:
    document = {"token_id": token_id, "expires_ms": expires_ms}
    tell(document, f"{token_id}: until {_shown(expires_ms)}.", as_json=as_json)


def _principal(name: str) -> str:
    return name if name.startswith("User:") else f"User:{name}"


def _milliseconds(seconds: int) -> int:
    return seconds * MS_PER_S if seconds >= 0 else DEFAULT_MS


def _shown(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / MS_PER_S, UTC):%Y-%m-%d %H:%M:%S} UTC"
