"""Producer ids: a broker takes blocks of them in ZooKeeper and gives each away once (KIP-98).

A block that was taken under a lost reply is never used: ids need be unique, not dense.
"""

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.tables import Writer
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.messages import InitProducerIdResponse
from fencepost.impl.core.types.scripts import Outbox, Script, read
from fencepost.impl.core.types.zookeeper import Create, SetData, WriteOp, Written, Znode
from fencepost.spec.vocabulary import ErrorCode, ProducerId
from fencepost.spec.znodes import (
    PRODUCER_IDS,
    MalformedZnodeError,
    ProducerIdBlockDocument,
    document_bytes,
    parse_producer_id_block,
)

BLOCK_SIZE = 1000
TRIES_MAX = 20
"""Against brokers that take a block at the same time, and lost replies."""


class ProducerIds:
    """The ids that this broker may still give away."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox
        self._block = range(0)

    def on_init_producer_id(self, token: int) -> None:
        """An id that no producer has is answered, or that ZooKeeper could not be asked."""
        self._outbox.run(self._give(token))

    def _give(self, token: int) -> Script:
        for _ in range(TRIES_MAX):
            if self._block:
                producer_id, self._block = ProducerId(self._block[0]), self._block[1:]
                response = InitProducerIdResponse(producer_id=producer_id)
                self._outbox.reply(token, response)
                return
            znodes = yield from read(PRODUCER_IDS)
            if znodes is None:
                break
            taken = self._next_block(znodes[0])
            if taken is None:
                break
            may_write = self._config.rules.may_write[Writer.BROKER]
            result = yield from write(may_write, self._claim(znodes[0], taken))
            if isinstance(result, Written):
                self._block = taken
        response = InitProducerIdResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE)
        self._outbox.reply(token, response)

    def _claim(self, found: Znode, block: range) -> WriteOp:
        data = document_bytes(
            ProducerIdBlockDocument(
                broker=self._config.broker_id, block_start=block[0], block_end=block[-1]
            )
        )
        if found.stat is None:
            return Create(path=PRODUCER_IDS, data=data)
        return SetData(path=PRODUCER_IDS, data=data, expected_version=found.stat.version)

    def _next_block(self, found: Znode) -> range | None:
        """The ids after those of the last block; None when its document cannot be read."""
        start = 1
        if found.stat is not None:
            try:
                start = parse_producer_id_block(found.data).block_end + 1
            except MalformedZnodeError as error:
                self._outbox.report(error)
                return None
        return range(start, start + BLOCK_SIZE)
