"""The command line of a broker process."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from fencepost.impl.core.config import Config
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import mutant_name, version_rules
from fencepost.impl.shell.storage.log_store import SEGMENT_BYTES, FlushPolicy, LogOptions
from fencepost.impl.shell.warm_start import GO_OPTION
from fencepost.spec.vocabulary import NEWEST_LEVEL, BrokerId, BrokerVersion, ProtocolLevel
from fencepost.spec.zookeeper import AddressError, ZooKeeperAddress

EXIT_USAGE = 4
MILLISECONDS_MAX = 24 * 3600 * 1000
BROKER_ID_MAX = 2**31 - 1
RECORDS_MAX = 1_000_000_000
SEGMENT_BYTES_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """Everything that `python -m fencepost.impl node` takes."""

    config: Config
    zookeeper: ZooKeeperAddress
    data: Path
    trace: Path
    run_id: str
    session_timeout_ms: int
    start_timeout_ms: int
    log: LogOptions
    fault_control: bool
    mutant: MutantName | None
    advertised: tuple[str, int] | None
    """Host and port to register in ZooKeeper; None: those on which the broker listens."""
    paced: str
    """Address of service Pacer, from which moves come; empty for a free-running broker."""
    own_pace: bool
    """A stepped broker moves high watermark and ISR by its own rules, not by moves."""
    tls: Path | None
    """The folder of the broker's identity; None: connections are plain."""
    zookeeper_tls: bool
    """ZooKeeper is connected by TLS too, with the identity in `tls`."""
    zookeeper_credentials: Path | None
    """The file with `user:password` for ZooKeeper; None: any session may write our znodes."""
    token_key: Path | None
    """The file with the key of all brokers for delegation tokens; None: there are none."""
    authorizer: bool
    """Users need permissions; without, they may do what users do."""
    super_user: list[str]
    """Names of users that need no permission."""
    recover_from: int | None
    """The checkpointed high watermark that a stepped broker starts from; None: the stored one."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one sentence, with exit code 4."""

    def error(self, message: str) -> NoReturn:
        """Print the message to stderr and exit with code 4."""
        sys.stderr.write(f"{self.prog}: {message}; see {self.prog} --help\n")
        raise SystemExit(EXIT_USAGE)


def number(low: int, high: int) -> Callable[[str], int]:
    """A converter for whole numbers from `low` to `high`."""

    def convert(text: str) -> int:
        if not text.lstrip("-").isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {low} to {high}")
        return int(text)

    return convert


def mutant(text: str) -> MutantName:
    """A converter for the name of a wrong rule."""
    try:
        return mutant_name(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"there is no mutant {text!r}") from None


def zookeeper_address(text: str) -> ZooKeeperAddress:
    """A converter for `HOST:PORT/CHROOT`."""
    try:
        return ZooKeeperAddress.parse(text)
    except AddressError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def host_and_port(text: str) -> tuple[str, int]:
    """A converter for `HOST:PORT`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no address; give HOST:PORT")
    return host, int(port)


def add_node_command(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the sub-command `node`."""
    epilog = (
        f"`node {GO_OPTION} N` reads its flags, a JSON list, from descriptor N when they are there"
    )
    parser = commands.add_parser("node", help="run one broker until SIGTERM", epilog=epilog)
    _add_identity(parser)
    _add_storage(parser)
    _add_protocol(parser)
    _add_quota(parser)


def _add_identity(parser: Parser) -> None:
    parser.add_argument("--broker-id", type=number(0, BROKER_ID_MAX), required=True)
    parser.add_argument(
        "--zookeeper", type=zookeeper_address, required=True, metavar="HOST:PORT/CHROOT"
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of this broker's logs")
    parser.add_argument("--trace", type=Path, required=True, help="folder of the run's traces")
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--port", type=number(0, 65535), default=0, help="0: a free one, see /brokers/ids"
    )
    parser.add_argument(
        "--advertised",
        type=host_and_port,
        metavar="HOST:PORT",
        help="register this address, for example that of a proxy, instead of --host and --port",
    )
    _add_access(parser)
    parser.add_argument("--fault-control", action="store_true", help="serve FaultControl")
    parser.add_argument(
        "--paced",
        default="",
        metavar="ADDRESS",
        help="step the broker only by moves, which service Pacer takes at this address",
    )
    parser.add_argument(
        "--own-pace",
        action="store_true",
        help="with --paced: the broker moves high watermark and ISR by its own rules",
    )
    parser.add_argument(
        "--recover-from",
        type=number(0, RECORDS_MAX),
        help="with --paced: start from this high watermark instead of the checkpointed one",
    )
    parser.add_argument(
        "--mutant",
        type=mutant,
        help="with --fault-control: run with this wrong rule; stderr and the trace report it",
    )


def _add_access(parser: Parser) -> None:
    parser.add_argument(
        "--tls",
        type=Path,
        metavar="FOLDER",
        help="take and open connections by mutual TLS only, with ca.pem, certificate.pem and "
        "key.pem of this folder",
    )
    parser.add_argument(
        "--token-key",
        type=Path,
        metavar="FILE",
        help="with --tls: users may have delegation tokens, genuine by this key of all brokers",
    )
    parser.add_argument(
        "--authorizer",
        action="store_true",
        help="with --tls: users may do only what ACLs in ZooKeeper allow them",
    )
    parser.add_argument(
        "--super-user",
        action="append",
        default=[],
        metavar="NAME",
        help="with --authorizer: this user needs no ACL; may be given again",
    )
    parser.add_argument(
        "--zookeeper-tls",
        action="store_true",
        help="with --tls: connections to ZooKeeper are by mutual TLS too, with the same identity",
    )
    parser.add_argument(
        "--zookeeper-credentials",
        type=Path,
        metavar="FILE",
        help="USER:PASSWORD; only sessions with it may write what this broker writes",
    )


def _add_storage(parser: Parser) -> None:
    parser.add_argument(
        "--flush-records",
        type=number(0, RECORDS_MAX),
        default=0,
        help="fsync a log after this many records, before they are acknowledged; 0: never",
    )
    parser.add_argument(
        "--flush-ms",
        type=number(0, MILLISECONDS_MAX),
        default=0,
        help="fsync records that are this old; 0: never",
    )
    parser.add_argument(
        "--segment-bytes",
        type=number(1, SEGMENT_BYTES_MAX),
        default=SEGMENT_BYTES,
        help="roll a segment at this size",
    )


def _add_protocol(parser: Parser) -> None:
    default = Config(broker_id=BrokerId(0))
    milliseconds = number(1, MILLISECONDS_MAX)
    levels = [level.value for level in ProtocolLevel]
    parser.add_argument("--level", type=number(levels[0], levels[-1]), default=NEWEST_LEVEL.value)
    parser.add_argument(
        "--code-level",
        type=number(levels[0], levels[-1]),
        metavar="N",
        help="understand what brokers of this level say, and speak --level: the first pass of an "
        "upgrade; default: --level",
    )
    for name, value in (
        ("session-timeout", 1500),
        ("start-timeout", 10_000),
        ("replica-lag", default.replica_lag_time_ms),
        ("request-timeout", default.request_timeout_ms),
        ("retry", default.retry_ms),
        ("checkpoint", default.checkpoint_ms),
    ):
        parser.add_argument(f"--{name}-ms", type=milliseconds, default=value)
    parser.add_argument(
        "--fetch-wait-ms", type=number(0, MILLISECONDS_MAX), default=default.fetch_wait_ms
    )
    parser.add_argument("--fetch-records-max", type=number(1, 100_000), default=200)
    parser.add_argument("--min-insync-replicas", type=number(1, 1000), default=1)
    for name, about in (("partitions", "partitions"), ("replicas", "replicas of each")):
        parser.add_argument(
            f"--internal-topic-{name}",
            type=number(1, 1000),
            default=getattr(default, f"internal_topic_{name}"),
            help=f"{about} of the topics that hold what coordinators know",
        )
    parser.add_argument(
        "--unclean-leader-election",
        action="store_true",
        help="elect a leader outside the ISR when no replica in it is alive; may lose records",
    )


def _add_quota(parser: Parser) -> None:
    default = Config(broker_id=BrokerId(0))
    parser.add_argument(
        "--token-check-ms",
        type=number(1, MILLISECONDS_MAX),
        default=default.token_check_ms,
        help="so often the controller looks for delegation tokens that are over, and removes them",
    )
    parser.add_argument(
        "--mutation-quota",
        dest="has_mutation_quota",
        action="store_true",
        help="the controller alone takes mutations of topics, and admits them by the quotas that "
        "the configuration holds; give it to all brokers",
    )
    parser.add_argument(
        "--quota-window-num",
        type=number(1, 10_000),
        default=default.quota_window_num,
        help="so many windows of unused rate are kept",
    )
    parser.add_argument(
        "--quota-window-size-s", type=number(1, 86_400), default=default.quota_window_size_s
    )


def node_options(arguments: argparse.Namespace) -> NodeOptions:
    """The parsed arguments as values."""
    given = {**vars(arguments), "replica_lag_time_ms": arguments.replica_lag_ms}

    def of(kind: type[Config] | type[NodeOptions]) -> dict[str, Any]:
        return {field.name: given[field.name] for field in fields(kind) if field.name in given}

    version = version_in(arguments)
    flush = FlushPolicy(records=arguments.flush_records, ms=arguments.flush_ms)
    return NodeOptions(
        **of(NodeOptions),
        config=Config(
            **of(Config),
            reads_configuration=arguments.authorizer or arguments.token_key is not None,
            inter_broker_protocol=version.inter_broker_protocol,
            rules=version_rules(version, arguments.mutant),
        ),
        log=LogOptions(segment_bytes=arguments.segment_bytes, flush=flush),
    )


def version_in(arguments: argparse.Namespace) -> BrokerVersion:
    """What the broker understands and speaks."""
    code, protocol = arguments.code_level, arguments.level
    return BrokerVersion(protocol if code is None else code, protocol)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The parsed command line; ends the process with code 4 when it is wrong."""
    parser = Parser(prog="python -m fencepost.impl")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    add_node_command(commands)
    parsed = parser.parse_args(arguments)
    if parsed.recover_from is not None and not parsed.paced:
        parser.error("--recover-from is only for a broker with --paced")
    if parsed.own_pace and not parsed.paced:
        parser.error("--own-pace is only for a broker with --paced")
    if parsed.mutant is not None and not parsed.fault_control:
        parser.error("--mutant is only for a broker with --fault-control")
    if not version_in(parsed).is_possible:
        parser.error("--code-level is --level or a later one, and upgrades begin at level 2")
    if parsed.zookeeper_tls and parsed.tls is None:
        parser.error("--zookeeper-tls needs --tls, which names the identity")
    if parsed.token_key is not None and parsed.tls is None:
        parser.error("--token-key needs --tls: a token is told over no plain connection")
    if parsed.authorizer and parsed.tls is None:
        parser.error("--authorizer needs --tls: without it nothing proves the name of a user")
    if parsed.super_user and not parsed.authorizer:
        parser.error("--super-user is only for a broker with --authorizer")
    return parsed
