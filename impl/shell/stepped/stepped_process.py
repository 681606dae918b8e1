"""A stepped broker process: started with `--paced`, it acts only by moves.

It differs from `node.py` in that events and requests are held by `MoveExecutor` and the clock
stands still between moves. A move may activate a mutant.
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
from fencepost.impl.shell.node import NodeProcess, SteppedEvent, StopRequested
from fencepost.impl.shell.options import NodeOptions
from fencepost.impl.shell.stepped.move_executor import MoveExecutor
from fencepost.impl.shell.stepped.pacer_service import PacerServer
from fencepost.impl.shell.storage.recovery import Recovery
from fencepost.impl.shell.storage.storage import with_checkpoints
from fencepost.impl.shell.zookeeper.sessions import SessionNotification
from fencepost.spec.znodes import TopicPartition


class SteppedNodeProcess(NodeProcess):
    """A `NodeProcess` with events, requests and a clock that are driven by moves."""

    def __init__(self, options: NodeOptions) -> None:
        """Take data folder and trace as `NodeProcess` does."""
        super().__init__(options)
        self._executor = MoveExecutor(self)
        self._moves: PacerServer | None = None
        self._config = options.config

    # What `MoveExecutor` uses

    @property
    def core(self) -> Node:
        """The node."""
        return self._core

    async def step(self, event: Event) -> None:
        """Step the core with the event and perform or hold its effects."""
        done = asyncio.get_running_loop().create_future()
        self._put(SteppedEvent(event, done))
        await done

    def ask(self, ask: Ask) -> None:
        """Send the operation to ZooKeeper; the answer arrives as an event."""
        self._sessions.perform(ask)

    async def send(self, send: Send, address: str) -> None:
        """Send the request to `address`; the response arrives as an event."""
        await self._client.reach(send.to, address)
        self._client.send(send)

    def awaken(self, mutant: MutantName) -> None:
        """Activate a mutant in the core and report it on stderr and in the trace."""
        self._tell_mutant(mutant)
        object.__setattr__(self._config, "rules", with_mutant(self._config.rules, mutant))

    # What differs from `NodeProcess`

    async def _serve(self) -> str | None:
        faults = self._fault_control(self._watched) if self._watched else None
        self._moves = PacerServer(self._options.paced, self._executor, faults, self._server.gate)
        host, port = self._listens
        await self._moves.start(f"{host}:{port}")
        if self._options.own_pace:
            # The recorded run may have requests for a broker before it has a session.
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

    def _ask_to_end(self) -> None:
        """At once: nothing is sent or answered without a move."""
        self._put(StopRequested())

    def _begin_ticks(self) -> None:
        """No timer: ticks come by moves."""

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
