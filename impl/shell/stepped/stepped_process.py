"""A broker process that is led: started with `--paced`, it does nothing but by moves.

Everything is as in `node.py`, but what comes and what leaves waits in the pacer, and the clock
stands still. It may be given a mutant by a move, and whoever has one says so.
"""

import asyncio
from collections.abc import Mapping

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.effects import (
    ActionTaken,
    ListChildren,
    ReadZnodes,
    Send,
    WriteZnodes,
)
from fencepost.impl.core.types.events import Event
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import with_mutant
from fencepost.impl.paced import paced
from fencepost.impl.shell.node import NodeProcess, SteppedEvent
from fencepost.impl.shell.options import NodeOptions
from fencepost.impl.shell.stepped.move_executor import MoveExecutor
from fencepost.impl.shell.stepped.pacer_service import PacerServer
from fencepost.impl.shell.storage.recovery import Recovery
from fencepost.impl.shell.storage.storage import with_checkpoints
from fencepost.impl.shell.zookeeper.sessions import SessionNotification
from fencepost.spec.znodes import TopicPartition


class SteppedNodeProcess(NodeProcess):
    """Hands everything to its pacer, and does what that says."""

    def __init__(self, options: NodeOptions) -> None:
        """As its base."""
        super().__init__(options)
        self._executor = MoveExecutor(self)
        self._moves: PacerServer | None = None
        self._config = options.config

    # What the pacer asks for

    @property
    def core(self) -> Node:
        """The node."""
        return self._core

    async def step(self, event: Event) -> None:
        """The core has taken the event, and its effects are done or held."""
        done = asyncio.get_running_loop().create_future()
        self._put(SteppedEvent(event, done))
        await done

    def ask(self, ask: Ask) -> None:
        """ZooKeeper is asked; the answer comes as an event."""
        self._sessions.perform(ask)

    async def send(self, send: Send, address: str) -> None:
        """The request leaves for `address`; the response comes as an event."""
        await self._client.reach(send.to, address)
        self._client.send(send)

    def awaken(self, mutant: MutantName) -> None:
        """The core has this wrong rule from now on, and stderr and the trace say so."""
        self._tell_mutant(mutant)
        object.__setattr__(self._config, "rules", with_mutant(self._config.rules, mutant))

    # What a process does otherwise

    async def _serve(self) -> str | None:
        others = self._fault_control(self._watched) if self._watched else None
        self._moves = PacerServer(self._options.paced, self._executor, others)
        host, port = self._listens
        await self._moves.start(f"{host}:{port}")
        if self._options.own_pace:
            # In a run that the moves are of, a broker may be asked before it has a session.
            await self._server.start()
            self._serves = True
        return await super()._serve()

    def _begin_node(
        self, config: Config, recoveries: Mapping[TopicPartition, RecoveredLog]
    ) -> Node:
        self._config = config
        node = super()._begin_node(config, recoveries)
        if not self._options.own_pace:
            self._executor.pace = paced(node, config)
        return node

    def _found(
        self, recoveries: Mapping[TopicPartition, Recovery]
    ) -> Mapping[TopicPartition, RecoveredLog]:
        found, checkpoint = super()._found(recoveries), self._options.recover_from
        return found if checkpoint is None else with_checkpoints(found, checkpoint)

    def _take(self, item: Event | SessionNotification | SteppedEvent) -> None:
        if isinstance(item, SteppedEvent):
            super()._take(item)
            item.done.set_result(None)
            return
        for event in self._events(item):
            self._executor.hold(event)

    def _begin_ticks(self) -> None:
        """A move ticks."""

    def _now_ms(self) -> int:
        return self._executor.now_ms

    def _note(self, taken: ActionTaken) -> None:
        super()._note(taken)
        self._executor.note(taken)

    def _send(self, send: Send) -> None:
        self._executor.hold_send(send)

    def _submit(self, effect: ReadZnodes | ListChildren | WriteZnodes) -> None:
        self._executor.hold_ask(effect)

    async def _close(self) -> None:
        if self._moves:
            await self._moves.stop()
        await super()._close()
