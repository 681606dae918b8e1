"""Why an administrator's request is not done, told alike whatever was asked for."""

from typing import NamedTuple

from fencepost.spec.vocabulary import ErrorCode


class Refusal(NamedTuple):
    """What the administrator is told."""

    error_code: ErrorCode
    message: str


NO_CONNECTION = Refusal(ErrorCode.BROKER_NOT_AVAILABLE, "no connection to ZooKeeper")
NOT_CONTROLLER = Refusal(ErrorCode.NOT_CONTROLLER, "another broker is the controller")
REPLY_LOST = Refusal(ErrorCode.REQUEST_TIMED_OUT, "the reply of ZooKeeper was lost")
