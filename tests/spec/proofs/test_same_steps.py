"""The actions of the proofs are those of the specs: TLC's steps are theirs, and theirs are TLC's.

TLC writes the graphs of small models; together they take every action.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.metadata.wrong_rules import forget_controller, lead_under_older_epoch
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.modules import MODULES
from fencepost.spec.proofs.replication.module import REPLICATION_MODULE
from fencepost.spec.proofs.replication.wrong_rules import (
    acknowledge_under_any_isr,
    append_under_any_isr,
    commit_with_old_isr,
    expand_laggards,
    keep_log_of_same_leader,
    serve_any_epoch,
    take_high_watermark_as_it_comes,
    truncate_to_high_watermark,
)
from fencepost.spec.tlc.graph.graph import Graph, read_graph
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models, select
from fencepost.spec.tlc.runner import TlcOptions, findings
from tests.spec.proofs import abstraction, log_abstraction
from tests.spec.proofs.abstraction import Reading
from tests.spec.proofs.walk import Difference, Walk

pytestmark = pytest.mark.long

HANGS_S = 600.0
"""Each graph is written in seconds; a host that is busy with other models is given time."""

NO_FAULTS: Mapping[str, Any] = {
    "MaxElections": 0,
    "MaxIsrChanges": 0,
    "MaxCrashes": 0,
    "MaxExpiries": 0,
    "MaxControllerExpiries": 0,
    "MaxLosses": 0,
    "MaxDuplicates": 0,
    "MaxLostReplies": 0,
    "MaxLostRequests": 0,
}
TWO_REPLICAS: Mapping[str, Any] = {**NO_FAULTS, "InitialIsr": [1, 2], "Controllers": [11]}


@dataclass(frozen=True, slots=True)
class Walked:
    """A row of the models with other constants: a few hundred states, not all that is possible."""

    row: str
    constants: Mapping[str, Any]


METADATA = {
    "two_controllers": Walked(
        "two_controllers",
        {
            **NO_FAULTS,
            "Controllers": [11, 12],
            "InitialIsr": [1],
            "MaxIsrChanges": 1,
            "MaxControllerExpiries": 1,
            "MaxLostReplies": 1,
        },
    ),
    "from_nothing": Walked("two_controllers", {**TWO_REPLICAS, "Start": "empty"}),
    "restart": Walked(
        "two_controllers",
        {**TWO_REPLICAS, "MaxCrashes": 1, "MaxExpiries": 1, "MaxDuplicates": 1, "MaxLosses": 1},
    ),
    "conflict": Walked(
        "two_controllers",
        {
            **TWO_REPLICAS,
            "MaxElections": 1,
            "MaxIsrChanges": 1,
            "MaxExpiries": 1,
            "MaxLostReplies": 1,
        },
    ),
    "lost": Walked(
        "two_controllers",
        {
            **TWO_REPLICAS,
            "MaxElections": 1,
            "MaxIsrChanges": 1,
            "MaxExpiries": 1,
            "MaxLostRequests": 1,
        },
    ),
}
"""Together they take every action of `LeaderAndIsr`."""
LOGS = {
    "from_nothing": Walked("replication_from_nothing", {}),
    "answers": Walked(
        "answers_lost_and_repeated",
        {**NO_FAULTS, "MaxRecords": 2, "MaxLosses": 1, "MaxDuplicates": 1},
    ),
    "restart": Walked(
        "answers_lost_and_repeated", {**NO_FAULTS, "MaxCrashes": 1, "MaxExpiries": 1}
    ),
    "isr": Walked(
        "answers_lost_and_repeated", {**NO_FAULTS, "MaxIsrChanges": 2, "MaxLostReplies": 1}
    ),
    "lost": Walked(
        "answers_lost_and_repeated", {**NO_FAULTS, "MaxIsrChanges": 1, "MaxLostRequests": 1}
    ),
    "laggard": Walked(
        "answers_lost_and_repeated", {**NO_FAULTS, "MaxRecords": 2, "MaxIsrChanges": 1}
    ),
    "conflict": Walked(
        "answers_lost_and_repeated",
        {**NO_FAULTS, "MaxRecords": 0, "MaxIsrChanges": 1, "MaxExpiries": 1, "MaxElections": 1},
    ),
    "min_insync_replicas": Walked(
        "min_insync_replicas",
        {**NO_FAULTS, "MinInsyncReplicas": 2, "MaxRecords": 2, "MaxIsrChanges": 2},
    ),
    "halfway": Walked("halfway_no_second_election", {}),
    "in_flight": Walked("answer_of_old_leader", {"MaxRecords": 0}),
    "parted": Walked(
        "parted_logs",
        {"MaxRecords": 0, "MaxElections": 0, "MaxExpiries": 0, "unclean_leader_election": False},
    ),
}
"""Together they take every action of `Replication`; the last three start with logs that differ."""
ROWS = {LEADER_AND_ISR_MODULE.name: METADATA, REPLICATION_MODULE.name: LOGS}


def model_of(module: str, name: str) -> Model:
    walked = ROWS[module][name]
    (row,) = select(load_models(), [walked.row])
    constants = {**row.constants, **walked.constants}
    return replace(row, name=f"{module}_{name}", constants=constants, reaches=())


def graph_of(model: Model, folder: Path) -> Graph:
    path = folder / f"{model.name}.dot"
    dump = ("-dump", "dot,actionlabels", str(path))
    asked = TlcOptions(time_budget_s=HANGS_S, tlc_options=dump)
    (found,) = findings([model], options=asked)
    assert found.verdict is ModelVerdict.HOLDS, found.error
    return read_graph(path.read_text())


def reading_of(name: str) -> Reading:
    """Of a model with logs; its configuration has one record, or another number here."""
    constants = LOGS[name].constants
    return log_abstraction.reading_of(
        constants.get("MaxRecords", 1),
        min_insync_replicas=constants.get("MinInsyncReplicas", 1),
        is_clean=name != "parted",
    )


@dataclass(frozen=True, slots=True)
class Walks:
    """The graphs of all models, by module and name."""

    graphs: Mapping[str, Mapping[str, Graph]]

    def walk(self, module: ProvedModule, name: str) -> Walk:
        """Through one of them."""
        is_with_logs = module.name == REPLICATION_MODULE.name
        reading = reading_of(name) if is_with_logs else abstraction.METADATA
        return Walk(module, self.graphs[module.name][name], reading)


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Walks:
    folder = tmp_path_factory.mktemp("graphs")
    return Walks(
        {
            module: {name: graph_of(model_of(module, name), folder) for name in rows}
            for module, rows in ROWS.items()
        }
    )


@pytest.mark.tlc
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_step_of_the_specs_is_one_of_the_proofs_and_the_other_way_round(
    walks: Walks, module: ProvedModule
) -> None:
    taken: Counter[str] = Counter()
    for name in ROWS[module.name]:
        walk = walks.walk(module, name)
        assert list(walk.differences()) == [], name
        taken += walk.taken

    assert sum(taken.values()) > 2500
    assert set(taken) == {one.name for one in module.actions}


DRIFTS: list[tuple[ProvedModule, str, ProofAction, bool]] = [
    (LEADER_AND_ISR_MODULE, "restart", lead_under_older_epoch, False),
    (LEADER_AND_ISR_MODULE, "restart", forget_controller, True),
    (REPLICATION_MODULE, "halfway", keep_log_of_same_leader, True),
    (REPLICATION_MODULE, "halfway", serve_any_epoch, False),
    (REPLICATION_MODULE, "restart", truncate_to_high_watermark, True),
    (REPLICATION_MODULE, "laggard", take_high_watermark_as_it_comes, True),
    (REPLICATION_MODULE, "isr", expand_laggards, False),
    (REPLICATION_MODULE, "isr", commit_with_old_isr, False),
    (REPLICATION_MODULE, "min_insync_replicas", append_under_any_isr, False),
    (REPLICATION_MODULE, "min_insync_replicas", acknowledge_under_any_isr, False),
]
"""A wrong rule in place of the right one, and whether the specs have a step that it has not."""


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("module", "model", "drifted", "is_in_specs"), DRIFTS, ids=[one[2].way for one in DRIFTS]
)
def test_a_proof_that_drifts_from_the_specs_is_seen(
    walks: Walks, module: ProvedModule, model: str, drifted: ProofAction, is_in_specs: bool
) -> None:
    kept = [one for one in module.actions if one.name != drifted.name]
    wrong = replace(module, actions=(*kept, drifted))

    found = walks.walk(wrong, model).differences()

    assert Difference(drifted.name, is_in_specs=is_in_specs) in found  # goes no further than that
