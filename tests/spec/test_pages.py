"""The tables of the page on the specs: read from modules, rows and hazards, nothing by hand."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.hazards import Hazard, HazardFinding
from fencepost.spec.pages import (
    Module,
    hazards_table,
    modules_table,
    parse_module,
    properties_table,
    stories,
)
from fencepost.spec.tlc.models import ModelVerdict, load_models
from fencepost.spec.tlc.modules import modules_read

MODULE = """
------ MODULE Lamp ------
(* A lamp that burns. It has one switch. *)
EXTENDS Integers

(* It is turned on; by which, is   *)
(* left out. Nothing else changes. *)
TurnOn(x) ==
    lamp' = x

Untold == TRUE

Next ==
    \\/ \\E x \\in Rooms : TurnOn(x)
    \\/ TurnOff

(* It is never broken. *)
\\* @req ZK-003
\\* @req ZK-004
Whole == lamp # 3
======
"""

HAZARD = Hazard(
    id="H99",
    title="A lamp | that breaks",
    source="V3 Z",
    module="Lamp",
    switch={"mutants": "hit_it"},
    finding=HazardFinding.SHOWN,
    text="The text says nothing.",
    repair="Do not hit it (ZK-003).",
    story=["It burns.", "A stone hits it.", "It is broken."],
    rows=["truncation_to_high_watermark"],
    turns_red=["truncation_by_leader_epoch"],
)


def test_a_module_gives_its_purpose_actions_and_paragraphs() -> None:
    lamp = parse_module(MODULE)

    assert lamp.name == "Lamp"
    assert lamp.purpose == "A lamp that burns. It has one switch."
    assert lamp.actions == ("TurnOn", "TurnOff")
    turn_on, whole = lamp.definitions
    assert turn_on.sentence == "It is turned on; by which, is left out."
    assert (whole.name, whole.requirements) == ("Whole", ("ZK-003", "ZK-004"))


def test_a_module_is_counted_with_the_rows_of_its_bounds() -> None:
    row = load_models()[0]
    lamp = parse_module(MODULE)

    *_, line = modules_table([lamp], [replace(row, module="MCLamp")] * 3)

    assert line == "| `Lamp` | A lamp that burns. | 2 | 3 |"


def property_line(module: str) -> str:
    rows = [row for row in load_models() if row.invariant == "CommittedDurable"]
    told = replace(parse_module(MODULE).definitions[1], name="CommittedDurable")
    *_, line = properties_table(
        [Module(name=module, purpose="", actions=(), definitions=(told,))], rows
    )
    return line


@pytest.mark.parametrize("module", ["Replication", "TopicLifecycle"])
def test_a_property_names_the_shortest_way_to_break_it_in_its_module(module: str) -> None:
    rows = [
        row
        for row in load_models()
        if row.invariant == "CommittedDurable"
        if module in {path.stem for path in modules_read(row.module_path)}
    ]
    shortest = min(rows, key=lambda row: row.counterexample_states or 0)

    line = property_line(module)

    assert f"`{shortest.name}`, {shortest.counterexample_states} states" in line
    assert "ZK-003, ZK-004" in line


def test_a_property_that_only_others_break_is_not_said_to_be_broken() -> None:
    assert property_line("Lamp").endswith("| - |")


def test_a_hazard_gets_a_line_and_a_story() -> None:
    rows = [row for row in load_models() if row.name == HAZARD.rows[0]]

    *_, line = hazards_table([HAZARD], rows)
    text = "\n".join(stories([HAZARD]))

    assert rows[0].expected is ModelVerdict.VIOLATES
    assert line.startswith("| [H99](#h99-a-lamp--that-breaks) A lamp \\| that breaks | `hit_it` |")
    assert f"`{rows[0].invariant}` | {rows[0].counterexample_states} |" in line
    assert "2. A stone hits it." in text
    assert "**Repair.** Do not hit it" in text
    assert "without the repair also `truncation_by_leader_epoch`" in text


def test_what_the_first_page_says_of_rows_is_what_the_rows_say() -> None:
    page = Path(__file__).resolve().parents[2] / "spec" / "README.md"
    told = re.findall(r"\| `(\w+)` \| `(\w+)`, (\d+) states \|", page.read_text())
    rows = {row.name: row for row in load_models()}

    assert told
    for name, invariant, states in told:
        assert (invariant, int(states)) == (rows[name].invariant, rows[name].counterexample_states)
