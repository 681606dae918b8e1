"""Hazards that the reference cannot show, and what it would have if it could.

A reason is about the core as it is: `lacks` names, as patterns, the fields of messages and of rules
that the core would have to get first, and the switch of the hazard is the name that its mutant
would have. `tests/conformance/whitebox/test_absent_rules.py` looks both up, so that a reason ends
with what it rests on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class AbsentRule:
    """Why a hazard has no mutant of the core."""

    why: str
    lacks: tuple[str, ...] = ()
    """What no message (`FetchRequest.broker_epoch`) and no rule (`Rules.fetch_error`) is called."""


_UPGRADE = AbsentRule(
    "all brokers of a run are of one level: none has the code of level 4 and the commands of level "
    "3, or meets commands that it cannot read",
    (r".*\.(.*protocol.*|.*missing_epoch.*)",),
)
_SERVES_BY_ROLE = AbsentRule(
    "a leader of the core serves by the role that it was told; no rule asks what its metadata say",
    (r"Rules\..*(leads?|serves?)_by.*",),
)
_FORWARDING = AbsentRule(
    "a broker of the core forwards nothing: that is level 5",
    (r".*\.(.*forward.*|.*principal.*|envelope)",),
)
_QUOTA = AbsentRule(
    "the core has no quota of mutations: that is level 5",
    (r".*\.(.*quota.*|.*throttle.*|.*tokens.*)",),
)

ABSENT_RULES: Mapping[str, AbsentRule] = MappingProxyType(
    {
        "H8d": AbsentRule(
            "the core writes only under the session that was elected; "
            "`tests/impl/core/controller/test_registration.py` shows that the term goes with it"
        ),
        "H7b": AbsentRule(
            "one conflict holds the batch up only while a leader changes its ISR between each "
            "reading and writing of the controller, and faults are over before liveness is judged"
        ),
        "H3": AbsentRule(
            "the fetch that tells a leader of another incarnation tells the end of its log too, so "
            "that nothing of the former one is left"
        ),
        "KIP-380.2": AbsentRule(
            "commands of the core wait unstamped for the answer before them, and what is queued "
            "for a broker that changed is dropped: no rule says when one is stamped",
            (r"Rules\..*stamps?_(when|before).*",),
        ),
        "KIP-380.3": _UPGRADE,
        "KIP-380.3b": _UPGRADE,
        "H27b": AbsentRule(
            "the core registers before it reads, and no server answers the same session from "
            "before that"
        ),
        "H27c": AbsentRule(
            "the topic's znode names the new replicas too; what is deleted at a start against that "
            "is H27"
        ),
        "H26b": AbsentRule(
            "the core obeys no command before it has registered and read: no rule orders the two",
            (r"Rules\..*(register|read)s?_(first|before).*",),
        ),
        "H26c": AbsentRule(
            "the core obeys no command before it has read, so that no newer one can be replaced",
            (r"Rules\..*(register|read)s?_(first|before).*",),
        ),
        "D6": _SERVES_BY_ROLE,
        "UMD.2": AbsentRule(
            "no line tells that a broker was not told: the simulator alone compares what all know "
            "with what is published, and shows it by `metadata_sent_once`"
        ),
        "UMD.3": AbsentRule(
            "a broker that was told nothing refuses the first change that it hears of, its own "
            "arrival, and is told all then",
            (r"Rules\..*at_arrival.*",),
        ),
        "UMD.4": AbsentRule(
            "the rules of the core are those of brokers; what a client believes is none of them",
            (r"Rules\..*client_accepts.*",),
        ),
        "H28": AbsentRule(
            "the core tells an assignment as the topic's znode has it: replicas that are not "
            "written there are told to no broker"
        ),
        "H32": AbsentRule(
            "one agent writes topics' znodes, one multi after the other, behind the fence: there "
            "is no second task"
        ),
        "H33c": AbsentRule(
            "no check knows what was asked for last; `tests/impl/core/rules/test_reassignment.py` "
            "plays it on the core"
        ),
        "H45": AbsentRule(
            "the core initialises what the topic's znode names and nothing else: no partition "
            "serves that is not named"
        ),
        **{f"KIP-590.{number}": _FORWARDING for number in range(1, 8)},
        **{f"KIP-599.{number}": _QUOTA for number in ("1", "3", "4", "4b", "5", "6")},
    }
)
"""Hazard -> why."""
