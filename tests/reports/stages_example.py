"""What the stages before the analysis leave, as the gate writes it."""

import json
from pathlib import Path
from typing import Any

EDIT_SCORE = {
    "title": "edits of the core",
    "goal": "with stories",
    "killed": 141,
    "of": 146,
    "wanted": 0.95,
    "drawn": "--count 150 --seed 1",
}
UNDECIDED = {"module": "impl/core/node.py", "function": "on_tick", "rules": 4, "nowhere": 3}


def stages(chaos: str = "PASS") -> list[dict[str, Any]]:
    return [
        {
            "stage": "spec",
            "verdict": "PASS",
            "seconds": 41.2,
            "summary": "2 of 2 models as expected, 284,011 distinct states",
            "figures": {"models": 2, "distinct_states": 284011},
            "detail": {
                "models": [
                    model("truncation_by_leader_epoch", "holds", None, 212930),
                    model("truncation_to_high_watermark", "violates", "CommittedDurable", 71081),
                ]
            },
        },
        {
            "stage": "proofs",
            "verdict": "PASS",
            "seconds": 8.1,
            "figures": {"obligations": 3},
            "detail": {
                "proofs": [
                    proof("QuorumSuperset", "AdoptIsr", "proved"),
                    proof("QuorumSuperset", "CreateTopic", "untouched"),
                    proof("OneLeaderPerEpoch", "AdoptIsr", "unknown"),
                ],
                "proof_hazards": [
                    proof_hazard("H40", "no_step_down", "QuorumSuperset"),
                    proof_hazard("H38", "leader_may_leave_isr", None),
                ],
                "never_taken": [],
            },
        },
        {
            "stage": "simulate",
            "verdict": "PASS",
            "seconds": 38.0,
            "figures": {"seeds": 150, "mutants_caught": 2},
            "detail": {
                "seeds": 150,
                "level": 2,
                "violations": [],
                "undecided": [UNDECIDED],
                "edit_scores": [EDIT_SCORE],
                "mutants": [
                    mutant("no_znode_version_check", "ZK-003", "LinearizableZnode"),
                    mutant("no_step_down", "ISR-004", "OneCommitterPerEpoch"),
                ],
            },
        },
        {
            "stage": "chaos",
            "verdict": chaos,
            "seconds": 62.5,
            "figures": {"scenarios": 2},
            "detail": {
                "scenarios": [scenario("leader_killed", "PASS"), scenario("truncation_loss", chaos)]
            },
        },
    ]


def model(name: str, found: str, violated: str | None, distinct: int) -> dict[str, Any]:
    return {
        "name": name,
        "module": "MCReplication",
        "expected": f"violates {violated}" if violated else "holds",
        "verdict": found,
        "violated": violated,
        "distinct": distinct,
        "generated": 4 * distinct,
        "seconds": 12.3,
        "agrees": True,
        "why": None,
        "shows": "What truncation keeps of committed records.",
    }


def proof(clause: str, action: str, answer: str) -> dict[str, Any]:
    return {
        "module": "LeaderAndIsr",
        "clause": clause,
        "action": action,
        "is_property": True,
        "answer": answer,
        "ways": 1,
        "proved": 1,
        "seconds": 0.1,
    }


def proof_hazard(hazard: str, rule: str, clause: str | None) -> dict[str, Any]:
    return {
        "module": "LeaderAndIsr",
        "hazard": hazard,
        "rule": rule,
        "shown": clause is not None,
        "clause": clause,
        "is_property": True,
        "action": "FenceLeader" if clause else None,
    }


def mutant(name: str, requirement: str, caught_by: str) -> dict[str, Any]:
    return {
        "mutant": name,
        "rule": "One rule of the protocol, turned round.",
        "requirement": requirement,
        "caught": True,
        "caught_by": caught_by,
        "seed": 17,
        "seeds_tried": 17,
    }


def scenario(name: str, verdict: str) -> dict[str, Any]:
    return {
        "name": name,
        "verdict": verdict,
        "seed": 7,
        "faults": 1,
        "acknowledged": 4,
        "floors": "20 / 3 / 40",
        "indefinite": 2,
        "unsettled": 0,
        "noise": "the host stood still once, for 400 ms at most",
        "reproduce": f"fencepost chaos --story {name} --seed 7",
        "message": None,
    }


def write_stages(run: Path, chaos: str = "PASS", copies: int = 1) -> None:
    """Each model and mutant is there `copies` times, under another name each time."""
    told = stages(chaos)
    for stage in told:
        for kind, key in (("models", "name"), ("mutants", "mutant")):
            rows = stage.get("detail", {}).get(kind)
            if rows:
                stage["detail"][kind] = [
                    {**row, key: row[key] + (f"_{copy}" if copy else "")}
                    for copy in range(copies)
                    for row in rows
                ]
    (run / "stages.json").write_text(json.dumps(told))
