"""The single changes of the protocol that a module's text allows.

Left alone are what the models add to the protocol (history variables, bounds) and the branches of
switches that are off, which are mutants that were foreseen.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fencepost.ci.bench.mutation.edit import Edit, numbered
from fencepost.ci.bench.mutation.tla.modules import Definition, TlaModules
from fencepost.ci.bench.mutation.tla.syntax import Expression
from fencepost.ci.bench.mutation.tla.tokens import line_of

BOUNDS = frozenset({"budget", "Limits"})
COMPARISONS = {
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "=": ("#",),
    "#": ("=",),
    "\\in": ("\\notin",),
    "\\notin": ("\\in",),
}
"""Comparison -> what it becomes."""
ORDERS = frozenset({"<", "<=", ">", ">="})
SETS = {"\\cup": "\\cap", "\\cap": "\\cup"}


@dataclass(frozen=True, slots=True)
class TextChange:
    """A piece of the text and what takes its place."""

    kind: str
    start: int
    end: int
    after: str


def edits_of(modules: TlaModules, roots: Iterable[Definition]) -> tuple[Edit, ...]:
    """All changes of what the roots reach, in the order of modules and texts."""
    found = [
        edit
        for module, name in sorted(reached(modules, roots))
        for edit in _edits_in(modules, module, name)
    ]
    return numbered(sorted(found, key=lambda edit: (edit.module, edit.start, edit.kind)))


def _edits_in(modules: TlaModules, module: str, name: str) -> Iterator[Edit]:
    text = modules.modules[module].text
    for change in _Finder(modules, module).changes(modules.body((module, name))):
        yield Edit(
            module=module,
            operator=name,
            kind=change.kind,
            start=change.start,
            before=text[change.start : change.end],
            after=change.after,
            line=line_of(text, change.start),
        )


def reached(
    modules: TlaModules,
    roots: Iterable[Definition],
    replaced: Mapping[Definition, Definition] | None = None,
) -> frozenset[Definition]:
    """The definitions that are used on the way, except for history's sake.

    `replaced` has what mutants put in the place of a definition.
    """
    instead = replaced or {}
    seen: set[Definition] = set()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        one = instead.get(one, one)
        if one in seen:
            continue
        seen.add(one)
        parts = _Finder(modules, one[0]).protocol(modules.body(one))
        waiting += modules.named_in(one[0], parts)
    return frozenset(seen)


@dataclass(frozen=True, slots=True)
class _Finder:
    modules: TlaModules
    module: str

    @property
    def text(self) -> str:
        return self.modules.modules[self.module].text

    def protocol(self, expression: Expression) -> Iterator[Expression]:
        """The expression and what is in it, without history and bounds."""
        if self.is_beside(expression):
            return
        yield expression
        for part in expression.parts:
            yield from self.protocol(part)

    def is_beside(self, expression: Expression) -> bool:
        """Whether it only says what happens to history, or to the bounds of a model."""
        if expression.kind == "infix" and expression.symbol == "=":
            left = expression.parts[0]
            if left.kind == "group" and left.symbol == "'":
                return left.parts[0].symbol in self.modules.history | BOUNDS
        if expression.kind == "prefix" and expression.symbol == "UNCHANGED":
            return True
        if expression.kind in {"name", "apply"}:
            return self.is_history(_without_arguments(expression))
        return expression.kind == "if" and self.is_history(expression)

    def is_history(self, expression: Expression) -> bool:
        """Whether it says the next values of nothing but history and bounds."""
        assigned = self.modules.assigned_by(self.module, expression)
        return bool(assigned) and assigned <= self.modules.history | BOUNDS

    def changes(self, body: Expression) -> Iterator[TextChange]:
        """All changes of a definition."""
        choices = {part.parts[0] for part in body.walk() if self.is_choice(part)}
        for part in self.protocol(body):
            if part in choices:
                continue
            if self.mentions(part, BOUNDS):
                yield from self.inner_only(part)
            else:
                yield from self.of_any(part)

    def is_choice(self, part: Expression) -> bool:
        """Whether it is the smaller or the larger of two, where it is no matter which of equals."""
        if part.kind != "if" or part.parts[0].symbol not in ORDERS:
            return False
        told = [inner.text_in(self.text) for inner in (*part.parts[0].parts, *part.parts[1:])]
        return set(told[:2]) == set(told[2:])

    def inner_only(self, part: Expression) -> Iterator[TextChange]:
        """Of a list in which one item is about bounds, the other items can go."""
        if _is_conjunction(part):
            yield from self.conjuncts(part)

    def of_any(self, part: Expression) -> Iterator[TextChange]:
        if _is_conjunction(part):
            yield from self.conjuncts(part)
        if part.kind == "infix":
            yield from self.infix(part)
        if part.kind == "except":
            yield from self.updates(part)
        if part.kind == "if":
            yield from self.conditions(part)

    def conjuncts(self, part: Expression) -> Iterator[TextChange]:
        """A guard falls away."""
        for item in part.parts:
            if _is_conjunction(item) or self.mentions(item, BOUNDS):
                continue
            if not self.modules.assigned_by(self.module, item):
                yield TextChange("drop_conjunct", item.start, item.end, "TRUE")

    def infix(self, part: Expression) -> Iterator[TextChange]:
        left, right = part.parts
        if part.symbol == "=" and self.modules.assigned_by(self.module, left):
            name = left.text_in(self.text).rstrip("'")
            if left.kind == "group" and left.symbol == "'":
                yield TextChange("unchanged", part.start, part.end, f"UNCHANGED {name}")
            return
        middle = self.text[left.end : right.start]
        for other in COMPARISONS.get(part.symbol, ()):
            after = middle.replace(part.symbol, other)
            yield TextChange("comparison", left.start, right.end, self.joined(left, after, right))
        if part.symbol in SETS:
            after = middle.replace(part.symbol, SETS[part.symbol])
            yield TextChange(
                "set_operation", left.start, right.end, self.joined(left, after, right)
            )
        if part.symbol in {*SETS, "\\"}:
            yield TextChange(
                "set_operation_dropped", left.start, right.end, left.text_in(self.text)
            )

    def joined(self, left: Expression, middle: str, right: Expression) -> str:
        return left.text_in(self.text) + middle + right.text_in(self.text)

    def updates(self, part: Expression) -> Iterator[TextChange]:
        """An update of an EXCEPT falls away; of a single one, the whole EXCEPT."""
        function, *updates = part.parts
        if len(updates) == 1:
            yield TextChange("drop_update", part.start, part.end, function.text_in(self.text))
            return
        for place, update in enumerate(updates):
            if place + 1 < len(updates):
                yield TextChange("drop_update", update.start, updates[place + 1].start, "")
            else:
                yield TextChange("drop_update", updates[place - 1].end, update.end, "")

    def conditions(self, part: Expression) -> Iterator[TextChange]:
        condition = part.parts[0]
        told = condition.text_in(self.text)
        if "\n" not in told:
            yield TextChange("negate_condition", condition.start, condition.end, f"~({told})")
        yield TextChange("condition_true", condition.start, condition.end, "TRUE")
        yield TextChange("condition_false", condition.start, condition.end, "FALSE")

    def mentions(self, part: Expression, names: frozenset[str]) -> bool:
        """Whether it names one of these, itself or by an operator that is nothing else."""
        return any(
            inner.kind in {"name", "apply"}
            and (inner.symbol in names or inner.symbol.split("!")[-1] == "Spend")
            for inner in part.walk()
        )


def _is_conjunction(expression: Expression) -> bool:
    return expression.kind in {"list", "infix"} and expression.symbol == "/\\"


def _without_arguments(expression: Expression) -> Expression:
    return Expression("name", expression.symbol, expression.start, expression.end)
