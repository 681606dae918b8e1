"""What a broker may rely on in ZooKeeper: one file for the real server and the simulated one."""

import itertools
from collections.abc import Iterator

import pytest

from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import (
    SessionEstablished,
    SessionLost,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
)
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Delete,
    Rejected,
    SetData,
    Unknown,
    WriteOp,
    Written,
    ZkError,
)
from fencepost.spec.vocabulary import ANY_VERSION, SessionId, ZnodeVersion
from fencepost.spec.znodes import ADMIN, REQUEST_PATHS
from tests.impl.zookeeper_contract.facade import (
    Session,
    ZooKeeperFacade,
    real_zookeeper,
    simulated_zookeeper,
)

A, B = "/brokers/ids/1", "/brokers/topics/t"
MISSING = "/brokers/ids/9"
CHROOTS = itertools.count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    folder = tmp_path_factory.mktemp("zookeeper")
    with Supervisor(folder / "supervisor", "zookeeper-contract") as supervisor:
        server = ZooKeeperServer(supervisor, folder / "server")
        server.start()
        yield server


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.zookeeper), "sim"])
def zookeeper(request: pytest.FixtureRequest) -> Iterator[ZooKeeperFacade]:
    if request.param == "sim":
        facade = simulated_zookeeper()
    else:
        server: ZooKeeperServer = request.getfixturevalue("server")
        facade = real_zookeeper(f"{server.address}/contract/{next(CHROOTS)}")
    yield facade
    facade.close()


@pytest.fixture
def session(zookeeper: ZooKeeperFacade) -> Session:
    return zookeeper.open_session()


def create(path: str, data: bytes = b"", *, ephemeral: bool = False) -> Create:
    return Create(path=path, data=data, ephemeral=ephemeral)


def set_data(path: str, data: bytes, version: int = ANY_VERSION) -> SetData:
    return SetData(path=path, data=data, expected_version=ZnodeVersion(version))


def delete(path: str, version: int = ANY_VERSION) -> Delete:
    return Delete(path=path, expected_version=ZnodeVersion(version))


def check(path: str, version: int) -> Check:
    return Check(path=path, expected_version=ZnodeVersion(version))


def written(session: Session, *ops: WriteOp) -> Written:
    result = session.write(*ops)
    assert isinstance(result, Written), result
    return result


def refused(session: Session, *ops: WriteOp) -> tuple[ZkError, ...]:
    result = session.write(*ops)
    assert isinstance(result, Rejected), result
    return result.errors


def test_the_persistent_paths_are_there_before_the_session_is(session: Session) -> None:
    assert session.children("/brokers") == ("ids", "topics")
    assert [f"{ADMIN}/{name}" for name in session.children(ADMIN) or ()] == sorted(REQUEST_PATHS)


def test_a_new_znode_has_version_zero_and_one_zxid(session: Session) -> None:
    result = written(session, create(A, b"x"))
    znode = session.read(A)

    assert result.versions == (0,)
    assert znode.data == b"x"
    assert znode.stat is not None
    assert (znode.stat.version, znode.stat.ephemeral_owner) == (0, 0)
    assert znode.stat.czxid == znode.stat.mzxid == result.zxid


def test_each_write_raises_the_version_by_one_and_the_zxid(session: Session) -> None:
    results = [written(session, create(A))]
    results += [written(session, set_data(A, b"%d" % n, n)) for n in range(3)]
    znode = session.read(A)

    assert [result.versions for result in results] == [(0,), (1,), (2,), (3,)]
    assert sorted({result.zxid for result in results}) == [result.zxid for result in results]
    assert znode.data == b"2"
    assert znode.stat is not None
    assert (znode.stat.version, znode.stat.czxid) == (3, results[0].zxid)
    assert znode.stat.mzxid == results[3].zxid


def test_a_znode_that_is_created_again_starts_anew(session: Session) -> None:
    first = written(session, create(A))
    written(session, set_data(A, b"x", 0))
    written(session, delete(A, 1))
    again = written(session, create(A))
    znode = session.read(A)

    assert again.versions == (0,)
    assert znode.stat is not None
    assert znode.stat.czxid == again.zxid > first.zxid


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (create(A), ZkError.NODE_EXISTS),
        (create(f"{MISSING}/child"), ZkError.NO_NODE),
        (set_data(A, b"x", 1), ZkError.BAD_VERSION),
        (set_data(MISSING, b"x", 0), ZkError.NO_NODE),
        (set_data(MISSING, b"x"), ZkError.NO_NODE),
        (delete(A, 1), ZkError.BAD_VERSION),
        (delete(MISSING, 0), ZkError.NO_NODE),
        (delete("/brokers/topics", 0), ZkError.NOT_EMPTY),
        (check(A, 1), ZkError.BAD_VERSION),
        (check(MISSING, 0), ZkError.NO_NODE),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, ZkError) else value,
)
def test_a_write_that_does_not_fit_is_refused(
    session: Session, op: WriteOp, error: ZkError
) -> None:
    written(session, create(A, b"old"))
    written(session, create(B))

    assert refused(session, op) == (error,)
    assert session.read(A).data == b"old"
    assert session.read(MISSING).stat is None


def test_any_version_fits(session: Session) -> None:
    written(session, create(A))
    written(session, set_data(A, b"1", 0))

    assert written(session, set_data(A, b"2")).versions == (2,)
    assert written(session, check(A, ANY_VERSION)).versions == (-1,)
    assert written(session, delete(A)).versions == (-1,)
    assert session.read(A).stat is None


def test_a_multi_is_one_transaction(session: Session) -> None:
    before = written(session, create(A, b"a"))
    result = written(
        session,
        check(A, 0),
        set_data(A, b"b", 0),
        create(B, b"c"),
        create(f"{B}/0"),
        set_data(A, b"d", 1),
        delete(f"{B}/0", 0),
    )
    a, b = session.read(A), session.read(B)

    assert result.zxid > before.zxid
    assert result.versions == (-1, 1, 0, 0, 2, -1)
    assert (a.data, b.data) == (b"d", b"c")
    assert a.stat is not None
    assert b.stat is not None
    assert (a.stat.version, b.stat.version) == (2, 0)
    assert a.stat.mzxid == b.stat.czxid == result.zxid


def test_a_multi_deletes_what_its_own_deletions_have_emptied(session: Session) -> None:
    written(session, create(B), create(f"{B}/0"))
    assert refused(session, delete(f"{B}/0"), create(f"{B}/1"), delete(B))[-1] is ZkError.NOT_EMPTY
    assert written(session, delete(f"{B}/0"), delete(B)).versions == (-1, -1)


def test_a_multi_with_one_misfit_changes_nothing_and_says_which(session: Session) -> None:
    written(session, create(A, b"a"))

    errors = refused(session, set_data(A, b"b", 0), check(A, 5), create(B))

    assert errors == (ZkError.ROLLED_BACK, ZkError.BAD_VERSION, ZkError.ROLLED_BACK)
    assert session.read(A).data == b"a"
    assert session.read(B).stat is None


def test_only_the_first_misfit_of_a_multi_is_named(session: Session) -> None:
    errors = refused(session, create(A), delete(MISSING, 0), create(A))

    assert errors == (ZkError.ROLLED_BACK, ZkError.NO_NODE, ZkError.ROLLED_BACK)


def test_a_refused_multi_leaves_the_version_for_the_next(session: Session) -> None:
    written(session, create(A))
    refused(session, set_data(A, b"x", 0), check(B, 0))

    assert written(session, set_data(A, b"y", 0)).versions == (1,)


def test_what_is_not_there_reads_as_nothing(session: Session) -> None:
    znode = session.read(MISSING)

    assert (znode.path, znode.data, znode.stat) == (MISSING, b"", None)
    assert session.children(MISSING) is None


def test_children_are_named_in_ascending_order_of_a_transaction(session: Session) -> None:
    zxid = written(session, *(create(f"/brokers/ids/{n}") for n in (3, 1, 2))).zxid
    listed = session.listing("/brokers/ids")

    assert (listed.names, listed.pzxid, session.children(A)) == (("1", "2", "3"), zxid, ())


def test_operations_are_answered_in_the_order_in_which_they_were_asked(session: Session) -> None:
    ids = [session.next_op_id() for _ in range(4)]
    answers = session.ask(
        WriteZnodes(op_id=ids[0], ops=(create(A, b"1"),)),
        ReadZnodes(op_id=ids[1], paths=(A, B), watch=True),
        ListChildren(op_id=ids[2], paths=("/brokers/ids", "/brokers/topics")),
        WriteZnodes(op_id=ids[3], ops=(set_data(A, b"2", 0),)),
    )

    assert [answer.op_id for answer in answers] == ids
    seen = answers[1]
    assert isinstance(seen, ZnodesRead)
    assert seen.znodes is not None
    assert [znode.data for znode in seen.znodes] == [b"1", b""]


def test_an_ephemeral_belongs_to_its_session_and_goes_with_it(zookeeper: ZooKeeperFacade) -> None:
    owner, other = zookeeper.open_session(), zookeeper.open_session()
    written(owner, create(A, b"mine", ephemeral=True))
    written(other, create(B, ephemeral=True))
    mine = other.read(A, watch=True)
    session_id = owner.session_id

    zookeeper.expire(owner)
    other.wait_for(WatchFired)

    assert mine.stat is not None
    assert mine.stat.ephemeral_owner == session_id
    assert other.read(A).stat is None
    kept = other.read(B).stat
    assert kept is not None
    assert kept.ephemeral_owner == other.session_id != session_id


@pytest.mark.parametrize(
    "change",
    [set_data(A, b"new", 0), delete(A, 0)],
    ids=lambda op: type(op).__name__,
)
def test_a_data_watch_fires_once(zookeeper: ZooKeeperFacade, change: WriteOp) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.read(A, watch=True)

    written(writer, change)
    written(writer, create(A) if isinstance(change, Delete) else set_data(A, b"newer", 1))
    mark(reader, writer)

    assert reader.fired() == [(A, "data"), (B, "data")]


def mark(reader: Session, writer: Session) -> None:
    """Whatever fires for what happened so far has fired: a later watch has."""
    fired = len(reader.fired())
    version = reader.read(B, watch=True).stat
    written(writer, create(B) if version is None else set_data(B, b""))
    reader.wait_for(WatchFired, fired + 1)
    reader.read(B)
    assert reader.fired()[-1] == (B, "data")


def test_a_watch_on_what_is_not_there_fires_when_it_is_created(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    assert reader.read(A, watch=True).stat is None

    written(writer, create(A))
    written(writer, set_data(A, b"x", 0))
    mark(reader, writer)

    assert reader.fired() == [(A, "data"), (B, "data")]


def test_a_watch_that_is_set_again_fires_again(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    for version in range(3):
        reader.read(A, watch=True)
        written(writer, set_data(A, b"x", version))
        reader.wait_for(WatchFired, version + 1)

    mark(reader, writer)

    assert reader.fired() == [(A, "data")] * 3 + [(B, "data")]


def test_a_watch_that_is_asked_for_twice_fires_once(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.read(A, watch=True)
    reader.read(A, watch=True)
    reader.children("/brokers/ids", watch=True)
    reader.children("/brokers/ids", watch=True)

    written(writer, delete(A, 0))
    mark(reader, writer)

    assert sorted(reader.fired()[:-1]) == [("/brokers/ids", "children"), (A, "data")]


def test_a_read_without_watch_sets_none(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.read(A)
    reader.children("/brokers/ids")

    written(writer, delete(A, 0))
    mark(reader, writer)

    assert reader.fired() == [(B, "data")]


@pytest.mark.parametrize("change", ["create", "delete"])
def test_a_children_watch_fires_once_when_a_child_comes_or_goes(
    zookeeper: ZooKeeperFacade, change: str
) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.children("/brokers/ids", watch=True)

    written(writer, delete(A, 0) if change == "delete" else create(MISSING))
    written(writer, create("/brokers/ids/5"))
    mark(reader, writer)

    assert reader.fired() == [("/brokers/ids", "children"), (B, "data")]


def test_a_children_watch_does_not_fire_for_data_or_grandchildren(
    zookeeper: ZooKeeperFacade,
) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.children("/brokers/ids", watch=True)

    written(writer, set_data("/brokers/ids", b"x"), set_data(A, b"x", 0), create(f"{A}/x"))
    mark(reader, writer)

    assert reader.fired() == [(B, "data")]


def test_a_children_watch_is_not_set_on_what_is_not_there(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    assert reader.children(A, watch=True) is None

    written(writer, create(A), create(f"{A}/x"))
    mark(reader, writer)

    assert reader.fired() == [(B, "data")]


def test_the_end_of_a_znode_fires_its_children_watch_too(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.read(A, watch=True)
    reader.children(A, watch=True)

    written(writer, delete(A, 0))
    mark(reader, writer)

    assert sorted(reader.fired()[:-1]) == [(A, "children"), (A, "data")]


def test_a_watch_is_told_before_the_new_data_can_be_read(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A, b"old"))
    for version in range(20):
        reader.read(A, watch=True)
        data = b"%d" % version
        written(writer, set_data(A, data, version))
        assert reader.read(A).data == data

    for event, previous in zip(reader.history[1:], reader.history, strict=False):
        if isinstance(event, WatchFired):
            assert isinstance(previous, ZnodesRead)
    assert reader.fired() == [(A, "data")] * 20
    last_read, fired = [type(event) for event in reader.history[-1:-3:-1]]
    assert (last_read, fired) == (ZnodesRead, WatchFired)


def test_ones_own_write_fires_before_it_is_answered(session: Session) -> None:
    session.read(A, watch=True)
    written(session, create(A))

    assert [type(event) for event in session.history[-2:]] == [WatchFired, ZnodesWritten]


def test_an_expired_session_is_followed_by_another_one(zookeeper: ZooKeeperFacade) -> None:
    session = zookeeper.open_session()
    first = session.session_id

    zookeeper.expire(session)
    session.wait_for(SessionLost)
    session.wait_for(SessionEstablished, 2)

    assert session.session_id != first
    kinds = [type(event) for event in session.history]
    lost = kinds.index(SessionLost)
    assert kinds[lost + 1] is SessionEstablished
    assert written(session, create(A, ephemeral=True)).versions == (0,)
    stat = session.read(A).stat
    assert stat is not None
    assert stat.ephemeral_owner == session.session_id


def test_a_watch_of_a_dead_session_never_fires(zookeeper: ZooKeeperFacade) -> None:
    reader, writer = zookeeper.open_session(), zookeeper.open_session()
    written(writer, create(A))
    reader.read(A, watch=True)
    reader.children("/brokers/ids", watch=True)

    zookeeper.expire(reader)
    reader.wait_for(SessionEstablished, 2)
    written(writer, delete(A, 0))
    mark(reader, writer)

    assert reader.fired() == [(B, "data")]


def test_what_is_asked_after_the_end_of_a_session_never_takes_effect(
    zookeeper: ZooKeeperFacade,
) -> None:
    session, other = zookeeper.open_session(), zookeeper.open_session()
    late = WriteZnodes(op_id=session.next_op_id(), ops=(create(A, ephemeral=True),))
    session.when(SessionLost, late)

    zookeeper.expire(session)
    session.wait_for(SessionEstablished, 2)
    session.wait_for(ZnodesWritten)
    session.read(B)
    mark(session, other)

    (answer,) = session.answers({late.op_id})
    assert isinstance(answer, ZnodesWritten)
    assert isinstance(answer.result, Unknown | Rejected)
    assert other.read(A).stat is None


def test_every_operation_is_answered_before_its_session_is_lost(zookeeper: ZooKeeperFacade) -> None:
    session = zookeeper.open_session()
    zookeeper.expire(session)
    operations = [
        WriteZnodes(op_id=session.next_op_id(), ops=(create(f"/brokers/ids/{n}"),))
        for n in range(5)
    ]
    answers = session.ask(*operations)
    session.wait_for(SessionLost)

    lost = next(i for i, event in enumerate(session.history) if isinstance(event, SessionLost))
    asked = {operation.op_id for operation in operations}
    answered_late = [
        event
        for event in session.history[lost:]
        if isinstance(event, ZnodesWritten) and event.op_id in asked
    ]
    assert len(answers) == 5
    assert answered_late == []


def test_sessions_have_distinct_ids(zookeeper: ZooKeeperFacade) -> None:
    ids = {zookeeper.open_session().session_id for _ in range(3)}

    assert len(ids) == 3
    assert SessionId(0) not in ids
