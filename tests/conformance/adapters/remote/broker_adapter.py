"""The reference behind JSON lines: its brokers are processes under the harness's ZooKeeper."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from fencepost.conformance.adapters.grpc_transport import GrpcTransport
from fencepost.conformance.adapters.znode_dialect import SPEC_DIALECT, ZnodeAccess
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
)
from fencepost.fault_injection.workload import operations as ops
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import ElectionKind, Outcome
from fencepost.spec.znodes import TopicPartition

Json = dict[str, Any]
CALLER = Caller(node="adapter", clock=LamportClock())
LEADER = ("leader_epoch", "partition_incarnation", "high_watermark")
FIELDS = {
    "produce": (*LEADER, "offset"),
    "fetch": (*LEADER, "log_end_offset", "values", "record_epochs"),
    "list_offsets": (*LEADER, "log_end_offset"),
}
OBSERVED = ("elections", "roles", "appends", "high_watermarks", "isr_changes")
AT_ONCE = 16
"""Calls that wait for brokers."""


class ReferenceAdapter:
    def __init__(self) -> None:
        self.transport = GrpcTransport()

    def hello(self, _: Json) -> Json:
        return {
            "protocol": 1,
            "name": "reference in lines",
            "capabilities": ["processes", "zookeeper"],
            "observes": dict.fromkeys(OBSERVED, "exact"),
        }

    def cluster_create(self, call: Json) -> Json:
        self.site = call
        client = ZooKeeperClient(call["zookeeper"], session_timeout_s=2.0)
        client.connect()
        self.state = ZooKeeperState(ZnodeAccess(client, SPEC_DIALECT))
        return {}

    def cluster_destroy(self, _: Json) -> Json:
        self.transport.close()
        self.state.close()
        return {}

    def bye(self, _: Json) -> Json:
        return {}

    def node_start(self, call: Json) -> Json:
        number, site = call["broker_id"], self.site
        flags = {
            "--broker-id": number,
            "--zookeeper": site["zookeeper"],
            "--data": f"{site['folder']}/broker-{number}",
            "--trace": site["folder"],
            "--run-id": site["run_id"],
            "--level": site["level"],
            "--session-timeout-ms": site["session_timeout_ms"],
            "--replica-lag-ms": site["replica_lag_ms"],
        }
        command = [sys.executable, "-m", "fencepost.impl", "node"]
        command += [str(word) for flag in flags.items() for word in flag]
        return {"pid": subprocess.Popen(command, stdout=sys.stderr).pid}

    def topic_create(self, call: Json) -> Json:
        return granted(*self.broker(call).create_topic(call["topic"], call["assignment"]))

    def topic_delete(self, call: Json) -> Json:
        return granted(*self.broker(call).delete_topic(call["topic"]))

    def partitions_add(self, call: Json) -> Json:
        return granted(*self.broker(call).create_partitions(call["topic"], call["count"]))

    def reassign(self, call: Json) -> Json:
        moves = {key_of(call): call["replicas"]}
        return granted(self.broker(call).alter_partition_reassignments(moves)[key_of(call)])

    def elect_leader(self, call: Json) -> Json:
        kind = ElectionKind(call["kind"])
        return granted(self.broker(call).elect_leaders(kind, [key_of(call)])[key_of(call)])

    def produce(self, call: Json) -> Json:
        names = ("acks", "timeout_ms")
        rest = {name: call[name] for name in names}
        values = tuple(call["values"])
        return self.perform(call, ops.Produce(partition=key_of(call), values=values, **rest))

    def fetch(self, call: Json) -> Json:
        rest = {name: call[name] for name in ("offset", "max_records", "max_wait_ms")}
        return self.perform(call, ops.Fetch(partition=key_of(call), **rest))

    def list_offsets(self, call: Json) -> Json:
        return self.perform(call, ops.ListOffsets(partition=key_of(call)))

    def metadata(self, call: Json) -> Json:
        view = self.broker(call).routing_view()
        routes = [
            {**key._asdict(), "leader": one.leader, "leader_epoch": one.leader_epoch}
            for key, one in view.partitions.items()
        ]
        return {
            "broker_ids": sorted(view.addresses),
            "controller_id": view.controller_id,
            "partitions": routes,
        }

    def broker(self, call: Json) -> BrokerConnection:
        found = self.state.registration(call["broker_id"])
        if found is None:
            raise ClusterUnreachableError(f"broker {call['broker_id']} is not registered")
        return self.transport.connect(found.address, CALLER, call["broker_id"])

    def perform(self, call: Json, operation: ops.Operation) -> Json:
        answer = self.broker(call).perform(operation)
        if not answer.is_ok:
            definite = answer.outcome is Outcome.DEFINITE_ERROR
            return refused(str(answer.error_code), definite=definite)
        return {name: getattr(answer, name) for name in FIELDS[call["verb"]]}


def key_of(call: Json) -> TopicPartition:
    return TopicPartition(call["topic"], call["partition"])


def refused(code: str, message: str = "", *, definite: bool = True) -> Json:
    return {"status": "error", "error_code": code, "message": message, "definite": definite}


def granted(code: str | None, message: str = "") -> Json:
    return refused(code, message) if code else {}


OUTPUT = Lock()


def respond(adapter: ReferenceAdapter, call: Json) -> None:
    verb = getattr(adapter, call["verb"], None)
    try:
        answer = verb(call) if verb else {"status": "unsupported"}
    except ClusterUnreachableError as unreachable:  # before anything was sent
        answer = refused("BROKER_NOT_AVAILABLE", str(unreachable))
    with OUTPUT:
        sys.stdout.write(json.dumps({"id": call["id"], "status": "ok", **answer}) + "\n")
        sys.stdout.flush()


def main() -> None:
    adapter = ReferenceAdapter()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for line in sys.stdin:
            call = json.loads(line)
            threads.submit(respond, adapter, call)
            if call["verb"] == "bye":
                return


if __name__ == "__main__":
    main()
