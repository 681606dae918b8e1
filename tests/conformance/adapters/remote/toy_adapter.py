"""The toy of `tests/conformance/toy.py` behind JSON lines, and the same with one bad habit.

`python -m tests.conformance.adapters.remote.toy_adapter [HABIT]`.
"""

import json
import subprocess
import sys
from typing import Any

from fencepost.fault_injection.workload import operations as ops
from fencepost.spec.znodes import TopicPartition
from tests.conformance.toy import ToyBroker, ToyCluster

Json = dict[str, Any]
HABIT = (*sys.argv[1:], "")[0]
CRASHES_AT = 40
"""The call of a run: clients are at work by then."""
FIELDS = {
    "produce": ("offset", "high_watermark", "leader_epoch"),
    "fetch": ("values", "high_watermark", "log_end_offset", "leader_epoch"),
    "list_offsets": ("high_watermark", "log_end_offset", "leader_epoch"),
}


class ToyAdapter:
    """One method for each verb."""

    def __init__(self) -> None:
        self.cluster = ToyCluster(replicates_first=HABIT != "acknowledges_early")

    def hello(self, _: Json) -> Json:
        return {"protocol": 1, "name": "toy", "version": "1.0"}

    def cluster_create(self, _: Json) -> Json:
        return {}

    def cluster_destroy(self, _: Json) -> Json:
        return {}

    def node_start(self, call: Json) -> Json:
        self.cluster.start(call["broker_id"])
        return {}

    def node_kill(self, call: Json) -> Json:
        self.broker(call).kill()
        return {}

    node_stop = node_kill

    def topic_create(self, call: Json) -> Json:
        self.broker(call).create_topic(call["topic"], call["assignment"])
        return {}

    def produce(self, call: Json) -> Json:
        values = tuple(call["values"])
        return self.perform(call, ops.Produce(partition=self.key(call), values=values))

    def fetch(self, call: Json) -> Json:
        offset, size = call["offset"], call["max_records"]
        asked = ops.Fetch(partition=self.key(call), offset=offset, max_records=size)
        return self.perform(call, asked)

    def list_offsets(self, call: Json) -> Json:
        return self.perform(call, ops.ListOffsets(partition=self.key(call)))

    def metadata(self, call: Json) -> Json:
        view = self.broker(call).routing_view()
        routes = [
            {**key._asdict(), "leader": one.leader, "leader_epoch": one.leader_epoch}
            for key, one in view.partitions.items()
        ]
        return {"broker_ids": self.cluster.live_brokers(), "partitions": routes}

    def observe(self, _: Json) -> Json:
        runs = {number: self.cluster.brokers[number].run for number in self.cluster.live_brokers()}
        states = [
            {
                **key._asdict(),
                "assigned_replicas": one.replicas,
                "leader": one.leader,
                "leader_epoch": one.epoch,
                "isr": self.cluster.in_sync(one),
            }
            for key, one in self.cluster.partitions.items()
        ]
        return {
            "brokers": [{"broker_id": number, "broker_epoch": runs[number]} for number in runs],
            "controller_id": self.cluster.controller(),
            "partitions": states,
        }

    def bye(self, _: Json) -> Json:
        return {}

    def broker(self, call: Json) -> ToyBroker:
        return self.cluster.brokers[call["broker_id"]]

    def key(self, call: Json) -> TopicPartition:
        return TopicPartition(call["topic"], call["partition"])

    def perform(self, call: Json, operation: ops.Operation) -> Json:
        answer = self.broker(call).perform(operation)
        if answer.error_code:
            return {"status": "error", "error_code": answer.error_code}
        return {name: getattr(answer, name) for name in FIELDS[call["verb"]]}


class ProcessAdapter(ToyAdapter):
    """Has a process for each broker, which only lives and dies."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: dict[int, subprocess.Popen[bytes]] = {}

    def hello(self, call: Json) -> Json:
        return {**super().hello(call), "capabilities": ["processes"]}

    def node_start(self, call: Json) -> Json:
        process = subprocess.Popen(["sleep", "600"])
        self.processes[call["broker_id"]] = process
        return {**super().node_start(call), "pid": process.pid}

    def broker(self, call: Json) -> ToyBroker:
        self.bury()
        return super().broker(call)

    def observe(self, call: Json) -> Json:
        self.bury()
        return super().observe(call)

    def bury(self) -> None:
        for broker_id, process in self.processes.items():
            if process.poll() is not None and self.cluster.brokers[broker_id].is_running:
                self.cluster.brokers[broker_id].kill()


def crash() -> None:
    """End with a child that stays."""
    subprocess.Popen(["sleep", "600"])
    sys.stderr.write("the disk of the adapter is on fire\n")
    sys.exit(7)


def main() -> None:
    adapter = ProcessAdapter() if HABIT == "has_processes" else ToyAdapter()
    for text in sys.stdin:
        call = json.loads(text)
        if HABIT == "crashes" and call["id"] == CRASHES_AT:
            crash()
        verb = getattr(adapter, call["verb"], None)
        answer = verb(call) if verb else {"status": "unsupported"}
        sys.stdout.write(json.dumps({"id": call["id"], "status": "ok", **answer}) + "\n")
        sys.stdout.flush()
        if call["verb"] == "bye":
            return


if __name__ == "__main__":
    main()
