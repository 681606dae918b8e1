"""The deletion of a topic, as it is begun: in one multi, or, if it is large, in steps.

`DeleteTopic` of `TopicLifecycle`; the multis are in `rules/controller/topic_tree.py`.
"""

from collections.abc import Generator

from fencepost.impl.core.admin.mutation_quota import Charges
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Mandate
from fencepost.impl.core.rules.controller.topic_tree import deletion, read_tree
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.refusals import NO_CONNECTION, NOT_CONTROLLER, REPLY_LOST
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.topic_messages import DeleteTopicRequest, DeleteTopicResponse
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Rejected, Written
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import parse_topic, topic_path

LOOKS_MAX = 8
"""Concurrent changes of the topic that a deletion survives, before it is given up."""


class TopicDeletion:
    """What is done when a topic is to be deleted."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox

    def on_delete_topic(
        self, token: int, request: DeleteTopicRequest, charges: Charges, mandate: Mandate
    ) -> None:
        """The topic is deleted, or the request refused with a reason."""
        self._outbox.run(self._delete_topic(token, request.topic, charges, mandate))

    @action
    def delete_topic(self, topic: str, zxid: int, mandate: Mandate) -> None:
        """The topic is gone; the controller has its replicas stopped."""
        self._outbox.took(taken(self.delete_topic, topic=topic, zxid=zxid, **mandate.told))

    def _delete_topic(self, token: int, topic: str, charges: Charges, mandate: Mandate) -> Script:
        refusal = charges.refuse_all()
        error, message = refusal or (yield from self.delete(topic, mandate, charges=charges))
        response = DeleteTopicResponse(
            error_code=error, message=message, throttle_time_ms=charges.end()
        )
        self._outbox.reply(token, response)

    def delete(
        self,
        topic: str,
        mandate: Mandate,
        first: int | None = None,
        charges: Charges | None = None,
    ) -> Generator[Ask, Answer, tuple[ErrorCode, str]]:
        """What becomes of the topic, and why.

        The answer is about the incarnation that the first look found, no other; `first` is its
        czxid if that look was before. What is charged was not charged before.
        """
        path = topic_path(topic)
        for _ in range(LOOKS_MAX):
            znodes = yield from read(path)
            if znodes is None:
                return NO_CONNECTION
            stat = znodes[0].stat
            if stat is None or first not in (None, stat.czxid):
                return self._config.rules.missing_topic(topic)
            first = stat.czxid
            partitions = len(parsed(parse_topic, znodes[0]) or ())
            refusal = None if charges is None else charges.admit(topic, partitions)
            if refusal is not None:
                return refusal
            charges = None
            tree = yield from read_tree(topic)
            if tree is None:
                return NO_CONNECTION
            may_write, ops = self._config.rules.may_write, deletion(topic, znodes[0], tree)
            result = yield from mandate.write(may_write, *ops)
            if result is None:
                return NOT_CONTROLLER
            if isinstance(result, Written):
                self.delete_topic(topic, result.zxid, mandate)
                return ErrorCode.NONE, ""
            if not isinstance(result, Rejected):
                return REPLY_LOST
        reason = f"topic {topic} changed {LOOKS_MAX} times meanwhile"
        return ErrorCode.BROKER_NOT_AVAILABLE, reason
