"""What TLC says under `-tool`: messages with codes in, findings out.

Codes are stable across TLC versions and wording is not, so a verdict comes from codes only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fencepost.spec.tlc.counterexample import Counterexample, CounterexampleState
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.values import Value, parse_value

SUCCESS = 2193
PROGRESS = 2200
STATISTICS = 2199
SIMULATED = 2209
"""Progress of a simulation, printed at its end too."""
FINISHED = 2186
STATE = 2217
STUTTERING = 2218
BACK_TO_STATE = 2122
COVERED_ACTION = 2772
PARSING_FAILED = 3002
POSITIONS = 2103
BEHAVIOUR_FOLLOWS = 2121
ACTION_PROPERTY = 2112
TEMPORAL = 2116

VIOLATIONS = {
    2107: "an invariant, by an initial state",
    2108: "a property, by an initial state",
    2110: "an invariant",
    ACTION_PROPERTY: "an action property",
    2114: "absence of deadlock",
    TEMPORAL: "a temporal property",
}

UNNAMED = frozenset({VIOLATIONS[ACTION_PROPERTY], VIOLATIONS[TEMPORAL]})
"""What is said of a violation in which TLC names no operator."""

OUT_OF_MEMORY = frozenset({1001, 1002, 1003})
_MEMORY_WORDS = re.compile(
    r"java\.lang\.OutOfMemoryError|insufficient memory for the Java|enough space for object heap"
)

UNKNOWN_NAME = re.compile(r"The \w+(?: \w+)? (\w+) specified in the configuration")
"""How TLC begins when a configuration names what the module lacks."""

_ERROR_SEVERITIES = frozenset({1, 2})
_START = re.compile(r"(.*)@!@!@STARTMSG (\d+):(\d+) @!@!@$")
_END = re.compile(r"@!@!@ENDMSG (\d+) @!@!@$")
_VIOLATED = re.compile(
    r"(?:Invariant|[Pp]roperty) (\w+) (?:is|was) violated|Temporal properties (\w+) and "
)
_STATISTICS = re.compile(
    r"([\d,]+) states generated.*?, ([\d,]+) distinct states found.*?, ([\d,]+) states left"
)
_STATES_OF_SIMULATION = re.compile(r"([\d,]+) states (?:generated|checked)")
_STATE_HEAD = re.compile(r"(\d+): <(\w+)(.*?)(?:of module (\w+))?>\s*\n", re.DOTALL)
_VARIABLE = re.compile(r"^(?:/\\ )?(\w+) = ", re.MULTILINE)
_LOOP = re.compile(r"(\d+): ")
_COVERED = re.compile(r"<(\w+) .*of module (\w+)(?: \([\d ]+\))?>: \d+:(\d+)$")
"""An action that begins with LET has the position of its body in brackets behind the module."""
_POSITION = re.compile(
    r"[Ll]ine (\d+), col(?:umn)? \d+(?: to line \d+, col(?:umn)? \d+)?(?: (?:of module|in) (\w+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlcMessage:
    """One message; text that TLC printed outside of any has code 0."""

    code: int
    severity: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How far a search has come."""

    generated: int = 0
    distinct: int = 0
    queued: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TlcFinding:
    """What one run of TLC found, before it is compared with what was expected."""

    verdict: ModelVerdict
    violated: str | None = None
    counts: Counts = Counts()
    counterexample: Counterexample | None = None
    error: str = ""
    """One sentence with module and line, when the verdict is `error`."""
    is_out_of_memory: bool = False
    taken: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Module and action -> steps, empty unless coverage was asked for; of a simulation, the
    behaviours in which it is taken, always."""


@dataclass(slots=True)
class MessageReader:
    """Cuts lines into messages; a message inside another belongs to both."""

    open: list[tuple[int, int, list[str]]] = field(default_factory=list)

    def feed(self, line: str) -> Iterator[TlcMessage]:
        """Yield what `line` completes."""
        line = line.rstrip("\r\n")
        if start := _START.match(line):
            self._append(start[1])
            self.open.append((int(start[2]), int(start[3]), []))
        elif _END.match(line) and self.open:
            code, severity, lines = self.open.pop()
            text = "\n".join(lines)
            self._append(text)
            yield TlcMessage(code=code, severity=severity, text=text)
        elif self.open:
            self._append(line)
        else:
            yield TlcMessage(code=0, severity=0, text=line)

    def _append(self, text: str) -> None:
        if self.open and text:
            self.open[-1][2].append(text)


def read_messages(lines: Iterable[str]) -> Iterator[TlcMessage]:
    """All messages of an output, in order of their ends."""
    reader = MessageReader()
    for line in lines:
        yield from reader.feed(line)


def read_counts(text: str) -> Counts | None:
    """The counts in a progress or statistics message, if they are there."""
    found = _STATISTICS.search(text)
    if found is None:
        states = _STATES_OF_SIMULATION.search(text)
        return Counts(generated=int(states[1].replace(",", ""))) if states else None
    generated, distinct, queued = (int(number.replace(",", "")) for number in found.groups())
    return Counts(generated=generated, distinct=distinct, queued=queued)


def conclude(messages: Iterable[TlcMessage], *, timed_out: bool) -> TlcFinding:
    """The finding of a run that has ended, by itself or because its time was up."""
    heard = list(messages)
    counts = _last_counts(heard)
    violation = next((m for m in heard if m.code in VIOLATIONS), None)
    if violation is not None:
        return TlcFinding(
            verdict=ModelVerdict.VIOLATES,
            violated=_violated_name(violation),
            counts=counts,
            counterexample=_counterexample(heard, violation),
        )
    if _is_out_of_memory(heard):
        return TlcFinding(
            verdict=ModelVerdict.ERROR, counts=counts, error="out of memory", is_out_of_memory=True
        )
    if error := _error_sentence(heard):
        return TlcFinding(verdict=ModelVerdict.ERROR, counts=counts, error=error)
    if timed_out:
        return TlcFinding(verdict=ModelVerdict.NOT_EXHAUSTED, counts=counts)
    if any(m.code == SUCCESS for m in heard):
        return TlcFinding(verdict=ModelVerdict.HOLDS, counts=counts, taken=_taken(heard))
    if {SIMULATED, FINISHED} <= {m.code for m in heard}:
        return TlcFinding(verdict=ModelVerdict.NOT_VIOLATED, counts=counts)
    return TlcFinding(
        verdict=ModelVerdict.ERROR, counts=counts, error=f"TLC gave no verdict{_last_words(heard)}"
    )


def _is_out_of_memory(heard: list[TlcMessage]) -> bool:
    return any(
        message.code in OUT_OF_MEMORY or _MEMORY_WORDS.search(message.text) for message in heard
    )


def _taken(heard: list[TlcMessage]) -> dict[tuple[str, str], int]:
    """How often each action was taken; TLC repeats the list as it goes, with larger numbers."""
    found = (_COVERED.match(m.text.strip()) for m in heard if m.code == COVERED_ACTION)
    taken: dict[tuple[str, str], int] = {}
    for match in filter(None, found):
        action = (match[2], match[1])
        taken[action] = max(taken.get(action, 0), int(match[3]))
    return taken


def _last_counts(heard: list[TlcMessage]) -> Counts:
    told = {PROGRESS, STATISTICS, SIMULATED}
    found = [read_counts(m.text) for m in heard if m.code in told]
    return next((counts for counts in reversed(found) if counts), Counts())


def _violated_name(violation: TlcMessage) -> str:
    found = _VIOLATED.search(violation.text)
    return found[1] or found[2] if found else VIOLATIONS[violation.code]


def _counterexample(heard: list[TlcMessage], violation: TlcMessage) -> Counterexample:
    states = tuple(_state(m.text) for m in heard if m.code == STATE)
    if states:
        return Counterexample(states=states, back_to=_back_to(heard))
    initial = "1: <Initial predicate>\n" + violation.text.partition("\n")[2]
    return Counterexample(states=(_state(initial),))


def _back_to(heard: list[TlcMessage]) -> int | None:
    """The state that a behaviour returns to; the last one when nothing happens any more."""
    for message in heard:
        if (loop := _LOOP.match(message.text)) is None:
            continue
        if message.code == BACK_TO_STATE:
            return int(loop[1])
        if message.code == STUTTERING:
            return int(loop[1]) - 1
    return None


def _state(text: str) -> CounterexampleState:
    head = _STATE_HEAD.match(text)
    if head is None:
        raise ValueError(f"TLC printed a state without a head: {text[:80]!r}")
    return CounterexampleState(
        number=int(head[1]),
        action="Init" if head[2] == "Initial" else head[2],
        module=head[4] or "",
        values=read_state(text[head.end() :]),
    )


def read_state(text: str) -> dict[str, Value]:
    """The values of a state as TLC prints it, a variable on a line or several."""
    starts = list(_VARIABLE.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return {
        match[1]: parse_value(text[match.end() : end])
        for match, end in zip(starts, ends, strict=True)
    }


def _error_sentence(heard: list[TlcMessage]) -> str:
    errors = [m for m in heard if m.severity in _ERROR_SEVERITIES and m.code != BEHAVIOUR_FOLLOWS]
    if not errors:
        return ""
    if any(m.code == PARSING_FAILED for m in errors):
        return _parse_error([m.text for m in heard if m.code == 0])
    positions = [m.text for m in errors if m.code == POSITIONS]
    where = _innermost(positions[0]) if positions else ""
    return where + _reason(errors[0].text)


def _innermost(text: str) -> str:
    found = _POSITION.findall(text)
    return f"module {found[-1][1]}, line {found[-1][0]}: " if found else ""


def _reason(text: str) -> str:
    """The last sentence: TLC puts general remarks first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and "unexpected exception" in lines[0]:
        lines = lines[-1:]
    return " ".join(lines) or "TLC failed without a word"


def _parse_error(loose: list[str]) -> str:
    """Of SANY's free text: the sentence after the headline, its module and line."""
    text = "\n".join(loose)
    _, _, told = text.partition("***Parse Error***")
    if not told:
        _, _, told = text.partition("*** Errors:")
        told = told.partition("\n")[2]
    module = re.search(r"(?:of module|Could not parse module|In module) (\w+)", told)
    line = re.search(r"line (\d+)", told)
    sentences = [s.strip() for s in told.splitlines() if s.strip()]
    reason = next((s for s in sentences if not _POSITION.match(s)), "the module does not parse")
    where = f"module {module[1] if module else '?'}, line {line[1] if line else '?'}"
    return f"{where}: {reason}"


def _last_words(heard: list[TlcMessage]) -> str:
    words = [m.text.strip() for m in heard if m.code == 0 and m.text.strip()]
    return f"; its last words: {words[-1]}" if words else ""
