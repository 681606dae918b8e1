"""A stranger's replicated log with its adapter: the standard library, and nothing of Fencepost.

It has its own idea of a broker. There is no ZooKeeper and no fetching: a council decides leaders,
and a leader pushes each batch to the other members of the ISR before it answers. A broker that
comes back drops what is above its high watermark and gets the rest from the leader at once.

`python stranger.py [HABIT]`: `acknowledges_early` pushes a batch only before the next one;
`obeys_all` refuses no command; `has_processes` gives each broker a process, which only lives,
stands still and dies; `crashes` ends in a run; `stores_nothing` answers each produce as if it had
the records; `lies_about_isr` tells all replicas as members, dead ones too.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

Json = dict[str, Any]
Key = tuple[str, int]
HABIT = (*sys.argv[1:], "")[0]
CRASHES_AT = 40
"""The call of a run: clients are at work by then."""
KINDS = ("elections", "roles", "appends", "high_watermarks", "isr_changes")
CLIENTS_ASK = ("produce", "fetch", "list_offsets")


class Copy:
    """The copy of a partition on one broker; it outlives the broker's runs."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.epochs: list[int] = []
        self.high_watermark = 0

    @property
    def ends(self) -> Json:
        return {"log_end_offset": len(self.values), "high_watermark": self.high_watermark}


class Member:
    """One broker, alive or not, with its disk."""

    def __init__(self, number: int) -> None:
        self.number, self.is_live, self.run, self.seq, self.epoch = number, False, 0, 0, 0
        self.replicas: dict[Key, Copy] = {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def stands_still(self) -> bool:
        """True while its process is stopped."""
        if self.process is None:
            return False
        told = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return told.rpartition(")")[2].split()[0] == "T"


class Partition:
    """What the council knows of a partition."""

    def __init__(self, replicas: list[int]) -> None:
        self.replicas, self.isr = replicas, list(replicas)
        self.leader, self.epoch, self.version = -1, -1, -1


class Council:
    """All brokers, and what they agreed on; it writes down what each of them does."""

    def __init__(self, run_id: str, broker_ids: list[int]) -> None:
        self.run_id, self.controller_epoch = run_id, 0
        self.controller: int | None = None
        self.events: list[Json] = []
        self.brokers = {number: Member(number) for number in broker_ids}
        self.partitions: dict[Key, Partition] = {}

    def tell(self, broker: Member, action: str, key: Key | None = None, **fields: object) -> None:
        place = {"topic": key[0], "partition": key[1]} if key else {}
        event: Json = {"run_id": self.run_id, "node": f"broker-{broker.number}", "kind": "action"}
        event |= {"incarnation": broker.run, "seq": broker.seq, "mono_ns": time.monotonic_ns()}
        event |= {"action": action, "broker_id": broker.number, "lamport": len(self.events) + 1}
        self.events.append({**event, **place, **fields})
        broker.seq += 1

    def live(self) -> list[int]:
        return [number for number, broker in sorted(self.brokers.items()) if broker.is_live]

    def start(self, number: int) -> None:
        broker = self.brokers[number]
        broker.is_live, broker.run, broker.seq = True, broker.run + 1, 0
        broker.epoch = len(self.events) + 1
        self.tell(broker, "RegisterBroker", zxid=broker.epoch)
        for key, replica in broker.replicas.items():
            self.tell(broker, "LogRecovered", key, kind="run", **replica.ends)
        if self.controller is None:
            self.elect_controller()
        for key, one in self.partitions.items():
            if number in one.replicas:
                self.join(key, one, broker)

    def end(self, number: int) -> None:
        self.brokers[number].is_live = False
        if self.controller == number:
            self.elect_controller()
        for key, one in self.partitions.items():
            if one.leader == number:
                self.elect(key, one)
            elif number in one.isr and one.leader >= 0:
                self.change_isr(key, one, [member for member in one.isr if member != number])

    def elect_controller(self) -> None:
        self.controller = next(iter(self.live()), None)
        if self.controller is not None:
            self.controller_epoch += 1
            told: Json = {
                "controller_id": self.controller,
                "controller_epoch": self.controller_epoch,
            }
            self.tell(self.brokers[self.controller], "ElectController", **told)

    def elect(self, key: Key, one: Partition) -> None:
        """The first live member of the ISR leads; without one the ISR stays as it is."""
        live = [member for member in one.isr if self.brokers[member].is_live]
        one.leader = live[0] if live else -1
        if not live:
            return
        one.isr, one.epoch, one.version = live, one.epoch + 1, one.version + 1
        told: Json = {"expected_version": one.version - 1, "assigned_replicas": one.replicas}
        controller = self.brokers[self.controller or live[0]]
        self.tell(controller, "ElectLeader", key, **self.state(one), **told)
        for member in live:
            self.obey(key, one, member)
        self.push(key, one)

    def obey(self, key: Key, one: Partition, member: int) -> None:
        broker = self.brokers[member]
        replica = broker.replicas.setdefault(key, Copy())
        role = "BecomeLeader" if member == one.leader else "BecomeFollower"
        told: Json = {**self.state(one), "znode_version": one.version}
        self.tell(broker, role, key, controller_id=self.controller, **told, **replica.ends)
        if member != one.leader:
            at = replica.high_watermark
            replica.values, replica.epochs = replica.values[:at], replica.epochs[:at]
            told = {"leader_epoch": one.epoch, "offset": at}
            self.tell(broker, "TruncateLog", key, **told, **replica.ends)

    def state(self, one: Partition) -> Json:
        told: Json = {"leader": one.leader, "leader_epoch": one.epoch, "isr": sorted(one.isr)}
        return {**told, "controller_epoch": self.controller_epoch}

    def join(self, key: Key, one: Partition, broker: Member) -> None:
        """A broker that is back gets what it lacks, and is a member of the ISR then."""
        if one.leader < 0:
            if broker.number in one.isr:
                self.elect(key, one)
            return
        self.obey(key, one, broker.number)
        self.send(key, one, broker.number, len(self.log(key, one).values))
        self.change_isr(key, one, [*one.isr, broker.number])

    def change_isr(self, key: Key, one: Partition, wanted: list[int]) -> None:
        leader = self.brokers[one.leader]
        told: Json = {"leader_epoch": one.epoch, "isr": sorted(wanted)}
        both = sorted({*one.isr, *wanted})
        name = "ExpandIsr" if len(wanted) > len(one.isr) else "ShrinkIsr"
        asks = {"maximal_isr": both, "expected_version": one.version}
        self.tell(leader, name, key, **told, **asks)
        one.isr, one.version = wanted, one.version + 1
        self.tell(leader, "AdoptIsr", key, **told, znode_version=one.version)

    def log(self, key: Key, one: Partition) -> Copy:
        return self.brokers[one.leader].replicas[key]

    def append(self, key: Key, one: Partition, values: list[str]) -> int:
        log = self.log(key, one)
        offset, pushed_early = len(log.values), HABIT == "acknowledges_early"
        if HABIT == "stores_nothing":
            return offset
        if pushed_early:
            self.push(key, one)
        self.write(self.brokers[one.leader], "LeaderAppend", key, one, values, one.epoch)
        if not pushed_early:
            self.push(key, one)
        self.advance(key, one)
        return offset

    def write(
        self, broker: Member, action: str, key: Key, one: Partition, values: list[str], *epochs: int
    ) -> None:
        replica = broker.replicas[key]
        offset, of_each = len(replica.values), list(epochs) * (len(values) // len(epochs))
        replica.values, replica.epochs = replica.values + values, replica.epochs + of_each
        told: Json = {"leader_epoch": one.epoch, "offset": offset, "values": values}
        self.tell(broker, action, key, **told, record_epochs=of_each, **replica.ends)

    def push(self, key: Key, one: Partition) -> None:
        """All members of the ISR have the leader's log, and what was committed is known there."""
        end = len(self.log(key, one).values)
        for member in one.isr:
            if member != one.leader:
                self.send(key, one, member, end)
        self.advance(key, one)

    def send(self, key: Key, one: Partition, member: int, end: int) -> None:
        log, replica = self.log(key, one), self.brokers[member].replicas[key]
        start, replica.high_watermark = len(replica.values), min(end, log.high_watermark)
        if values := log.values[start:end]:
            epochs = log.epochs[start:end]
            self.write(self.brokers[member], "FollowerAppend", key, one, values, *epochs)

    def advance(self, key: Key, one: Partition) -> None:
        log = self.log(key, one)
        if log.high_watermark < len(log.values):
            log.high_watermark = len(log.values)
            told: Json = {"leader_epoch": one.epoch, "isr": sorted(one.isr)}
            self.tell(self.brokers[one.leader], "AdvanceHighWatermark", key, **told, **log.ends)


def refused(code: str) -> Json:
    return {"status": "error", "error_code": code}


class Stranger:
    """One method for each verb."""

    def answer(self, call: Json) -> Json:
        verb = getattr(self, call["verb"], None)
        if verb is None:
            return {"status": "unsupported"}
        if call["verb"] in CLIENTS_ASK:
            one = self.council.partitions.get((call["topic"], call["partition"]))
            if one is None:
                return refused("UNKNOWN_TOPIC_OR_PARTITION")
            if one.leader != call["broker_id"]:
                return refused("NOT_LEADER_OR_FOLLOWER")
            if self.council.brokers[one.leader].stands_still:
                return {**refused("REQUEST_TIMED_OUT"), "definite": False}
        found: Json = verb(call)
        return found

    def hello(self, _: Json) -> Json:
        names = [
            "trace",
            "control",
            "controlled_shutdown",
            *(["processes"] if HABIT == "has_processes" else []),
        ]
        observes = dict.fromkeys(KINDS, "exact")
        return {"protocol": 1, "name": "stranger", "capabilities": names, "observes": observes}

    def cluster_create(self, call: Json) -> Json:
        self.council = Council(call["run_id"], call["broker_ids"])
        return {}

    def cluster_destroy(self, _: Json) -> Json:
        return {}

    bye = cluster_destroy

    def node_start(self, call: Json) -> Json:
        self.council.start(call["broker_id"])
        if HABIT != "has_processes":
            return {}
        broker = self.council.brokers[call["broker_id"]]
        broker.process = subprocess.Popen(["sleep", "600"])
        return {"pid": broker.process.pid}

    def node_kill(self, call: Json) -> Json:
        self.council.end(call["broker_id"])
        return {}

    node_stop = node_kill

    def bury(self) -> None:
        """Brokers end when their process has ended."""
        for number in self.council.live():
            process = self.council.brokers[number].process
            if process and process.poll() is not None:
                self.council.end(number)

    def topic_create(self, call: Json) -> Json:
        for number, replicas in enumerate(call["assignment"]):
            one = self.council.partitions[call["topic"], number] = Partition(replicas)
            self.council.elect((call["topic"], number), one)
        return {}

    def produce(self, call: Json) -> Json:
        key = call["topic"], call["partition"]
        one = self.council.partitions[key]
        offset = self.council.append(key, one, call["values"])
        high_watermark = self.council.log(key, one).high_watermark
        return {"offset": offset, "leader_epoch": one.epoch, "high_watermark": high_watermark}

    def fetch(self, call: Json) -> Json:
        key = call["topic"], call["partition"]
        one = self.council.partitions[key]
        log, offset = self.council.log(key, one), call["offset"]
        if offset > len(log.values):
            return refused("OFFSET_OUT_OF_RANGE")
        part = slice(offset, min(log.high_watermark, offset + call["max_records"]))
        told: Json = {"leader_epoch": one.epoch, **log.ends, "values": log.values[part]}
        return {**told, "record_epochs": log.epochs[part]}

    def list_offsets(self, call: Json) -> Json:
        key = call["topic"], call["partition"]
        one = self.council.partitions[key]
        return {"leader_epoch": one.epoch, **self.council.log(key, one).ends}

    def metadata(self, _: Json) -> Json:
        routes = [
            {"topic": topic, "partition": number, "leader": one.leader, "leader_epoch": one.epoch}
            for (topic, number), one in self.council.partitions.items()
            if one.leader >= 0
        ]
        told: Json = {"broker_ids": self.council.live(), "partitions": routes}
        return {**told, "controller_id": self.council.controller}

    def observe(self, _: Json) -> Json:
        states = [
            {
                "topic": topic,
                "partition": number,
                "assigned_replicas": one.replicas,
                "leader": one.leader,
                "leader_epoch": one.epoch,
                "isr": one.replicas if HABIT == "lies_about_isr" else one.isr,
                "znode_version": one.version,
            }
            for (topic, number), one in self.council.partitions.items()
        ]
        epochs = {number: self.council.brokers[number].epoch for number in self.council.live()}
        brokers = [{"broker_id": number, "broker_epoch": epochs[number]} for number in epochs]
        told: Json = {"brokers": brokers, "partitions": states}
        told["controller_epoch"] = self.council.controller_epoch
        return {**told, "controller_id": self.council.controller}

    def control(self, call: Json) -> Json:
        """The council decides alone and sends no commands: only stale ones can come."""
        if HABIT == "obeys_all":
            return {}
        broker, about = self.council.brokers[call["about_broker_id"]], call["about"]
        if call["controller_epoch"] < self.council.controller_epoch:
            return refused("STALE_CONTROLLER_EPOCH")
        if -1 < call["broker_epoch"] < broker.epoch:
            return refused("STALE_BROKER_EPOCH")
        if about is None:
            return refused("INVALID_REQUEST")
        key = about["topic"], about["partition"]
        is_stale = about["leader_epoch"] <= self.council.partitions[key].epoch
        code = "STALE_LEADER_EPOCH" if is_stale else "INVALID_REQUEST"
        return {"partitions": [{"topic": key[0], "partition": key[1], "error_code": code}]}

    def trace_read(self, call: Json) -> Json:
        end = call["cursor"] + call["max_events"]
        events = self.council.events[call["cursor"] : end]
        return {"events": events, "cursor": call["cursor"] + len(events)}


def crash() -> NoReturn:
    """End with a child that stays."""
    subprocess.Popen(["sleep", "600"])
    sys.stderr.write("the disk of the adapter is on fire\n")
    sys.exit(7)


def main() -> None:
    adapter = Stranger()
    for text in sys.stdin:
        call = json.loads(text)
        if HABIT == "crashes" and call["id"] == CRASHES_AT:
            crash()
        if HABIT == "has_processes" and hasattr(adapter, "council"):
            adapter.bury()
        line = {"id": call["id"], "status": "ok", **adapter.answer(call)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        if call["verb"] == "bye":
            break


if __name__ == "__main__":
    main()
