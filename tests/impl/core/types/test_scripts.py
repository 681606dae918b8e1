"""Scripts: they go on with the answer to their own question, and with no other."""

import pytest

from fencepost.impl.core.rules.tables import WriteKind, ZnodeKind
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import ChildrenListed, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.scripts import (
    Answer,
    Ask,
    Outbox,
    Script,
    is_unknown,
    list_children,
    read,
    unknown,
)
from fencepost.impl.core.types.zookeeper import Children, Create, Rejected, Unknown, ZkError, Znode

ANYTHING = dict.fromkeys(ZnodeKind, frozenset(WriteKind))


def reading(path: str, log: list[object]) -> Script:
    log.append((yield from read(path)))
    log.append((yield from read(path, watch=True)))


def test_a_script_runs_to_its_first_question_at_once() -> None:
    outbox, log = Outbox(), list[object]()

    outbox.run(reading("/a", log))

    (asked,) = outbox.drain()
    assert isinstance(asked, ReadZnodes)
    assert (asked.paths, asked.watch) == (("/a",), False)
    assert log == []
    assert outbox.drain() == []


def test_scripts_are_resumed_by_their_own_answers_in_any_order() -> None:
    outbox, first, second = Outbox(), list[object](), list[object]()
    outbox.run(reading("/a", first))
    outbox.run(reading("/b", second))
    a, b = (effect for effect in outbox.drain() if isinstance(effect, ReadZnodes))
    assert a.op_id != b.op_id

    outbox.answer(ZnodesRead(op_id=b.op_id, znodes=(Znode(path="/b"),)))

    assert (first, second) == ([], [(Znode(path="/b"),)])
    (again,) = outbox.drain()
    assert isinstance(again, ReadZnodes)
    assert again.watch
    assert again.op_id not in (a.op_id, b.op_id)

    outbox.answer(ZnodesRead(op_id=a.op_id, znodes=None))
    outbox.answer(ZnodesRead(op_id=again.op_id, znodes=None))

    assert (first, second) == ([None], [(Znode(path="/b"),), None])


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (ReadZnodes(op_id=1, paths=("/a",)), ZnodesRead(op_id=1, znodes=())),
        (ListChildren(op_id=1, paths=("/a",)), ChildrenListed(op_id=1, children=())),
        (WriteZnodes(op_id=1, ops=()), ZnodesWritten(op_id=1, result=Rejected(errors=()))),
    ],
)
def test_only_the_answer_of_a_lost_connection_is_unknown(ask: Ask, answer: Answer) -> None:
    assert is_unknown(unknown(ask))
    assert not is_unknown(answer)


def test_every_question_has_its_answer() -> None:
    log: list[object] = []

    def script() -> Script:
        log.append((yield from list_children("/a", "/b", watch=True)))
        log.append((yield from write(ANYTHING, Create(path="/controller", data=b""))))
        log.append((yield from write(ANYTHING, Create(path="/controller", data=b""))))

    outbox = Outbox()
    outbox.run(script())
    (listing,) = outbox.drain()
    assert isinstance(listing, ListChildren)
    children = (Children(path="/a", names=("x",)), Children(path="/b", names=None))
    outbox.answer(ChildrenListed(op_id=listing.op_id, children=children))
    (writing,) = outbox.drain()
    assert isinstance(writing, WriteZnodes)
    refused = Rejected(errors=(ZkError.NODE_EXISTS,))
    outbox.answer(ZnodesWritten(op_id=writing.op_id, result=refused))
    (last,) = outbox.drain()
    assert isinstance(last, WriteZnodes)
    outbox.answer(ZnodesWritten(op_id=last.op_id, result=Unknown()))

    assert log == [children, refused, Unknown()]
    assert outbox.drain() == []


def test_reading_nothing_asks_nothing() -> None:
    log: list[object] = []

    def script() -> Script:
        log.append((yield from read()))

    outbox = Outbox()
    outbox.run(script())

    assert log == [()]
    assert outbox.drain() == []


def test_requests_and_questions_share_one_numbering() -> None:
    outbox = Outbox()
    request_id = outbox.new_id()
    outbox.run(reading("/a", []))
    (asked,) = outbox.drain()

    assert isinstance(asked, ReadZnodes)
    assert len({request_id, asked.op_id, outbox.new_id()}) == 3


def test_a_rejection_names_the_error_that_decided() -> None:
    errors = (ZkError.ROLLED_BACK, ZkError.BAD_VERSION, ZkError.ROLLED_BACK)

    assert Rejected(errors=errors).error is ZkError.BAD_VERSION
    assert Rejected(errors=(ZkError.ROLLED_BACK,)).error is ZkError.ROLLED_BACK
