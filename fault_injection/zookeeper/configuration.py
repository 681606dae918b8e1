"""The configuration of a ZooKeeper server, `zoo.cfg`."""

from collections.abc import Iterable

MAX_SESSION_TIMEOUT_MS = 60_000
INIT_TICKS = 100
"""How long a follower may take to catch up with a new leader."""
SYNC_TICKS = 10
"""How long leader and follower may be silent before they give each other up."""

SYSTEM_PROPERTIES = (
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.preAllocSize=64",  # KiB by which the transaction log grows
    # It foretells another digest of its tree than comes of a change of the root's ACL, and then
    # logs the transaction with all in it: the ACL is `user:` and the hash of the credentials.
    "-Dzookeeper.digest.enabled=false",
)
"""What no configuration file sets in time: classes read it when they are loaded."""

Settings = dict[str, str | int]


def member_settings(members: Iterable[str]) -> Settings:
    """The settings of an ensemble; each of `members` is `HOST:PORT:ELECTION_PORT`."""
    servers = {f"server.{n}": f"{where}:participant" for n, where in enumerate(members, start=1)}
    return {"initLimit": INIT_TICKS, "syncLimit": SYNC_TICKS, **servers}


def configuration(data_dir: str, tick_ms: int, more: Settings) -> str:
    """The text of `zoo.cfg`. Sessions may be as short as two ticks, and end at the end of one."""
    settings: Settings = {
        "tickTime": tick_ms,
        "minSessionTimeout": 2 * tick_ms,
        "maxSessionTimeout": MAX_SESSION_TIMEOUT_MS,
        "dataDir": data_dir,
        "maxClientCnxns": 0,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        **more,
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def property_value(text: str) -> str:
    """`text` as java.util.Properties reads it back, whatever characters it has."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
