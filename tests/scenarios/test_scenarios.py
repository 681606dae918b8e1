"""Every scenario prints what its file says, and every hazard has one, or a reason why not.

`--rewrite-scenarios` lets the files say what they print.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.conformance.whitebox.scripts import play_file
from fencepost.impl.sim.script.language import Command, parse
from fencepost.impl.sim.stepped.schedule import SCHEDULES
from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.vocabulary import ProtocolLevel

HERE = Path(__file__).resolve().parent
OWN = sorted(SCHEDULES.glob("*.txt"))
"""They show a mutant that random runs do not, so the simulator carries them."""
SCENARIOS = [*sorted(HERE.glob("*.txt")), *OWN]
HAZARDS = {hazard.id: hazard for hazard in load_hazards()}
WRONG = ("violated: ", "unhealed: ")
NEWEST = max(ProtocolLevel)


def hazards_of(path: Path) -> tuple[str, ...]:
    """The hazards that the first line of a scenario names, as in `# H39, H39b: ...`."""
    named = re.match(r"# ([\w.-]+(?:, [\w.-]+)*): ", path.read_text())
    names = tuple(named[1].split(", ")) if named else ()
    return names if set(names) & set(HAZARDS) else ()


SHOWN = {name: path for path in SCENARIOS for name in hazards_of(path)}


def reasons() -> dict[str, str]:
    """Why a hazard has no scenario: the last table of the README."""
    table = (HERE / "README.md").read_text().partition("| hazards | why")[2]
    rows = (row.split("|")[1:3] for row in table.splitlines()[2:] if row.startswith("|"))
    return {name: why.strip() for names, why in rows for name in names.strip().split(", ")}


def runs_of(path: Path) -> Iterator[tuple[Command, list[str]]]:
    """Each `cluster` of a scenario, and what is printed until the next."""
    current: tuple[Command, list[str]] | None = None
    for block in parse(path.read_text(), path.name):
        for command in block.commands:
            if command.verb == "cluster":
                if current is not None:
                    yield current
                current = command, []
        assert current is not None
        current[1].extend(block.expected)
    assert current is not None
    yield current


def follows(command: Command, hazard: Hazard) -> bool:
    """True of a cluster that has the hazard."""
    if "mutants" in hazard.switch:
        return command.options.get("mutant") == hazard.switch["mutants"]
    return int(command.options.get("level", NEWEST)) < NEWEST


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_prints_what_its_file_says(path: Path, request: pytest.FixtureRequest) -> None:
    played = play_file(path)
    if request.config.getoption("--rewrite-scenarios"):
        path.write_text(played.after, encoding="utf-8")
        return

    assert "\n".join(played.difference) == ""


def test_every_hazard_has_a_scenario_or_a_reason() -> None:
    told = reasons()

    assert {name for name in HAZARDS if name not in SHOWN and name not in told} == set()
    assert set(told) & set(SHOWN) == set()
    assert set(told) | set(SHOWN) <= set(HAZARDS)
    assert all(len(why) > 20 for why in told.values())


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_hazard_is_seen_where_it_is_and_not_where_it_is_repaired(name: str) -> None:
    hazard, path = HAZARDS[name], SHOWN[name]
    runs = [
        (follows(command, hazard), any(line.startswith(WRONG) for line in printed))
        for command, printed in runs_of(path)
    ]

    assert (True, True) in runs or hazard.finding is HazardFinding.REFUTED
    assert (False, False) in runs
    assert (False, True) not in runs


def test_the_file_of_a_hazard_begins_with_its_name() -> None:
    strays = [
        path.name
        for path in set(SCENARIOS) - set(OWN)
        if (names := hazards_of(path))
        and not path.name.startswith(re.sub(r"[.-]", "_", names[0].lower()) + "_")
    ]
    assert strays == []
