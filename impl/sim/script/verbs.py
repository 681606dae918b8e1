"""The verbs of scenarios: what each may be given, and what it does on the stage."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from msgspec import structs

from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.impl.core.types.messages import ACKS_ALL
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import FINAL_READ_MS
from fencepost.impl.sim.script import acts, admin
from fencepost.impl.sim.script.client import Numbered, Pending
from fencepost.impl.sim.script.language import Command, milliseconds
from fencepost.impl.sim.script.look import (
    is_registered,
    observe,
    show_log,
    show_results,
    show_state,
)
from fencepost.impl.sim.script.settings import SETTINGS, read_options
from fencepost.impl.sim.script.stage import Stage, key_of, number
from fencepost.impl.sim.stepped.replay import replay
from fencepost.impl.sim.stepped.schedule import SCHEDULES, read_schedule
from fencepost.impl.sim.world.clients import FinalReader
from fencepost.impl.sim.world.workload import break_connections, create_topic, start_clients
from fencepost.spec.vocabulary import NO_PRODUCER, BrokerId, Offset, ProducerId
from fencepost.spec.znodes import TOPIC_NAME, TopicPartition

Lines = list[str]
UNTIL_MS = 10_000
"""How long `until` waits without a time of its own."""
_ACKS = {"all": ACKS_ALL, "1": 1, "0": 0}


class Words(NamedTuple):
    """How many words may follow a verb."""

    least: int
    most: int


NO_WORDS = Words(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptVerb:
    """What a verb may be given, and what it does."""

    perform: Callable[[Stage, Command], Lines]
    words: Words = NO_WORDS
    usage: str
    options: frozenset[str] = field(default_factory=frozenset)
    may_wait: bool = True
    """False when it lets time pass itself: `at` cannot put it off."""
    plans: bool = False
    """True when it puts itself off."""


def perform(stage: Stage, command: Command) -> Lines:
    """Do what a command says, now or when its time comes; raises `ScriptError`."""
    verb = VERBS.get(command.verb)
    if verb is None:
        raise command.error(f"unknown verb {command.verb}; write one of {', '.join(VERBS)}")
    if unknown := sorted({*command.options} - verb.options):
        raise command.error(f"{command.verb} takes no {unknown[0]}=; {verb.usage}")
    if not verb.words.least <= len(command.words) <= verb.words.most:
        raise command.error(f"{command.verb} is given {len(command.words)} words; {verb.usage}")
    if command.at_ms is None or verb.plans:
        return verb.perform(stage, command)
    if not verb.may_wait:
        raise command.error(f"{command.verb} lets time pass, so at cannot put it off")
    stage.cluster.scheduler.after_ms(command.at_ms, partial(_at_last, stage, verb, command))
    return []


def _at_last(stage: Stage, verb: ScriptVerb, command: Command) -> None:
    verb.perform(stage, command)


# Cluster and time


def _cluster(stage: Stage, command: Command) -> Lines:
    stage.start(options_of(command))
    elect_controller(stage, command)
    return []


def options_of(cluster: Command) -> RunOptions:
    """The options of the run that a `cluster` describes."""
    return read_options({name: text for name, text in cluster.options.items() if name in SETTINGS})


def elect_controller(stage: Stage, command: Command) -> None:
    """Wait until the broker that `controller=` names is the controller, if it names one."""
    wanted = number(command, "controller", 0)
    if not wanted:
        return
    processes = stage.cluster.processes
    if wanted not in processes:
        raise command.error(f"controller={wanted} is no broker of 1 to {len(processes)}")
    others = [process for broker_id, process in processes.items() if broker_id != wanted]
    for process in others:
        process.pause()
    stage.run(UNTIL_MS, lambda: stage.cluster.controller() is processes[BrokerId(wanted)])
    for process in others:
        process.resume()


def _run(stage: Stage, command: Command) -> Lines:
    stage.run(milliseconds(command.words[0]))
    return []


def _until(stage: Stage, command: Command) -> Lines:
    given = dict(command.options)
    within_ms = milliseconds(given.pop("within", str(UNTIL_MS)))
    wanted = [*given.items(), *(_equation(command, word) for word in command.words)]
    if not wanted:
        raise command.error(f"until needs a condition; {VERBS['until'].usage}")

    def unmet() -> Iterator[str]:
        for what, value in wanted:
            if (seen := observe(stage, command, what)) != value:
                yield f"not within {within_ms} ms: {what}={value}; it is {seen}"

    stage.run(within_ms, lambda: next(unmet(), None) is None)
    return list(unmet())


def _equation(command: Command, word: str) -> tuple[str, str]:
    what, equals, value = word.partition("=")
    if not equals:
        raise command.error(f"{word!r} is no condition; {VERBS['until'].usage}")
    return what, value


# Topics and clients


def _create_topic(stage: Stage, command: Command) -> Lines:
    topic = command.words[0]
    if not TOPIC_NAME.fullmatch(topic):
        raise command.error(f"{topic!r} is no name of a topic")
    partitions = number(command, "partitions", stage.cluster.options.partitions)
    if "replicas" not in command.options:
        create_topic(stage.cluster, topic, partitions)
        return []
    replicas = tuple(admin.brokers(command, command.options["replicas"]))
    to = stage.broker(command, "broker") if "broker" in command.options else replicas[0]
    stage.run(UNTIL_MS, lambda: all(is_registered(stage, broker_id) for broker_id in replicas))
    pending = stage.client.create_topic(topic, (replicas,) * partitions, to)
    stage.run(admin.ANSWER_MS, lambda: pending.is_done)
    if pending.outcome != ["ok"]:
        return pending.outcome
    if command.options.get("wait") != "no":
        stage.run(UNTIL_MS, partial(is_converged, stage.cluster))
    return []


def _produce(stage: Stage, command: Command) -> Lines:
    key = key_of(command, command.words[0])
    acks = _ACKS.get(command.options.get("acks", "all"))
    if acks is None:
        raise command.error(f"acks={command.options['acks']} is none; write all, 1 or 0")
    numbered = Numbered(
        producer_id=ProducerId(number(command, "producer", NO_PRODUCER)),
        producer_epoch=number(command, "epoch", 0),
        base_sequence=number(command, "sequence", 0),
    )
    to = _asked(stage, command, key)
    return _wait_for(
        stage, command, stage.client.produce(key, command.words[1:], acks, to, numbered)
    )


def _retry(stage: Stage, command: Command) -> Lines:
    """The last produce of a numbered producer to the partition is sent again, as it was."""
    key = key_of(command, command.words[0])
    pending = stage.client.retry(key, _asked(stage, command, key))
    if pending is None:
        raise command.error(f"no produce to {key} is open; give one a producer= first")
    return _wait_for(stage, command, pending)


def _consume(stage: Stage, command: Command) -> Lines:
    key = key_of(command, command.words[0])
    offset = Offset(number(command, "offset", 0))
    pending = stage.client.consume(key, offset, _asked(stage, command, key))
    return _wait_for(stage, command, pending)


def _asked(stage: Stage, command: Command, key: TopicPartition) -> BrokerId:
    """The broker that is named, or else the leader that ZooKeeper names."""
    if "broker" in command.options:
        return stage.broker(command)
    leader = stage.cluster.view().leaders.get(key)
    if leader not in stage.cluster.disks:
        raise command.error(f"{key} has no leader; name a broker=")
    return BrokerId(leader)


def _wait_for(stage: Stage, command: Command, pending: Pending) -> Lines:
    """Wait for the end of an operation, unless its command was put off."""
    if command.at_ms is not None or command.options.get("wait") == "no":
        stage.client.pending.append(pending)
        return []
    stage.run(admin.ANSWER_MS, lambda: pending.is_done)
    return [f"{pending.what}: {pending.outcome[0]}"]


def _workload(stage: Stage, command: Command) -> Lines:
    keys = sorted(stage.cluster.assignments())
    if not keys:
        raise command.error("there is no partition to work on; create-topic comes first")
    stage.simulated.clients += start_clients(stage.cluster, keys)
    return []


def _breaks(stage: Stage, _: Command) -> Lines:
    break_connections(stage.cluster)
    return []


# The end


def _settle(stage: Stage, command: Command) -> Lines:
    """End all faults, start every broker, and wait for what must come to hold."""
    given = command.options.get("without")
    absent = frozenset(admin.brokers(command, given)) if given else None
    rules = list(stage.rules)
    stage.lift(rules)
    for rule in rules:
        acts.release(rule)
    stopped = (stage.cluster.processes.keys() - stage.injector.victims) | stage.killed
    for broker_id in sorted(stopped):
        process = stage.cluster.processes[broker_id]
        process.before = None
        while process.is_paused:  # as often as it was paused
            process.resume()
        process.zookeeper.is_cut = False
        if not process.is_alive and broker_id not in (absent or ()):
            stage.start_broker(broker_id)
    stage.cluster.absent = absent or frozenset()
    owed = stage.simulated.heal()
    return [f"unhealed: {', '.join(sorted(owed))}" if owed else "converged"]


def _read(stage: Stage, command: Command) -> Lines:
    """Every partition is read from its start to its high watermark, as the last client does."""
    if stage.is_read:
        raise command.error("all was read already; read comes once, at the end of a run")
    stage.is_read = True
    keys = sorted(stage.cluster.assignments())
    if not keys:
        return ["there is no partition to read"]
    reader = FinalReader(stage.cluster, keys)
    reader.read_all()
    done = stage.run(FINAL_READ_MS, lambda: reader.is_done)
    return [] if done else ["not all could be read"]


def _check(stage: Stage, _: Command) -> Lines:
    return list(stage.judge(stage.cluster.recorder.events))


def _show(stage: Stage, command: Command) -> Lines:
    match command.words:
        case ("state",):
            return list(show_state(stage))
        case ("results",):
            return list(show_results(stage))
        case ("log", text):
            return list(show_log(stage, key_of(command, text)))
        case _:
            raise command.error(VERBS["show"].usage)


def _replay(_: Stage, command: Command) -> Lines:
    """A counterexample of the specs on the core, step by step; `mutant=none` without its mutant."""
    schedule = read_schedule(SCHEDULES / f"{command.words[0]}.json")
    wrong = command.options.get("mutant", "own")
    if wrong not in ("own", "none"):
        raise command.error(f"mutant={wrong} is none; write mutant=none or leave it out")
    if wrong == "none":
        setting = structs.replace(schedule.setting, mutants=())
        schedule = structs.replace(schedule, setting=setting)
    done = replay(schedule)
    lines = [f"{done.steps} of {len(schedule.steps)} steps"]
    if done.mismatch is not None:
        lines.append(f"then the core does not take {done.mismatch.action} as the specs do")
    return [*lines, *(f"violated: {name}" for name in sorted(done.violated))]


_MESSAGES = frozenset({"method", "from", "to", "topic", "count"})
_MANY = 1_000
_WHO = "write broker= with a number, controller, leader(<t>/<p>) or follower(<t>/<p>,<n>)"
_ADMIN = "write delete-topic <topic> broker= wait=no"
_ASKED = frozenset({"broker", "wait"})
_WHICH = "write method=, from=, to=, topic= or count="


def _message_verb(verb: str) -> ScriptVerb:
    return ScriptVerb(perform=acts.make_rule(verb), usage=_WHICH, options=_MESSAGES)


VERBS: dict[str, ScriptVerb] = {
    "cluster": ScriptVerb(
        perform=_cluster,
        usage=f"write any of controller, {', '.join(sorted(SETTINGS))}",
        options=SETTINGS | {"controller"},
        may_wait=False,
    ),
    "create-topic": ScriptVerb(
        perform=_create_topic,
        words=Words(1, 1),
        usage="write create-topic <topic> replicas=1,2,3 partitions=1 wait=no broker=",
        options=frozenset({"replicas", "partitions", "wait", "broker"}),
        may_wait=False,
    ),
    "produce": ScriptVerb(
        perform=_produce,
        words=Words(2, _MANY),
        usage="write produce <t>/<p> <value> ... acks=all broker= wait=no producer=1 sequence=0",
        options=frozenset({"acks", "broker", "wait", "producer", "sequence", "epoch"}),
    ),
    "retry": ScriptVerb(
        perform=_retry,
        words=Words(1, 1),
        usage="write retry <t>/<p> broker= wait=no",
        options=frozenset({"broker", "wait"}),
    ),
    "consume": ScriptVerb(
        perform=_consume,
        words=Words(1, 1),
        usage="write consume <t>/<p> offset=0 broker= wait=no",
        options=frozenset({"offset", "broker", "wait"}),
    ),
    "delete-topic": ScriptVerb(
        perform=admin.delete_topic, words=Words(1, 1), usage=_ADMIN, options=_ASKED
    ),
    "add-partitions": ScriptVerb(
        perform=admin.add_partitions,
        words=Words(1, 1),
        usage="write add-partitions <topic> count=3",
        options=_ASKED | {"count"},
    ),
    "remove-partitions": ScriptVerb(
        perform=admin.remove_partitions,
        words=Words(1, 1),
        usage="write remove-partitions <topic> numbers=1,2",
        options=_ASKED | {"numbers"},
    ),
    "elect": ScriptVerb(
        perform=admin.elect,
        words=Words(1, 1),
        usage="write elect <t>/<p> kind=preferred",
        options=_ASKED | {"kind"},
    ),
    "reassign": ScriptVerb(
        perform=admin.reassign,
        words=Words(1, 1),
        usage="write reassign <t>/<p> replicas=2,3, or no replicas to cancel",
        options=_ASKED | {"replicas"},
    ),
    "workload": ScriptVerb(perform=_workload, usage="it takes nothing; cluster says how many"),
    "breaks": ScriptVerb(
        perform=_breaks, usage="it takes nothing; cluster connection_breaks= says"
    ),
    "run": ScriptVerb(perform=_run, words=Words(1, 1), usage="write run 500ms", may_wait=False),
    "until": ScriptVerb(
        perform=_until,
        words=Words(0, _MANY),
        usage="write until leader(t/0)=2 within=5s, or another observation",
        options=frozenset({"within", "controller", "controller_epoch", "converged", "held"})
        | {"pending", "topics"},
        may_wait=False,
    ),
    "kill": ScriptVerb(perform=acts.kill, usage=_WHO, options=frozenset({"broker", "at", "nth"})),
    "restart": ScriptVerb(perform=acts.restart, usage=_WHO, options=frozenset({"broker"})),
    "pause": ScriptVerb(perform=acts.pause, usage=_WHO, options=frozenset({"broker", "at", "nth"})),
    "resume": ScriptVerb(perform=acts.resume, usage=_WHO, options=frozenset({"broker"})),
    "fault": ScriptVerb(
        perform=acts.fault,
        words=Words(1, 1),
        usage="write fault <kind> and the fields of that kind",
        options=frozenset({name for kind in KINDS.values() for name in kind.parameters}),
        plans=True,
    ),
    "expire": ScriptVerb(perform=acts.expire, usage=_WHO, options=frozenset({"broker"})),
    "disconnect": ScriptVerb(
        perform=acts.disconnect, usage=_WHO, options=frozenset({"broker", "for"})
    ),
    "connect": ScriptVerb(perform=acts.connect, usage=_WHO, options=frozenset({"broker"})),
    "lose-reply": ScriptVerb(
        perform=acts.lose_reply, usage=_WHO, options=frozenset({"broker", "path", "for"})
    ),
    "delete-znode": ScriptVerb(
        perform=acts.delete_znode, words=Words(1, 1), usage="write delete-znode <path>"
    ),
    "create-znode": ScriptVerb(
        perform=acts.create_znode, words=Words(1, _MANY), usage="write create-znode <path> <data>"
    ),
    "set-znode": ScriptVerb(
        perform=acts.set_znode, words=Words(2, _MANY), usage="write set-znode <path> <data>"
    ),
    "hold": _message_verb("hold"),
    "drop": _message_verb("drop_request"),
    "hold-answer": _message_verb("hold_response"),
    "drop-answer": _message_verb("drop_response"),
    "duplicate": _message_verb("duplicate"),
    "deliver": ScriptVerb(perform=acts.deliver, usage=_WHICH, options=_MESSAGES | {"keep"}),
    "lift": ScriptVerb(perform=acts.lift, usage=_WHICH, options=_MESSAGES),
    "replay": ScriptVerb(
        perform=_replay,
        words=Words(1, 1),
        usage="write replay <name in impl/sim/schedules> mutant=none",
        options=frozenset({"mutant"}),
        may_wait=False,
    ),
    "settle": ScriptVerb(
        perform=_settle,
        usage="write settle without=2",
        options=frozenset({"without"}),
        may_wait=False,
    ),
    "read": ScriptVerb(perform=_read, usage="it takes nothing", may_wait=False),
    "check": ScriptVerb(perform=_check, usage="it takes nothing", may_wait=False),
    "show": ScriptVerb(
        perform=_show,
        words=Words(1, 2),
        usage="write show state, show log <t>/<p> or show results",
        may_wait=False,
    ),
}
