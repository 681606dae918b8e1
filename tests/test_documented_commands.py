"""Every command of README and docs is executed here, or has a reason why it is executed elsewhere.

A command that is new in a document fails until it is one or the other.
"""

import re
import shlex
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fencepost.ci.bench import mutants_on_processes
from fencepost.ci.cli import run
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.steps.printed import printed_in
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.spec.tlc.models import ModelVerdict, load_models
from fencepost.spec.wire.tokens import read_token
from tests import test_documented_runs, test_first_hour
from tests.test_documents import ROOT, command_lines

MODELS = {model.name: model for model in load_models()}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DEADLINE_S = 60.0
TOKEN_FILE = Path("job.token")
"""In the session of the secured page."""
SESSIONS = {
    "commands.md": "## A cluster to play with",
    "first_hour.md": "## 2. Break a cluster by hand",
    "quota.md": "",
    "security.md": "",
}
"""Page -> how its section begins: its blocks are one session on a cluster; empty: all do."""
AT_ONCE = re.compile(
    r"fencepost ("
    r"lab( [\w-]+)?|check --list|mutants list|explain [\w-]+|"
    r"faults (list|schema|explain proc\.pause)|bugs (list|explain [A-Z]+-[\w-]+)|"
    r"conform (list( --profile core)?|explain ISR-001)|chaos --list|"
    r"simulate --steps \w+|simulate --story \w+/\S+\.yaml)"
)
"""What takes seconds, and no cluster of the reader's own."""
IN_ORDER = (
    "fencepost simulate --seeds 1 --out RUN_A",
    "fencepost simulate --seeds 1 --out RUN_B",
    "fencepost diff RUN_A RUN_B",
    "fencepost diff RUN_A RUN_B --page diff.html",
    "fencepost conform new-adapter --lang python my-adapter",
    "fencepost conform probe -t 'cmd:python3 my-adapter/adapter.py'",
    "fencepost conform probe --target 'cmd:python3 my-adapter/adapter.py'",
)
"""What needs what another one leaves, in a folder of its own; the first two make the runs."""
AS_SHOWN = {
    "fencepost check --seed 5": "PASS: 2 of 2 replays accepted",
    "fencepost check --without-repairs --hazard H21": "0 not as expected",
    "fencepost check truncation_to_high_watermark": "PASS: 1 of 1 model as expected",
    "fencepost check two_controllers --graph states.svg": "states.svg: ",
    "fencepost simulate --mutant no_step_down": "mutant no_step_down caught at seed ",
    "fencepost simulate --seed 7 --mutant no_step_down --shrink": "seed 7 shrunk from ",
    "fencepost simulate --seeds 60 --level 5": "PASS: 60 seeds at level 5",
    "fencepost simulate --seeds 60 --level 5 --upgrade-from 2": "PASS: 60 seeds of upgrades",
}
"""What `make long` executes, by itself in a folder -> what it says; a mutant is broken."""
FINDS_SOMETHING = re.compile(r"fencepost simulate --steps ")
"""A mutant is broken: the exit code is that of a violation."""
ELSEWHERE = {
    r"make ": "a target of the Makefile: each is what its name says, and the landing runs check",
    r"\.venv/bin/fencepost gate$": "the same from PATH is executed",
    r"fencepost merge": "shards: tests/ci/results/test_merge.py",
    r"fencepost report( RUN| reports/runs/latest)?$": "a run: tests/ci/results/test_run_files.py",
    r"fencepost report (s3a:|RUN --table)": "addresses, tables: tests/reports/test_on_spark.py",
    r"fencepost check$|fencepost check --tier quick$": "the gate's stage spec: tests/ci/gate",
    r"fencepost check NAME$|fencepost simulate --(mutant NAME|story FILE)$": "a placeholder",
    r"fencepost simulate --story 'NAME\|FILE'$": "a placeholder",
    r"fencepost prove": "z3: tests/spec/proofs",
    r"fencepost chaos( --story (NAME|FILE|'NAME\|FILE'))?$": "all stories, or a placeholder",
    r"fencepost chaos --story rolling_upgrade$": "minutes: tests/chaos/test_scenarios.py",
    r"fencepost chaos --story a_pause.yaml$": "a reader's file: tests/test_documents.py reads it",
    r"fencepost chaos --from-counterexample": "tests/chaos/test_counterexamples.py",
    r"fencepost chaos --network namespaces": "needs root: tests/chaos/test_namespaces.py",
    r"fencepost chaos --replay": "a run: tests/chaos/test_namespaces.py",
    r"fencepost chaos --shrink": "a run: tests/chaos/test_shrink.py",
    r"fencepost chaos --soak 1h": "an hour: tests/ci/test_soak.py",
    r"fencepost chaos --target kafka": "releases of Apache Kafka: make kafka",
    r"fencepost chaos --target ": "an adapter of the reader's: tests/conformance/adapters",
    r"fencepost simulate$": "a word in a sentence",
    r"fencepost simulate --level 5 --upgrade-from 2$": "the same with 60 seeds is executed",
    r"fencepost simulate --seeds 500( --coverage| --level [45])?$": "the gate plays hundreds",
    r"fencepost simulate --level 0 --seeds 2000$": "tests/test_first_hour.py plays 200",
    r"fencepost conform$": "a word in a sentence",
    r"fencepost conform run( --(expect|resume RUN))?$": "tests/ci/commands/test_conform_command.py",
    r"fencepost conform run -t (reference|kafka)": "minutes: make nightly and make kafka",
    r"fencepost conform selftest": "minutes: make nightly",
    r"fencepost doctor": "a cluster of its own: tests/ci/commands/test_doctor_command.py",
    r"fencepost bugs run": "releases of Apache Kafka: make kafka",
    r"fencepost heal": "what a killed run has left: tests/chaos/test_leftovers.py",
    r"fencepost tokens": "a cluster with TLS: tests/conformance/adapters/test_secured_cluster.py",
    r"fencepost acls add$": "a word in a sentence; the session has it whole",
    r"fencepost cluster stop ID": "a placeholder: tests/ci/commands/test_client_commands.py",
    r"fencepost cluster up --brokers 3$": "the sessions begin with it, and with more options",
    r"fencepost configs set controller_mutation_rate": "the same as quotas set of that page",
    r"fencepost (produce|topics|partitions|bugs|faults explain)$": "a word in a sentence",
    r"fencepost (bugs|faults) explain ID": "a placeholder",
    r"fencepost faults schema '>'": "with a shell; the same without is executed",
    r"fencepost --install-completion": "a reader's shell: tests/ci/commands/test_for_programs.py",
    r"python -m ": "generators, benches and lints: the landing runs those that check",
}
"""How a command begins -> why this file does not execute it, and what does."""


def section(page: str) -> str:
    """The section of a page that holds its session."""
    text = (ROOT / "docs" / page).read_text()
    begin = SESSIONS[page]
    return text[text.index(begin) :].split("\n## ", 1)[0] if begin else text


def session(page: str) -> list[list[str]]:
    """The command lines of its blocks, in order."""
    blocks = re.findall(r"^```\n(.*?)^```$", section(page), re.MULTILINE | re.DOTALL)
    return [words for block in blocks for words in command_lines(block)]


@cache
def documented() -> list[str]:
    """Every command line of the pages, once."""
    found = (shlex.join(words) for page in PAGES for words in command_lines(page.read_text()))
    return sorted(set(found))


def reason(line: str) -> str | None:
    """Why it is not executed here."""
    return next((why for begin, why in ELSEWHERE.items() if re.match(begin, line)), None)


def is_in_session(line: str) -> bool:
    return line in IN_ORDER or any(
        line == shlex.join(words) for page in SESSIONS for words in steps(page)
    )


def is_played(line: str) -> bool:
    """Executed by a test of this file, beside what it needs, or in its place in the first hour."""
    return (
        AT_ONCE.fullmatch(line) is not None
        or is_in_session(line)
        or line in AS_SHOWN
        or line in {line for kind in (SEED, MODEL, SCENARIO, LED) for line in of_levels(kind)}
        or line in test_documented_runs.EXECUTED
        or line in test_first_hour.commands()
    )


def at_once() -> list[str]:
    return [line for line in documented() if AT_ONCE.fullmatch(line)]


def test_every_command_is_executed_or_has_a_reason() -> None:
    lost = [line for line in documented() if not is_played(line) and reason(line) is None]

    assert lost == []


def test_every_reason_is_needed() -> None:
    left = [line for line in documented() if not is_played(line)]

    assert [begin for begin in ELSEWHERE if not any(re.match(begin, line) for line in left)] == []


def test_what_a_reason_names_is_there() -> None:
    named = {name for why in ELSEWHERE.values() for name in re.findall(r"tests/[\w/.]+\b", why)}

    targets = {name for why in ELSEWHERE.values() for name in re.findall(r"\bmake (\w+)", why)}
    known = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert {"nightly", "kafka"} <= targets <= set(known)


@pytest.mark.parametrize("line", at_once())
def test_a_command_that_takes_seconds_does_what_its_page_says(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code = run(shlex.split(line)[1:])

    assert code == (1 if FINDS_SOMETHING.match(line) else 0)
    assert capsys.readouterr().out


def test_commands_that_build_on_each_other_do_what_their_pages_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert [line for line in IN_ORDER if run(shlex.split(line)[1:])] == []
    assert "Every case is as it was." in (tmp_path / "diff.html").read_text()
    assert set(IN_ORDER[2:]) <= set(documented())


def test_what_is_shown_by_itself_is_documented() -> None:
    assert set(AS_SHOWN) - set(documented()) == set()


@pytest.mark.long
@pytest.mark.parametrize("line", AS_SHOWN)
def test_a_command_by_itself_does_what_its_page_says(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    code = run(shlex.split(line)[1:])

    out = capsys.readouterr().out
    assert (code, AS_SHOWN[line] in out) == ("--mutant" in line, True), out


def steps(page: str) -> list[list[str]]:
    """The commands of the session; tokens are for a cluster with TLS, as the secured page has."""
    return [words for words in session(page) if words[1] != "tokens" or page == "security.md"]


def played(page: str) -> Iterator[tuple[str, int]]:
    """Each command of the session, and how it ended; ID stands for that of the token it made."""
    for words in steps(page):
        made = read_token(TOKEN_FILE).token_id if TOKEN_FILE.exists() else "ID"
        code = run([made if word == "ID" else word for word in words[1:]])
        deadline = time.monotonic() + DEADLINE_S
        while words[1:3] == ["reassign", "verify"] and code and time.monotonic() < deadline:
            code = run(words[1:])
        yield shlex.join(words), code


@pytest.mark.long
@pytest.mark.zookeeper
@pytest.mark.parametrize("page", sorted(SESSIONS))
def test_the_session_of_a_page_goes_as_it_is_written(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ended: list[tuple[str, int]] = []
    try:
        ended.extend(played(page))
    finally:
        if not ended or ended[-1][0] != "fencepost cluster down":
            run(["cluster", "down"])

    assert [(line, code) for line, code in ended if code] == []
    assert len(ended) == len(steps(page)) > 4


LEVEL_PAGES = sorted((ROOT / "docs").glob("level_*.md"))
SEED = re.compile(r"fencepost simulate (?!.*--seeds).*--seed ")
STORY = re.compile(r"fencepost simulate --story \w+/")
SCENARIO = re.compile(
    r"fencepost chaos --story (?!rolling_upgrade)[a-z_]+( --level \d| --mutant \w+)?$"
)
"""An upgrade under load takes minutes: another test plays it."""
LED = re.compile(r"python -m fencepost\.ci\.bench\.mutants_on_processes --only \w+ --runs 0$")
"""With the rule broken, and as it should be."""
MODEL = re.compile(r"fencepost check \w+")


def of_page(page: Path, *kinds: re.Pattern[str]) -> list[str]:
    """The commands of these kinds."""
    lines = {shlex.join(words) for words in command_lines(page.read_text())}
    return sorted(line for line in lines if any(kind.match(line) for kind in kinds))


def of_levels(kind: re.Pattern[str]) -> list[str]:
    """The commands that show an attack, or that it is stopped: stories of any page."""
    pages = PAGES if kind is SCENARIO else LEVEL_PAGES
    return sorted({line for page in pages for line in of_page(page, kind)})


def is_attacked(line: str) -> bool:
    """A rule is broken, or the level is one that the story knows to fail: something is found."""
    if "--mutant" in line:
        return True
    story, level = (re.search(rf"--{name} (\w+)", line) for name in ("story", "level"))
    if story is None or level is None:
        return False
    return SCENARIOS[story[1]].expected(int(level[1])) is Verdict.FAIL


def ends_of(line: str) -> set[bool]:
    """Whether something is found: of a command that plays several runs, in some and not others."""
    if LED.match(line):
        return {True, False}
    if MODEL.match(line):
        return {MODELS[line.split()[2]].expected is ModelVerdict.VIOLATES}
    if not STORY.match(line):
        return {is_attacked(line)}
    runs = read_story(ROOT / line.split()[3]).played
    printed = [
        [text for step in run.steps for text in printed_in(step, run.run_id)] for run in runs
    ]
    return {any(text.startswith(("violated: ", "unhealed: ")) for text in run) for run in printed}


@pytest.mark.long
@pytest.mark.parametrize("line", of_levels(SEED))
def test_a_seed_of_a_level_shows_what_its_page_says(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(shlex.split(line)[1:])

    assert code == is_attacked(line)
    assert (" caught at seed " in capsys.readouterr().out) is is_attacked(line)


@pytest.mark.long
@pytest.mark.parametrize("line", of_levels(MODEL))
def test_a_model_of_a_level_ends_as_its_page_says(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(line)[1:]) == 0
    assert "1 of 1 model as expected" in capsys.readouterr().out


@pytest.mark.chaos
@pytest.mark.parametrize("line", of_levels(SCENARIO))
def test_a_scenario_ends_as_its_page_says(line: str, tmp_path: Path) -> None:
    code = run([*shlex.split(line)[1:], "--out", str(tmp_path / "run")])

    assert code == is_attacked(line)


@pytest.mark.chaos
@pytest.mark.parametrize("line", of_levels(LED))
def test_processes_led_along_a_schedule_show_what_their_page_says(
    line: str, tmp_path: Path
) -> None:
    measured = str(tmp_path / "measured.ndjson")

    assert mutants_on_processes.main([*shlex.split(line)[3:], "--results", measured]) == 0


KINDS = {"TLC": (MODEL,), "simulator": (SEED, STORY), "processes": (SCENARIO, LED)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("page", LEVEL_PAGES, ids=lambda page: page.stem)
def test_each_level_has_an_attack_and_its_end_of_each_kind(page: Path, kind: str) -> None:
    found = [ends_of(line) for line in of_page(page, *KINDS[kind])]

    assert set().union(*found) == {True, False}


@pytest.mark.parametrize("level", [3, 5])
def test_an_attack_is_played_below_its_level_and_at_it_without_a_mutant(level: int) -> None:
    page = ROOT / "docs" / f"level_{level}.md"
    played = of_page(page, SCENARIO)
    below = [line for line in played if line.endswith(f" --level {level - 1}")]

    assert [line for line in below if is_attacked(line) and line[: -len(" --level n")] in played]
