"""Hazards that the reference does not show on processes, and what it would have if it did.

A reason is about the project as it is: `lacks` names, as patterns, the fields of messages and of
rules that the core would have to get first, or the steps that stories would. The switch of the
hazard is the name that its mutant would have; `mutants` names those that there are. Where nothing
is lacking, `rests_on` names the rules that leave the hazard no place, or what a reason tells of.
`tests/conformance/whitebox/test_absent_rules.py` looks all of them up, so that a reason ends with
what it rests on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class AbsentRule:
    """Why a hazard is not led on processes."""

    why: str
    lacks: tuple[str, ...] = ()
    """What no message (`FetchRequest.broker_epoch`), no rule (`Rules.fetch_error`), no step of a
    story (`Step.create_topic`), no fault and parameter of one (`Fault.proc.rolling.code_level`),
    and no move of a stepped run and field of one (`Move.lose_power`) is called."""
    mutants: tuple[str, ...] = ()
    """Mutants of the core with the same rule broken; random runs of the simulator show them."""
    rests_on: tuple[str, ...] = ()
    """What there is instead, called as in `lacks`: without it the reason is none."""


_SERVES_BY_ROLE = AbsentRule(
    "a leader of the core serves by the role that it was told; no rule asks what its metadata say",
    (r"Rules\..*(leads?|serves?)_by.*",),
)
_ADMISSION = AbsentRule(
    "no rule says what is admitted as one, or that what is refused or old costs another price; "
    "`tests/impl/core/admin/test_mutation_quota.py` plays it on the core",
    (r"Rules\..*(refusal_cost|admitted_as_one).*",),
)

ABSENT_RULES: Mapping[str, AbsentRule] = MappingProxyType(
    {
        "H8d": AbsentRule(
            "the core writes only under the session that was elected; "
            "`tests/impl/core/controller/test_registration.py` shows that the term goes with it",
            rests_on=("Rules.controller_fence", "Rules.epoch_stands"),
        ),
        "H7b": AbsentRule(
            "one conflict holds the batch up only while a leader changes its ISR between each "
            "reading and writing of the controller, and faults are over before liveness is judged",
            rests_on=("Rules.sort_out_refusal",),
        ),
        "H3": AbsentRule(
            "the fetch that tells a leader of another incarnation tells the end of its log too, so "
            "that nothing of the former one is left",
            rests_on=(
                "Rules.meet_follower",
                "FetchRequest.broker_epoch",
                "FetchRequest.fetch_offset",
            ),
        ),
        "KIP-380.2": AbsentRule(
            "commands of the core wait unstamped for the answer before them, and what is queued "
            "for a broker that changed is dropped: no rule says when one is stamped",
            (r"Rules\..*stamps?_(when|before).*",),
        ),
        "H27b": AbsentRule(
            "the core registers before it reads, and no server answers the same session from "
            "before that",
            rests_on=("Rules.registration_znode", "Rules.floor_of"),
        ),
        "H27c": AbsentRule(
            "the topic's znode names the new replicas too; what is deleted at a start against that "
            "is H27",
            rests_on=("Rules.replicas_in", "Rules.is_kept", "TopicDocument.adding"),
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
            "written there are told to no broker",
            rests_on=("Rules.replicas_in", "TopicDocument.adding"),
        ),
        "H32": AbsentRule(
            "one agent writes topics' znodes, one multi after the other, behind the fence: there "
            "is no second task",
            rests_on=("Rules.changing_topics", "Rules.controller_fence"),
        ),
        "H33c": AbsentRule(
            "no check knows what was asked for last; `tests/impl/core/rules/test_reassignment.py` "
            "plays it on the core",
            rests_on=("Rules.followed_request", "Rules.written_instead"),
        ),
        "H45": AbsentRule(
            "the core initialises what the topic's znode names and nothing else: no partition "
            "serves that is not named",
            rests_on=("Rules.is_uninitialised", "Rules.init_leader"),
        ),
        "KIP-590.6": AbsentRule(
            "a client asks again or does not, which is no rule of the core; a story shows "
            "`apply_again`, with which a change is made each time that it comes",
            (r"Rules\..*ask_again.*",),
            ("apply_again",),
        ),
        "KIP-599.3": _ADMISSION,
        "KIP-599.4": _ADMISSION,
        "KIP-599.5": _ADMISSION,
        "KIP-599.6": AbsentRule(
            "the core is told one time, that of a monotonic clock: no rule chooses another",
            (r"Rules\..*clock.*",),
        ),
    }
)
"""Hazard -> why."""
