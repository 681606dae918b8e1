"""What an adapter answers before anything is judged: its hello, what it declares, and each verb."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import AdapterError, open_channel
from fencepost.conformance.adapters.remote.messages import (
    Call,
    ClusterCreateCall,
    ClusterDestroyCall,
    FetchCall,
    Fetched,
    ListOffsetsCall,
    MetadataCall,
    NodeKillCall,
    NodeStartCall,
    NodeStopCall,
    ObserveCall,
    ProduceCall,
    Refused,
    TopicCreateCall,
    Unsupported,
)
from fencepost.conformance.adapters.remote.remote import Remote
from fencepost.conformance.checks.observations import NEEDS, Fidelity, Observable, lacking, lacks
from fencepost.fault_injection.processes.supervisor import Supervisor

TOPIC = "probe"
RUN_ID = "probe"
RECORD = "probe/1/1"
OK, UNSUPPORTED, REFUSED = "ok", "unsupported", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterProbe:
    """What was found out of one target."""

    implementation: Implementation
    answers: dict[str, str] = field(default_factory=dict)
    """Verb -> `ok`, or what it answered instead; empty when the verbs were not tried."""

    @property
    def observations(self) -> list[tuple[str, str]]:
        """Every kind of events, with its fidelity."""
        observed = self.implementation.observes
        return [(kind, observed.get(kind, Fidelity.NONE)) for kind in Observable]

    @property
    def is_well(self) -> bool:
        """True when no answer was wrong; a verb that is unsupported or refused is well answered."""
        fine = (OK, UNSUPPORTED, REFUSED)
        return all(answer.startswith(fine) for answer in self.answers.values())

    @property
    def undecided(self) -> list[tuple[str, str]]:
        """The checks that this cannot decide, with what they need."""
        found = {name: lacks(name, self.implementation.observes) for name in NEEDS}
        return [(name, lacking(name, missing)) for name, missing in found.items() if missing]


def probe(implementation: Implementation) -> AdapterProbe:
    """Try each verb of an adapter on a cluster of one broker; other targets are only described.

    An adapter with its state in a ZooKeeper has no cluster without one. Raises `AdapterError`.
    """
    if (
        not isinstance(implementation, Remote)
        or Capability.ZOOKEEPER in implementation.capabilities
    ):
        return AdapterProbe(implementation=implementation)
    with TemporaryDirectory() as folder, Supervisor(Path(folder) / RUN_ID, RUN_ID) as supervisor:
        adapter = Adapter(open_channel(implementation.chosen_as, supervisor))
        try:
            answers: dict[str, str] = {}
            for call in _calls(Path(folder)):
                told = _told(adapter, call, answers.values())
                if answers.get(call.verb, OK) == OK:
                    answers[call.verb] = told
        finally:
            adapter.close()
    return AdapterProbe(implementation=implementation, answers=answers)


def _calls(folder: Path) -> list[Call]:
    place: dict[str, Any] = {"broker_id": 1, "topic": TOPIC, "partition": 0}
    return [
        ClusterCreateCall(
            run_id=RUN_ID,
            folder=str(folder),
            broker_ids=(1,),
            level=2,
            zookeeper=None,
            session_timeout_ms=1500,
            replica_lag_ms=1500,
        ),
        NodeStartCall(broker_id=1),
        TopicCreateCall(broker_id=1, topic=TOPIC, assignment=((1,),)),
        MetadataCall(broker_id=1),
        ObserveCall(),
        ProduceCall(**place, values=(RECORD,), timeout_ms=1000),
        FetchCall(**place, offset=0, max_records=10, max_wait_ms=0),
        ListOffsetsCall(**place),
        NodeKillCall(broker_id=1),
        NodeStartCall(broker_id=1),
        NodeStopCall(broker_id=1),
        ClusterDestroyCall(),
    ]


def _told(adapter: Adapter, call: Call, before: Collection[str]) -> str:
    """What it answered; an adapter that has failed answers nothing more, and why is told once."""
    if adapter.has_failed:
        return "not asked" if adapter.failure in before else adapter.failure
    try:
        answer = adapter.ask(call, call.answer)
    except AdapterError as error:
        return str(error)
    match answer:
        case Unsupported():
            return UNSUPPORTED
        case Refused(error_code=code, message=message):
            return f"{REFUSED}: {code} {message}".rstrip()
        case Fetched(values=values) if values != (RECORD,):
            return f"answered {list(values)}; expected was [{RECORD!r}], which was produced"
        case _:
            return OK
