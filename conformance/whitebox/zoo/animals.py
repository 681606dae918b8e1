"""The zoo: adapters with one bad habit each, and the verdict that must come of each.

An adapter that breaks the contract is told when it is greeted, or by the probe of its verbs; one
that lies is told by a case of the suite.
"""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.adapters.choices import ADAPTER
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.remote.channels import AdapterError
from fencepost.conformance.adapters.remote.probe import OK, REFUSED, UNSUPPORTED, probe
from fencepost.conformance.suite.library import find_case
from fencepost.conformance.suite.play import Progress, SuitePlan, play_anew, settings_of_targets
from fencepost.conformance.verdict import Verdict

HERE = Path(__file__).parent
WELL_ANSWERED = (OK, UNSUPPORTED, REFUSED, "not asked")
OBSERVE, LAST = "6", "13"
"""The numbers of two calls of a probe."""


def target_of(program: str, *words: str) -> str:
    """The target of a program of the zoo, which needs no library."""
    path = str(HERE / f"{program}.py")
    return ADAPTER + shlex.join([sys.executable, "-I", "-S", path, *words])


@dataclass(frozen=True, slots=True, kw_only=True)
class Animal:
    """An adapter with a bad habit."""

    name: str
    program: str = "bad_adapter"
    words: tuple[str, ...] = ()
    case: str = ""
    """The case that it is judged by; without one, the probe."""
    verdict: Verdict = Verdict.ERROR
    says: str
    """What the verdict's sentence has to hold."""


def _spoilt(habit: str, says: str) -> Animal:
    """One that spoils an answer in the middle of a probe."""
    return Animal(name=habit, words=(habit, OBSERVE), says=says)


ANIMALS = (
    _spoilt("crashes", "ADAPTER_CRASH: the adapter ended with status 7 in observe"),
    Animal(
        name="hangs",
        words=("hangs", LAST),
        says="the adapter did not answer cluster_destroy within 5000 ms",
    ),
    _spoilt("wrong_id", "call 1006 waits for no answer; those that wait are 6"),
    _spoilt("garbage", "'starting up, please wait', which is no answer"),
    _spoilt("long_line", "a line of more than 1048576 bytes"),
    _spoilt("duplicate", "call 6 waits for no answer"),
    _spoilt("missing_field", '"ofset": 1}\': Object '),
    Animal(name="dies_after_hello", words=("crashes", "2"), says="ended with status 7 in probe"),
    Animal(name="agrees_to_all", words=("agrees_to_all",), says="did not answer unsupported"),
    Animal(
        name="supports_nothing",
        words=("",),
        case="single/offsets_are_dense",
        says="the adapter does not support cluster_create, which every adapter must",
    ),
    Animal(
        name="stores_nothing",
        program="stranger",
        words=("stores_nothing",),
        case="single/offsets_are_dense",
        verdict=Verdict.FAIL,
        says="AcknowledgedDurable: ",
    ),
    Animal(
        name="lies_about_isr",
        program="stranger",
        words=("lies_about_isr",),
        case="isr/returning_broker_rejoins",
        verdict=Verdict.FAIL,
        says="isr(",
    ),
    Animal(
        name="obeys_old_commands",
        program="stranger",
        words=("obeys_all",),
        case="epochs/stale_broker_epoch_is_refused",
        verdict=Verdict.FAIL,
        says="'STALE_BROKER_EPOCH'",
    ),
    Animal(
        name="obeys_old_shutdowns",
        program="stranger",
        words=("obeys_all",),
        case="epochs/stale_shutdown_is_refused",
        verdict=Verdict.FAIL,
        says="'STALE_BROKER_EPOCH'",
    ),
)


def liars_of(case: str) -> tuple[Animal, ...]:
    """Those that have to fail the case."""
    return tuple(one for one in ANIMALS if one.case == case and one.verdict is Verdict.FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What came of an animal."""

    name: str
    verdict: Verdict
    message: str
    is_caught: bool


def visit(
    folder: Path, animals: Sequence[Animal] = ANIMALS, on_progress: Progress | None = None
) -> list[Caught]:
    """The verdict on each; runs are below the folder."""
    found = []
    for number, animal in enumerate(animals):
        if on_progress:
            on_progress(number, len(animals), animal.name)
        verdict, message = _judged(animal, folder / animal.name)
        is_caught = verdict is animal.verdict and animal.says in message
        caught = Caught(name=animal.name, verdict=verdict, message=message, is_caught=is_caught)
        found.append(caught)
    return found


def _judged(animal: Animal, folder: Path) -> tuple[Verdict, str]:
    target = target_of(animal.program, *animal.words)
    try:
        return _played(target, animal.case, folder) if animal.case else _probed(target)
    except AdapterError as error:
        return Verdict.ERROR, str(error)


def _probed(target: str) -> tuple[Verdict, str]:
    found = probe(implementation_of(target))
    wrong = "; ".join(one for one in found.answers.values() if not one.startswith(WELL_ANSWERED))
    return (Verdict.PASS if found.is_well else Verdict.ERROR), wrong


def _played(target: str, case: str, folder: Path) -> tuple[Verdict, str]:
    plan = SuitePlan(targets=(target,), cases=(find_case(case),), select=(case,))
    (end,) = play_anew(plan, settings_of_targets(plan.targets), folder).ends
    return end.verdict, end.message
