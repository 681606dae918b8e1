"""What an administrator asks of the configuration of a healed cluster, from level 5 on (FWD-001).

Each request that can be made is made, is what every broker tells, and changes nothing else; each
other one is refused with its own error. The entities are those of `last_requests.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.impl.core.types.config_messages import (
    AlterClientQuotasRequest,
    AlterConfigsRequest,
    ConfigRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    EntityChange,
    EntryChange,
    EntryOperation,
    IncrementalAlterConfigsRequest,
)
from fencepost.impl.core.types.messages import Request
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.sim.requests.asking import AskingClient, Step, Until
from fencepost.spec.config_store import (
    CHANGES_KEPT,
    ConfigEntity,
    EntityKind,
)
from fencepost.spec.vocabulary import (
    BrokerId,
    ControllerEpoch,
    ErrorCode,
)

TOPIC = ConfigEntity(EntityKind.TOPIC, ("last",))
BROKERS = ConfigEntity(EntityKind.BROKER, ("",))
USER = ConfigEntity(EntityKind.USER, ("u",))
ALL_USERS = ConfigEntity(EntityKind.USER, ("",))
CLIENT = ConfigEntity(EntityKind.CLIENT, ("c",))
USER_CLIENT = ConfigEntity(EntityKind.USER_CLIENT, ("u", "c"))
RESOURCE = ConfigEntity(EntityKind.ACL, ("literal", "topic", "last"))
RATE = "controller_mutation_rate"
LEAST = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
ACL = "ALLOW Read * User:u"
TOO_LONG = "x" * 1001
TOO_MANY = 1001
"""Entries in one change of one entity."""
PAUSED_MS = 300
"""Less than a session, and longer than many changes take."""
MANY = 0.3
"""Share in which a broker misses more changes than are kept."""
OK = ErrorCode.NONE
WRONG, BAD_VALUE = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG
SET, DELETE, APPEND, SUBTRACT = (
    EntryOperation.SET,
    EntryOperation.DELETE,
    EntryOperation.APPEND,
    EntryOperation.SUBTRACT,
)


IsRight = Callable[[Mapping[tuple[str, ...], Mapping[str, str]]], bool]
"""Of the entries of entities by their names."""


class LastConfigs:
    """The part of the last requests that is about the configuration."""

    def __init__(self, client: AskingClient) -> None:
        """The client asks, and notes what is wrong."""
        self._client = client
        self._cluster = client.cluster

    def script(self) -> Step:
        """All requests in turn."""
        yield from self._wrong_changes_are_refused()
        yield from self._most_is_taken()
        yield from self._entries_change()
        yield from self._quotas_change()
        yield from self._acls_change()
        yield from self._controller_alone_changes()
        if self._client.random.random() < MANY:
            yield from self._many_changes_are_missed()
        yield from self._all_is_gone()

    def _wrong_changes_are_refused(self) -> Step:
        """Each by itself, beside one that is made."""
        asked = [*_mistakes()]
        request = IncrementalAlterConfigsRequest(entities=tuple(change for change, _ in asked))
        yield from self._client.expect(request, *(code for _, code in asked))
        too_many = tuple(_topic(f"{n}", _set("color", "red")) for n in range(101))
        wrong = IncrementalAlterConfigsRequest(entities=too_many)
        yield from self._client.expect(wrong, *[WRONG] * len(too_many))
        yield from self.tells(TOPIC, color="red")

    def _most_is_taken(self) -> Step:
        """What is as long, or as many, as may be is taken, and one more is not."""
        full = tuple(_set(f"{n}", "") for n in range(TOO_MANY - 1))
        longest = ConfigEntity(EntityKind.USER, (TOO_LONG[1:],))
        nowhere = ConfigEntity(EntityKind.USER, ("\0",))
        topics: tuple[tuple[ErrorCode, tuple[EntityChange, ...]], ...] = (
            (OK, (_topic("full", *full), _topic("name", _set(TOO_LONG[1:], "")))),
            (OK, (_topic("value", _set("color", TOO_LONG[1:])),)),
            (OK, tuple(_topic(f"{n}", _set("color", "red")) for n in range(100))),
            (BAD_VALUE, (_of(TOPIC, *full),)),
        )
        for code, changes in topics:
            many = IncrementalAlterConfigsRequest(entities=changes, validate_only=True)
            yield from self._client.expect(many, *[code] * len(changes))
        for entity, code in ((longest, OK), (nowhere, WRONG)):
            one = AlterClientQuotasRequest(
                entities=(_of(entity, _set(RATE, "1")),), validate_only=True
            )
            yield from self._client.expect(one, code)
        yield from self.tells(TOPIC, color="red")

    def _entries_change(self) -> Step:
        """A list grows and shrinks, an entry goes, and a whole change leaves nothing else."""
        for change, after in (
            (_set("list", "a,b"), "a,b"),
            (_entry(APPEND, "list", "b,,c"), "a,b,c"),
            (_entry(SUBTRACT, "list", "b"), "a,c"),
        ):
            yield from self._change(IncrementalAlterConfigsRequest, TOPIC, change)
            yield from self.tells(TOPIC, color="red", list=after)
        yield from self.drop(IncrementalAlterConfigsRequest, TOPIC, ("color",))
        yield from self._change(IncrementalAlterConfigsRequest, TOPIC, _entry(DELETE, "absent"))
        yield from self.tells(TOPIC, list="a,c")
        appends = AlterConfigsRequest(entities=(_of(TOPIC, _entry(APPEND, "list", "d")),))
        yield from self._client.expect(appends, WRONG)
        size = _set("size", "1"), _set(LEAST, "1")
        yield from self.drop(AlterConfigsRequest, TOPIC, ("list",), *size)
        yield from self.tells(TOPIC, **{"size": "1", LEAST: "1"})
        tried = IncrementalAlterConfigsRequest(
            entities=(_of(TOPIC, _set("size", "2")),), validate_only=True
        )
        yield from self._client.expect(tried, OK)
        yield from self._change(IncrementalAlterConfigsRequest, BROKERS, _set(UNCLEAN, "false"))
        yield from self.tells(BROKERS, **{UNCLEAN: "false"})
        yield from self.tells(TOPIC, **{"size": "1", LEAST: "1"})

    def _quotas_change(self) -> Step:
        """Of users, clients and both together; each is a rate above zero (QUOTA-005)."""
        wrong = ("0", "-1", "inf", "nan", "fast")
        entities = tuple(
            _of(ConfigEntity(EntityKind.USER, (f"u{n}",)), _set(RATE, value))
            for n, value in enumerate(wrong)
        )
        request = AlterClientQuotasRequest(entities=entities)
        yield from self._client.expect(request, *[BAD_VALUE] * len(wrong))
        for entity, code in ((USER, BAD_VALUE), (TOPIC, WRONG)):
            other = AlterClientQuotasRequest(entities=(_of(entity, _set("color", "1.5")),))
            yield from self._client.expect(other, code)
        for number, entity in enumerate((USER, ALL_USERS, CLIENT, USER_CLIENT), start=1):
            yield from self._change(AlterClientQuotasRequest, entity, _set(RATE, f"{number}.5"))
        yield from self.tells(USER_CLIENT, **{RATE: "4.5"})
        for kind, count in ((EntityKind.USER, 2), (EntityKind.CLIENT, 1), (EntityKind.BROKER, 1)):
            yield from self._lists(kind, count)
        yield from self.tells(ALL_USERS, **{RATE: "2.5"})

    def _acls_change(self) -> Step:
        """What is none is refused (SEC-001)."""
        for text in ("MAYBE Read * User:u", "ALLOW Read", "ALLOW  * User:u", "ALLOW Fly * User:u"):
            wrong = CreateAclsRequest(entities=(_of(RESOURCE, _set(text, "")),))
            yield from self._client.expect(wrong, BAD_VALUE)
        for names in (
            ("near", "topic", "last"),
            ("literal", "planet", "last"),
            ("literal", "topic", ""),
        ):
            nothing = ConfigEntity(EntityKind.ACL, names)
            wrong = CreateAclsRequest(entities=(_of(nothing, _set(ACL, "")),))
            yield from self._client.expect(wrong, WRONG)
        for request in (
            CreateAclsRequest(entities=(_of(TOPIC, _set(ACL, "")),)),
            CreateAclsRequest(entities=(_of(RESOURCE, _entry(DELETE, ACL)),)),
            DeleteAclsRequest(entities=(_of(RESOURCE, _set(ACL, "")),)),
        ):
            yield from self._client.expect(request, WRONG)
        yield from self._change(CreateAclsRequest, RESOURCE, _set(ACL, ""))
        yield from self.tells(RESOURCE, **{ACL: ""})

    def _controller_alone_changes(self) -> Step:
        """Others forward the old version once, for that controller, and refuse the new one."""
        elected = self._cluster.controller()
        others = sorted(one for one in self._cluster.disks if not self._is_controller(one))
        if elected is None or not others:
            return
        at, epoch = elected.broker_id, elected.node.controller.generation.controller_epoch
        change = _of(TOPIC, _set("owner", "new"))
        newer = RequestHeader(api_version=CONTROLLER_VERSION)
        forwarded = RequestHeader(
            api_version=CONTROLLER_VERSION, forwards=1, number=1, controller_epoch=epoch
        )
        earlier = RequestHeader(
            api_version=CONTROLLER_VERSION,
            forwards=1,
            number=2,
            controller_epoch=ControllerEpoch(epoch - 1),
        )
        for to, header, codes in (
            (others[0], newer, (ErrorCode.NOT_CONTROLLER,)),
            (others[0], RequestHeader(forwards=1), (ErrorCode.NOT_CONTROLLER,)),
            (at, earlier, (ErrorCode.NOT_CONTROLLER,)),
            (at, newer, (OK,)),
            (others[0], RequestHeader(), (OK,)),
            (at, forwarded, (OK,)),
            (at, forwarded, (ErrorCode.REQUEST_TIMED_OUT,)),
        ):
            request = IncrementalAlterConfigsRequest(header=header, entities=(change,))
            yield from self._client.expect(request, *codes, to=to)
        yield from self.tells(TOPIC, **{"size": "1", LEAST: "1", "owner": "new"})

    def _many_changes_are_missed(self) -> Step:
        """More than ZooKeeper keeps, the first of another topic: the broker reads all (FWD-008)."""
        absent = next(one for one in sorted(self._cluster.disks) if not self._is_controller(one))
        fault = PauseBroker(target=broker(absent), for_ms=PAUSED_MS)
        self._client.begin_fault("misses-changes", fault)
        yield Until("the pause", lambda: self._cluster.processes[absent].is_paused)
        elected = self._cluster.controller()
        to = elected.broker_id if elected is not None else None
        for number in range(CHANGES_KEPT + 1):
            entity = ConfigEntity(EntityKind.TOPIC, (f"many-{number and 1}",))
            change = _of(entity, _set("color", f"{number}"))
            request = IncrementalAlterConfigsRequest(entities=(change,))
            yield from self._client.expect(request, OK, to=to)
        for number, color in enumerate(("0", f"{CHANGES_KEPT}")):
            yield from self.tells(ConfigEntity(EntityKind.TOPIC, (f"many-{number}",)), color=color)
        for number in range(2):
            entity = ConfigEntity(EntityKind.TOPIC, (f"many-{number}",))
            yield from self.drop(IncrementalAlterConfigsRequest, entity, ("color",))

    def _all_is_gone(self) -> Step:
        """An entity without entries is none."""
        yield from self.drop(AlterConfigsRequest, TOPIC, ("size", LEAST, "owner"))
        yield from self.drop(AlterConfigsRequest, BROKERS, (UNCLEAN,))
        for entity in (USER, ALL_USERS, CLIENT, USER_CLIENT):
            yield from self.drop(AlterClientQuotasRequest, entity, (RATE,))
        yield from self.drop(DeleteAclsRequest, RESOURCE, (ACL,))
        for kind in (*EntityKind,):
            if kind not in (EntityKind.TOPIC, EntityKind.TOKEN):
                yield from self._lists(kind, 0)
        yield from self.tells(TOPIC)

    # What they are made of

    def _change(
        self, kind: type[ConfigRequest], entity: ConfigEntity, *changes: EntryChange
    ) -> Step:
        yield from self._client.expect(kind(entities=(_of(entity, *changes),)), OK)

    def drop(
        self,
        kind: type[ConfigRequest],
        entity: ConfigEntity,
        gone: Sequence[str],
        *left: EntryChange,
    ) -> Step:
        """A change after which entries are gone, which the trace tells: no other one may be."""
        drops = () if kind is AlterConfigsRequest else (_entry(DELETE, name) for name in gone)
        asked = self._change(kind, entity, *drops, *left)
        yield from self._client.drops(entity, gone, asked)

    def tells(self, entity: ConfigEntity, **entries: str) -> Step:
        """Every broker tells these entries of the entity, of the version that ZooKeeper has."""
        request = DescribeConfigsRequest(kind=entity.kind, names=entity.names)
        expected = {entity.names: entries} if entries else {}
        yield from self.is_told(request, lambda told: told == expected)

    def _lists(self, kind: EntityKind, count: int) -> Step:
        """Every broker tells so many entities of the kind."""
        request = DescribeConfigsRequest(kind=kind)
        yield from self.is_told(request, lambda told: len(told) == count)

    def is_told(self, request: Request, is_right: IsRight) -> Step:
        """Every broker has read the last change, and tells what is right of the entities."""
        version = self._client.config_version
        stores = [one.node.configs for one in self._cluster.processes.values()]
        yield Until("the change", lambda: all(one.version == version for one in stores))
        for to in sorted(self._cluster.disks):
            told = yield to, request
            if not isinstance(told, DescribeConfigsResponse):
                self._client.wrong.append(f"broker {to} tells no configuration")
                continue
            found = {
                one.names: {entry.name: entry.value for entry in one.entries}
                for one in told.entities
            }
            if (told.broker_id, told.config_version) != (to, version) or not is_right(found):
                self._client.wrong.append(f"broker {to} tells {found} of the configuration")

    def _is_controller(self, broker_id: BrokerId) -> bool:
        elected = self._cluster.controller()
        return elected is not None and elected.broker_id == broker_id


def _mistakes() -> Iterator[tuple[EntityChange, ErrorCode]]:
    """Changes with the error of each."""
    yield _of(TOPIC, _set("color", "red")), OK
    yield _topic("no topic", _set("color", "red")), ErrorCode.INVALID_TOPIC
    yield EntityChange(kind=EntityKind.TOPIC, names=("a", "b"), changes=()), WRONG
    yield _topic("a" * 1001, _set("color", "red")), WRONG
    yield _broker("x", _set("color", "red")), WRONG
    yield _of(USER, _set(RATE, "1")), WRONG
    yield _topic("twice", _set("color", "red"), _set("color", "blue")), WRONG
    for value in ("0", "two", "-1"):
        yield _topic(f"least{value}", _set(LEAST, value)), BAD_VALUE
    for number, value in enumerate(("yes", "True", "")):
        yield _broker(f"{number + 1}", _set(UNCLEAN, value)), BAD_VALUE
    yield _topic("many", *(_set(f"{n}", "") for n in range(TOO_MANY))), WRONG
    yield _topic("empty", _set("", "red")), BAD_VALUE
    yield _topic("name", _set(TOO_LONG, "red")), BAD_VALUE
    yield _topic("value", _set("color", TOO_LONG)), BAD_VALUE
    yield _broker("7", _entry(DELETE, LEAST)), OK
    for _ in range(2):
        yield _topic("two", _set("color", "red")), WRONG


def _topic(name: str, *changes: EntryChange) -> EntityChange:
    return EntityChange(kind=EntityKind.TOPIC, names=(name,), changes=changes)


def _broker(name: str, *changes: EntryChange) -> EntityChange:
    return EntityChange(kind=EntityKind.BROKER, names=(name,), changes=changes)


def _of(entity: ConfigEntity, *changes: EntryChange) -> EntityChange:
    return EntityChange(kind=entity.kind, names=entity.names, changes=changes)


def _set(name: str, value: str) -> EntryChange:
    return EntryChange(name=name, value=value)


def _entry(operation: EntryOperation, name: str, value: str = "") -> EntryChange:
    return EntryChange(operation=operation, name=name, value=value)
