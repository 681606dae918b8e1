"""The picture of a small model's states."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fencepost.spec.tlc.graph.graph import Graph, labelled, placed, read_graph, state_graph
from fencepost.spec.tlc.graph.graph_svg import draw
from fencepost.spec.tlc.models import Model, ModelError, ModelVerdict
from fencepost.spec.tlc.runner import TlcOptions
from tests.spec.tlc.counter_model import CONFIG, write_counter

DOT = r"""strict digraph DiskGraph {
nodesep=0.35;
subgraph cluster_graph {
-1 [label="/\\ x = 0\n/\\ y = \"a\"",style = filled]
-1 -> 2 [label="Up",color="black",fontcolor="black"];
2 [label="/\\ x = 1\n/\\ y = \"a\"",tooltip="/\\ x = 1"];
-1 -> 3 [label="Down",color="black",fontcolor="black"];
-1 -> 3 [label="Fall",color="black",fontcolor="black"];
3 [label="/\\ x = -1\n/\\ y = \"b\""];
2 -> 3 [label="Over",color="black",fontcolor="black"];
3 -> -1 [label="Back",color="black",fontcolor="black"];
3 -> 3 [label="Stay",color="black",fontcolor="black"];
{rank = same; -1;}
}
}"""


def graph() -> Graph:
    return placed(labelled(read_graph(DOT)))


def test_a_box_says_what_changed_and_an_edge_which_actions() -> None:
    found = graph()

    assert {id_: (node.column, node.lines) for id_, node in found.nodes.items()} == {
        "-1": (0, ("Init",)),
        "2": (1, ("x: 1",)),
        "3": (1, ("x: -1", "y: b")),
    }
    assert [(e.source, e.target, e.label) for e in found.edges] == [
        ("-1", "2", "Up"),
        ("-1", "3", "Down, Fall"),
        ("2", "3", "Over"),
        ("3", "-1", "Back"),
    ]


def test_no_boxes_overlap() -> None:
    for one, other in combinations(graph().nodes.values(), 2):
        apart = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert apart or abs(one.y - other.y) >= (one.height + other.height) / 2


def test_the_picture_is_well_formed_and_needs_nothing_else() -> None:
    text = draw(graph(), title="a < b", note="two & three")

    root = ET.fromstring(text)  # noqa: S314 - ours
    assert "a < b" in {element.text for element in root.iter()}
    assert "href" not in text
    assert text.count('class="box"') == 3


@pytest.mark.tlc
def test_states_of_a_model_are_drawn_with_the_violating_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = violating(write_counter(tmp_path / "modules"))
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))

    found, finding = state_graph(model, TlcOptions())

    assert finding.violated == "Low"
    marked = [node.values for node in found.nodes.values() if node.is_violating]
    assert marked == [{"x": 2}]
    assert [node.column for node in found.nodes.values()] == [0, 1, 2]


def test_a_model_that_is_too_large_is_refused(tmp_path: Path) -> None:
    model = replace(write_counter(tmp_path / "modules"), distinct_states=12_345)

    with pytest.raises(ModelError, match="model counter has 12,345 states, and a picture"):
        state_graph(model, TlcOptions())


def violating(model: Model) -> Model:
    (model.directory / "Counter.cfg").write_text(CONFIG + "INVARIANT Low\n")
    return replace(model, expected=ModelVerdict.VIOLATES, invariant="Low")
