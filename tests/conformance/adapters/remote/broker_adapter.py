"""An adapter for brokers that are known by their command line, their ZooKeeper and their wire."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

import grpc
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.replication_pb2_grpc import ReplicationStub

Json = dict[str, Any]
Message = Any
UNSUPPORTED = {"status": "unsupported"}
BROKER = [sys.executable, "-m", "fencepost.impl", "node"]
EVENTS = ["elections", "roles", "appends", "high_watermarks", "isr_changes"]
AT_ONCE = 16


class RefusedError(Exception):
    """A broker said no, or said nothing."""


class Adapter:
    """One method for each verb; it gets the call and returns the fields of the answer."""

    def hello(self, _: Json) -> Json:
        return {
            "protocol": 1,
            "name": "my-brokers",
            "version": "0.1",
            "capabilities": ["processes", "zookeeper", "links", "trace"],
            "observes": dict.fromkeys(EVENTS, "exact"),
        }

    def cluster_create(self, call: Json) -> Json:
        self.cluster = call
        self.traces: dict[Path, TextIO] = {}
        self.events: list[Json] = []
        self.zookeeper = KazooClient(call["zookeeper"])
        self.zookeeper.start()
        return {}

    def cluster_destroy(self, _: Json) -> Json:
        self.zookeeper.stop()
        return {}

    def bye(self, _: Json) -> Json:
        return {}

    def node_start(self, call: Json) -> Json:
        number, cluster = call["broker_id"], self.cluster
        flags = {
            "--broker-id": number,
            "--zookeeper": call["zookeeper"],
            "--data": f"{cluster['folder']}/broker-{number}",
            "--trace": f"{cluster['folder']}/told",
            "--run-id": cluster["run_id"],
            "--level": cluster["level"],
            "--session-timeout-ms": cluster["session_timeout_ms"],
            "--replica-lag-ms": cluster["replica_lag_ms"],
        }
        if call["advertised"]:
            flags["--advertised"] = call["advertised"]
        words = [str(word) for flag in flags.items() for word in flag]
        return {"pid": subprocess.Popen(BROKER + words, stdout=sys.stderr).pid}

    def ask(self, call: Json, request: Message) -> Message:
        """What the broker answers to one request; an error of any part of it is raised."""
        method = type(request).__name__.removesuffix("Request")
        try:
            registered, _ = self.zookeeper.get(f"/brokers/ids/{call['broker_id']}")
        except KazooException as error:
            raise RefusedError("BROKER_NOT_AVAILABLE", repr(error)) from error
        broker = json.loads(registered)
        stub = stub_at(f"{broker['host']}:{broker['port']}")
        try:
            answer = getattr(stub, method)(request, timeout=call["deadline_ms"] / 1000)
        except grpc.RpcError as error:
            raise RefusedError(error.code().name, error.details()) from error
        for part in (answer, *getattr(answer, "partitions", ())):
            if getattr(part, "error_code", "NONE") not in ("", "NONE"):
                raise RefusedError(part.error_code, getattr(part, "message", ""))
        return answer

    def topic_create(self, call: Json) -> Json:
        assignment = [wire.ReplicaList(replicas=one) for one in call["assignment"]]
        self.ask(call, wire.CreateTopicRequest(topic=call["topic"], assignment=assignment))
        return {}

    def metadata(self, call: Json) -> Json:
        view = self.ask(call, wire.MetadataRequest())
        names = ("topic", "partition", "leader", "leader_epoch")
        return {
            "broker_ids": [broker.broker_id for broker in view.brokers],
            "controller_id": view.controller_id,
            "partitions": [{name: getattr(one, name) for name in names} for one in view.partitions],
        }

    def produce(self, call: Json) -> Json:
        rest = {name: call[name] for name in ("values", "acks", "timeout_ms")}
        answer = self.ask(call, wire.ProduceRequest(**place(call), **rest))
        return {**told(answer), "offset": answer.base_offset}

    def fetch(self, call: Json) -> Json:
        rest = {name: call[name] for name in ("max_records", "max_wait_ms")}
        rest |= {"replica_id": -1, "leader_epoch": -1, "fetch_offset": call["offset"]}
        answer = self.ask(call, wire.FetchRequest(**place(call), **rest))
        return {
            **told(answer),
            "log_end_offset": answer.log_end_offset,
            "values": [record.value for record in answer.records],
            "record_epochs": [record.leader_epoch for record in answer.records],
        }

    def list_offsets(self, call: Json) -> Json:
        answer = self.ask(call, wire.ListOffsetsRequest(**place(call)))
        return {**told(answer), "log_end_offset": answer.log_end_offset}

    def topic_delete(self, call: Json) -> Json:
        self.ask(call, wire.DeleteTopicRequest(topic=call["topic"]))
        return {}

    def partitions_add(self, call: Json) -> Json:
        request = wire.CreatePartitionsRequest(topic=call["topic"], partition_count=call["count"])
        self.ask(call, request)
        return {}

    def reassign(self, call: Json) -> Json:
        move = wire.Reassignment(**place(call), replicas=call["replicas"])
        self.ask(call, wire.AlterPartitionReassignmentsRequest(reassignments=[move]))
        return {}

    def elect_leader(self, call: Json) -> Json:
        partitions = [wire.PartitionId(**place(call))]
        self.ask(call, wire.ElectLeadersRequest(kind=call["kind"], partitions=partitions))
        return {}

    def trace_read(self, call: Json) -> Json:
        for path in sorted(Path(self.cluster["folder"], "told").glob("*.ndjson")):
            file = self.traces.get(path) or self.traces.setdefault(path, path.open())
            self.events += map(json.loads, file)
        cursor = call["cursor"]
        events = self.events[cursor : cursor + call["max_events"]]
        return {"events": events, "cursor": cursor + len(events)}


def place(call: Json) -> Json:
    return {"topic": call["topic"], "partition": call["partition"]}


def told(answer: Message) -> Json:
    """What every answer of a leader tells; -1 stands for what it does not know."""
    names = ("leader_epoch", "high_watermark", "partition_incarnation")
    found = {name: getattr(answer, name) for name in names}
    return {name: number for name, number in found.items() if number >= 0}


@cache
def stub_at(address: str) -> ReplicationStub:
    """A request leaves once: gRPC would send it again by itself."""
    channel = grpc.insecure_channel(address, [("grpc.enable_retries", 0)])
    return ReplicationStub(channel)  # type: ignore[no-untyped-call]


def respond(adapter: Adapter, call: Json, output: Lock) -> None:
    verb = getattr(adapter, call["verb"], None)
    try:
        answer = verb(call) if verb else UNSUPPORTED
    except RefusedError as refused:
        code, message = refused.args
        answer = {"status": "error", "error_code": code, "message": message}
    with output:
        sys.stdout.write(json.dumps({"id": call["id"], "status": "ok", **answer}) + "\n")
        sys.stdout.flush()


def main() -> None:
    adapter, output = Adapter(), Lock()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for line in sys.stdin:
            call = json.loads(line)
            threads.submit(respond, adapter, call, output)
            if call["verb"] == "bye":
                break


if __name__ == "__main__":
    main()
