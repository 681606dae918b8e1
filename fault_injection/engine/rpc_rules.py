"""Faults on requests: rules that a broker started with `--fault-control` obeys as sender.

The client of `spec/wire/fault_control.proto`, and the only place of this room that knows gRPC.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import grpc

from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.injectors.injection import ControlAddress
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.wire import fault_control_pb2, fault_control_pb2_grpc

CALL_DEADLINE_S = 0.5
"""Short: the engine looks at all faults in turn, and a paused broker must not stop it."""
ANY_RECEIVER = -1

_STUB = cast(Callable[[grpc.Channel], Any], fault_control_pb2_grpc.FaultControlStub)
"""Generated code has no annotations."""


class RuleRefusedError(InjectionError):
    """The broker answered that it cannot add, or does not have, the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRuleStatus:
    """What a rule has done so far."""

    matched: int
    held: int
    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSession:
    """A broker's ZooKeeper session, as whoever wants to expire it needs it."""

    session_id: int
    password: bytes = field(repr=False)
    """With it any client could close the session: no message or record shows it."""


def add_rule(
    address: ControlAddress, rule_id: str, fault: RpcFault, receiver_id: int | None
) -> None:
    """The broker at `address` applies `fault` to what it sends; None: to every receiver."""
    rule = fault_control_pb2.RpcRule(
        rule_id=rule_id,
        method=fault.method,
        to=ANY_RECEIVER if receiver_id is None else receiver_id,
        topic=fault.topic,
        verb=fault.verb,
        count=fault.count,
        delay_ms=getattr(fault, "delay_ms", 0),
        window=getattr(fault, "window", 0),
        code=getattr(fault, "code", ""),
    )
    _rule_call(address, "AddRule", rule)


def rule_status(address: ControlAddress, rule_id: str) -> RequestRuleStatus:
    """What the rule has done so far."""
    return _rule_call(address, "GetRule", fault_control_pb2.RuleName(rule_id=rule_id))


def remove_rule(address: ControlAddress, rule_id: str) -> RequestRuleStatus:
    """The rule applies no more, and what it held is delivered."""
    return _rule_call(address, "RemoveRule", fault_control_pb2.RuleName(rule_id=rule_id))


def get_session(address: ControlAddress) -> BrokerSession:
    """The ZooKeeper session of the broker at `address`; its id is 0 while it has none."""
    return _session_call(address, "GetSession")


def forget_session(address: ControlAddress) -> BrokerSession:
    """The broker takes its session for lost, and ZooKeeper does not know; the session."""
    return _session_call(address, "ForgetSession")


def _session_call(address: ControlAddress, method: str) -> BrokerSession:
    session = call_broker(address, method, fault_control_pb2.SessionRequest())
    return BrokerSession(session_id=session.session_id, password=session.password)


def _rule_call(address: ControlAddress, method: str, request: object) -> RequestRuleStatus:
    status = call_broker(address, method, request, refusal=RuleRefusedError)
    return RequestRuleStatus(matched=status.matched, held=status.held, released=status.released)


def call_broker(
    address: ControlAddress,
    method: str,
    request: object,
    *,
    refusal: type[InjectionError] = InjectionError,
) -> Any:  # noqa: ANN401  generated code has no annotations
    """What the broker answers to a call of FaultControl.

    Raises `refusal` when it will not do it, and `InjectionError` when it does not answer.
    """
    try:
        with _channel(address) as channel:
            call = cast(Callable[..., Any], getattr(_STUB(channel), method))
            answer = call(request, timeout=CALL_DEADLINE_S)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise InjectionError(
                f"the broker at {address} does not support this fault; its implementation offers "
                "no such call of FaultControl, or it was started without --fault-control"
            ) from error
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            raise InjectionError(f"the broker at {address} refuses: {error.details()}") from error
        raise InjectionError(
            f"the broker at {address} does not answer fault commands "
            f"({error.code().name}); was it started with --fault-control?"
        ) from error
    if said := getattr(answer, "error", ""):  # a session has no such field
        raise refusal(f"the broker at {address} refused {method}: {said}")
    return answer


def _channel(to: ControlAddress) -> grpc.Channel:
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    own = to.identity
    if own is None:
        return grpc.insecure_channel(to.address, options=options)
    credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
    return grpc.secure_channel(to.address, credentials, options=options)
