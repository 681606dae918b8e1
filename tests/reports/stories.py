"""Small runs written by hand: three brokers, one partition, one killed leader.

`failover_story` keeps every promise. `truncation_story` loses an acknowledged record, as the
draft's truncation to the high watermark does.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fencepost.spec.trace import Kind, Phase, TraceEvent, encode_all
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH

TOPIC = "orders"
BROKERS = (1, 2, 3)
MILLISECOND = 1_000_000


@dataclass
class Story:
    """Events in the making: sequence numbers, offsets of time and zxids look after themselves."""

    run_id: str
    topic: str = TOPIC
    level: int = 2
    backend: str = "real"
    mutant: str = ""
    now_ns: int = 5_000 * MILLISECOND
    zxid: int = 100
    op_id: int = 0
    events: list[TraceEvent] = field(default_factory=list)
    next_seq: dict[tuple[str, int], int] = field(default_factory=dict)
    incarnations: dict[str, int] = field(default_factory=dict)
    broker_epochs: dict[int, int] = field(default_factory=dict)
    """Broker -> the zxid of its last registration."""
    sent: Counter[int] = field(default_factory=Counter)
    """Records of the producer, by its epoch: it takes the next one after each failover."""

    def emit(self, node: str, kind: Kind, action: str, **fields: object) -> TraceEvent:
        incarnation = self.incarnations.get(node, 1)
        seq = self.next_seq.get((node, incarnation), 0)
        self.next_seq[node, incarnation] = seq + 1
        event = msgspec.convert(
            {
                "run_id": self.run_id,
                "node": node,
                "incarnation": incarnation,
                "seq": seq,
                "mono_ns": self.now_ns,
                "kind": kind,
                "action": action,
                **fields,
            },
            TraceEvent,
        )
        self.events.append(event)
        self.now_ns += MILLISECOND
        return event

    def wait_ms(self, duration_ms: int) -> None:
        self.now_ns += duration_ms * MILLISECOND

    def start(self, reproduce: str = "fencepost chaos --story leader_killed --seed 7") -> None:
        detail = {
            "trace_version": 1,
            "backend": self.backend,
            "level": self.level,
            "seed": 7,
            "brokers": 3,
            "scenario": "leader_killed",
            "mutant": self.mutant,
            "reproduce": reproduce,
        }
        told = json.dumps(detail)
        self.emit("harness", Kind.RUN, "RunStarted", detail=told, min_insync_replicas=2)
        for broker_id in BROKERS:
            self.start_broker(broker_id)

    def end(self) -> None:
        self.emit("harness", Kind.RUN, "RunEnded", detail="{}")

    def start_broker(self, broker_id: int) -> None:
        self.emit(f"broker-{broker_id}", Kind.RUN, "NodeStarted", broker_id=broker_id)
        self.zxid += 1
        self.zookeeper("CreateSession", broker_id)
        self.action(broker_id, "RegisterBroker", session_id=session(broker_id), zxid=self.zxid)
        self.broker_epochs[broker_id] = self.zxid

    def restart_broker(self, broker_id: int) -> None:
        node = f"broker-{broker_id}"
        self.incarnations[node] = self.incarnations.get(node, 1) + 1
        self.start_broker(broker_id)

    def action(self, broker_id: int, action: str, **fields: object) -> TraceEvent:
        return self.emit(f"broker-{broker_id}", Kind.ACTION, action, broker_id=broker_id, **fields)

    def at(self, broker_id: int, action: str, **fields: object) -> TraceEvent:
        """An action on the one partition of the story."""
        return self.action(broker_id, action, topic=self.topic, partition=0, **fields)

    def zookeeper(self, action: str, broker_id: int, **fields: object) -> None:
        here, self.now_ns = self.now_ns, 0
        self.emit(
            "zookeeper",
            Kind.ZOOKEEPER,
            action,
            session_id=session(broker_id),
            zxid=self.zxid,
            wall_ns=here,
            **fields,
        )
        self.now_ns = here

    def elect_controller(self, broker_id: int, controller_epoch: int) -> None:
        self.zxid += 1
        self.zookeeper("Create", broker_id, path=CONTROLLER, data="{}", znode_version=0)
        self.zookeeper(
            "SetData",
            broker_id,
            path=CONTROLLER_EPOCH,
            data=str(controller_epoch),
            znode_version=controller_epoch,
        )
        self.action(
            broker_id,
            "ElectController",
            controller_id=broker_id,
            controller_epoch=controller_epoch,
            session_id=session(broker_id),
        )

    def fault(self, phase: Phase, broker_id: int, fault: str, fault_id: str) -> None:
        self.emit(
            "harness",
            Kind.FAULT,
            "Fault",
            fault_id=fault_id,
            fault=fault,
            phase=phase,
            target=f"broker-{broker_id}",
            broker_id=broker_id,
        )

    def decide(self, state: dict[str, Any], version: int, controller: tuple[int, int]) -> None:
        """The controller decides, writes and tells: `state` has leader, leader_epoch and isr."""
        broker_id, controller_epoch = controller
        first = version == 0
        told = {**state, "controller_epoch": controller_epoch}
        self.at(
            broker_id,
            "InitLeader" if first else "ElectLeader",
            **told,
            assigned_replicas=list(BROKERS),
            expected_version=version - 1,
        )
        self.write(broker_id, told, version, creates=first)
        self.at(broker_id, "PublishDecision", **told, znode_version=version, zxid=self.zxid)
        for peer in BROKERS:
            if peer in state["isr"]:
                self.at(
                    broker_id,
                    "SendLeaderAndIsr",
                    **told,
                    znode_version=version,
                    peer=f"broker-{peer}",
                )

    def create_topic(self, broker_id: int) -> None:
        """The topic is on all brokers."""
        self.zxid += 1
        data = json.dumps({"version": 1, "partitions": {"0": list(BROKERS)}})
        path = f"/brokers/topics/{self.topic}"
        self.zookeeper("Create", broker_id, path=path, data=data, znode_version=0)
        self.action(broker_id, "CreateTopic", topic=self.topic)

    def write(self, broker_id: int, told: dict[str, Any], version: int, creates: bool) -> None:
        self.zxid += 1
        path = f"/brokers/topics/{self.topic}/0/leaderAndISR"
        data = json.dumps({"version": 1, **told})
        operation = {
            "topic": self.topic,
            "partition": 0,
            "path": path,
            "data": data,
            "expected_version": version - 1,
            "session_id": session(broker_id),
            "op_id": self.next_operation(),
        }
        node = f"broker-{broker_id}"
        asked = self.emit(node, Kind.INVOKE, "WriteLeaderAndIsr", **operation)
        self.zookeeper(
            "Create" if creates else "SetData",
            broker_id,
            path=path,
            data=data,
            znode_version=version,
        )
        self.emit(
            node,
            Kind.COMPLETE,
            "WriteLeaderAndIsr",
            **operation,
            inv_ns=asked.mono_ns,
            outcome=Outcome.OK,
            znode_version=version,
            zxid=self.zxid,
        )

    def become(
        self,
        broker_id: int,
        state: dict[str, Any],
        version: int,
        controller: tuple[int, int],
        log: tuple[int, int],
    ) -> None:
        """`log` is (high watermark, log end offset) after the step."""
        self.at(
            broker_id,
            "BecomeLeader" if state["leader"] == broker_id else "BecomeFollower",
            **state,
            znode_version=version,
            controller_id=controller[0],
            controller_epoch=controller[1],
            broker_epoch=self.broker_epochs[broker_id],
            high_watermark=log[0],
            log_end_offset=log[1],
        )

    def append(
        self, broker_id: int, action: str, value: tuple[int, str], epoch: int, high_watermark: int
    ) -> None:
        offset, name = value
        self.at(
            broker_id,
            action,
            leader_epoch=epoch,
            offset=offset,
            values=[name],
            record_epochs=[epoch],
            high_watermark=high_watermark,
            log_end_offset=offset + 1,
        )

    def advance(self, broker_id: int, epoch: int, isr: list[int], high_watermark: int) -> None:
        self.at(
            broker_id,
            "AdvanceHighWatermark",
            leader_epoch=epoch,
            isr=isr,
            maximal_isr=isr,
            high_watermark=high_watermark,
            log_end_offset=high_watermark,
        )

    def produce(self, value: tuple[int, str], leader: tuple[int, int], isr: list[int]) -> None:
        """A write with acks=all that leader (id, epoch) and ISR carry out and acknowledge."""
        offset, name = value
        broker_id, epoch = leader
        operation: dict[str, Any] = {"topic": self.topic, "partition": 0}
        operation |= {"acks": -1, "values": [name]}
        operation |= {"producer_id": 1, "producer_epoch": epoch, "base_sequence": self.sent[epoch]}
        self.sent[epoch] += 1
        op_id = self.next_operation()
        asked = self.emit("client-1", Kind.INVOKE, "Produce", op_id=op_id, **operation)
        self.append(broker_id, "LeaderAppend", value, epoch, offset)
        for follower in isr:
            if follower != broker_id:
                self.append(follower, "FollowerAppend", value, epoch, offset)
                self.at(
                    broker_id,
                    "ServeFetch",
                    leader_epoch=epoch,
                    peer=f"broker-{follower}",
                    offset=offset + 1,
                )
        self.advance(broker_id, epoch, isr, offset + 1)
        self.emit(
            "client-1",
            Kind.COMPLETE,
            "Produce",
            op_id=op_id,
            **operation,
            inv_ns=asked.mono_ns,
            outcome=Outcome.OK,
            offset=offset,
            leader_epoch=epoch,
            broker_id=broker_id,
            high_watermark=offset + 1,
        )

    def final_read(self, values: list[str], leader: tuple[int, int]) -> None:
        operation = {"topic": self.topic, "partition": 0, "offset": 0}
        op_id = self.next_operation()
        asked = self.emit("client-final", Kind.INVOKE, "Fetch", op_id=op_id, **operation)
        self.emit(
            "client-final",
            Kind.COMPLETE,
            "Fetch",
            op_id=op_id,
            **operation,
            inv_ns=asked.mono_ns,
            outcome=Outcome.OK,
            values=values,
            record_epochs=[leader[1]] * len(values),
            high_watermark=len(values),
            log_end_offset=len(values),
            leader_epoch=leader[1],
            broker_id=leader[0],
        )

    def next_operation(self) -> int:
        self.op_id += 1
        return self.op_id

    def save(self, folder: Path) -> None:
        """One file per node and incarnation, as a run leaves them."""
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, list[TraceEvent]] = {}
        for event in self.events:
            suffix = f"-{event.incarnation}" if event.incarnation > 1 else ""
            files.setdefault(f"trace-{event.node}{suffix}.ndjson", []).append(event)
        for name, events in files.items():
            (folder / name).write_bytes(b"".join(encode_all(events)))


def session(broker_id: int) -> int:
    return 0x1000 + broker_id


FIRST = {"leader": 1, "leader_epoch": 0, "isr": [1, 2, 3]}
SECOND = {"leader": 2, "leader_epoch": 1, "isr": [2, 3]}


def begin(story: Story) -> None:
    """Broker 3 is controller, broker 1 leads, two records are committed everywhere."""
    story.start()
    story.elect_controller(3, 1)
    story.action(3, "DetectBrokerChange", controller_epoch=1, live_brokers=list(BROKERS))
    story.create_topic(3)
    story.decide(FIRST, 0, (3, 1))
    for broker_id in BROKERS:
        story.become(broker_id, FIRST, 0, (3, 1), (0, 0))
    story.produce((0, "client-1/0/1"), (1, 0), [1, 2, 3])
    story.produce((1, "client-1/1/1"), (1, 0), [1, 2, 3])


def kill_leader(story: Story) -> None:
    """Broker 1 dies; 1.5 s later the controller elects broker 2."""
    story.wait_ms(100)
    story.fault(Phase.INJECTING, 1, "proc.kill", "kill-1")
    story.fault(Phase.ACTIVE, 1, "proc.kill", "kill-1")
    story.wait_ms(1500)
    story.action(3, "DetectBrokerChange", controller_epoch=1, live_brokers=[2, 3])
    story.decide(SECOND, 1, (3, 1))
    for broker_id in (2, 3):
        story.become(broker_id, SECOND, 1, (3, 1), (1, 2))
    story.advance(2, 1, [2, 3], 2)


def failover_story(run_id: str, topic: str = TOPIC) -> Story:
    """Nothing is lost: broker 2 leads on with both records and takes a third."""
    story = Story(run_id, topic=topic)
    begin(story)
    kill_leader(story)
    story.produce((2, "client-1/2/1"), (2, 1), [2, 3])
    story.fault(Phase.HEALING, 1, "proc.kill", "kill-1")
    story.restart_broker(1)
    story.fault(Phase.HEALED, 1, "proc.kill", "kill-1")
    story.produce((3, "client-1/3/1"), (2, 1), [2, 3])
    story.final_read([f"client-1/{n}/1" for n in range(4)], (2, 1))
    story.end()
    return story


def truncation_story(run_id: str, topic: str = TOPIC, mutant: str = "", rest: int = 0) -> Story:
    """Broker 2 cuts its log to a high watermark that lags, then leads: record 1 is gone.

    `rest` more records are written, and kept, after that.
    """
    backend = "sim" if mutant else "real"
    story = Story(run_id, topic=topic, level=0, mutant=mutant, backend=backend)
    begin(story)
    story.at(2, "TruncateLog", leader_epoch=0, offset=1, high_watermark=1, log_end_offset=1)
    kill_leader_after_truncation(story)
    values = [f"client-1/{number}/1" for number in range(2, 3 + rest)]
    for offset, value in enumerate(values, 1):
        story.produce((offset, value), (2, 1), [2, 3])
    story.final_read(["client-1/0/1", *values], (2, 1))
    story.end()
    return story


def kill_leader_after_truncation(story: Story) -> None:
    """As `kill_leader`, with one record left on broker 2 and the same cut on broker 3."""
    story.wait_ms(100)
    story.fault(Phase.INJECTING, 1, "proc.kill", "kill-1")
    story.fault(Phase.ACTIVE, 1, "proc.kill", "kill-1")
    story.wait_ms(1500)
    story.action(3, "DetectBrokerChange", controller_epoch=1, live_brokers=[2, 3])
    story.decide(SECOND, 1, (3, 1))
    story.become(2, SECOND, 1, (3, 1), (1, 1))
    story.become(3, SECOND, 1, (3, 1), (1, 2))
    story.at(3, "TruncateLog", leader_epoch=1, offset=1, high_watermark=1, log_end_offset=1)
