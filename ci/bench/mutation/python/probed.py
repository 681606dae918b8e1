"""A module in which every place that can be edited tells when the edit would decide otherwise.

The edits are those of `python_edits`. A probed module does what the module does: each condition,
comparison and operand goes through `Probes`, which notes the edits that would have given another
value there. One run shows this for all edits at once; without it, each edit needs runs of its own.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import ge, gt, le, lt
from typing import TypeVar

from fencepost.ci.bench.mutation.python.python_edits import PythonEdit

PROBES = "__probes__"
"""The name under which a probed module finds them."""
ORDERS: Mapping[str, Callable[..., object]] = {"Lt": lt, "LtE": le, "Gt": gt, "GtE": ge}
"""By the names that `ast` has for them."""
Operands = tuple[Callable[[], object], ...]
Value = TypeVar("Value")


class Probes:
    """Which edits, by number, would have decided otherwise since it was emptied."""

    def __init__(self) -> None:
        self.decisive: set[int] = set()

    def condition(self, value: object, if_true: Iterable[int], if_false: Iterable[int]) -> bool:
        """A condition, and the edits that matter when it holds and when it does not."""
        self.decisive.update(if_true if value else if_false)
        return bool(value)

    def order(self, left: object, right: object, name: str, edits: Iterable[int]) -> object:
        """An order, which says otherwise with `=` in it, or without, where both sides are equal."""
        if left == right:
            self.decisive.update(edits)
        return ORDERS[name](left, right)

    def reached(self, value: Value, edits: Iterable[int]) -> Value:
        """A value that is always another one with these edits."""
        self.decisive.update(edits)
        return value

    def replaced(self, old: object, new: Value, fields: dict[int, tuple[str, ...]]) -> Value:
        """A changed struct, and the fields that each edit leaves as they were."""
        for number, names in fields.items():
            if any(getattr(old, name) != getattr(new, name) for name in names):
                self.decisive.add(number)
        return new

    def operands(
        self,
        operands: Operands,
        edits: dict[int | None, tuple[int, ...]],
        *,
        is_and: bool,
    ) -> object:
        """`and` or `or` of the operands; the edits drop one each, or, by None, swap the two."""
        once = tuple(map(cache, operands))
        value = _chained(once, is_and=is_and)
        for dropped, numbers in edits.items():
            if self.decisive.issuperset(numbers):
                continue
            left = tuple(one for place, one in enumerate(once) if place != dropped)
            if self._differs(left, value, is_and=is_and ^ (dropped is None)):
                self.decisive.update(numbers)
        return value

    def _differs(self, operands: Operands, value: object, *, is_and: bool) -> bool:
        """Whether these have another value; what only they evaluate says nothing of other edits."""
        known, self.decisive = self.decisive, set()
        try:
            other = _chained(operands, is_and=is_and)
        except Exception:  # what the operand guards against came
            return True
        finally:
            self.decisive = known
        return bool(other != value)


def _chained(operands: Operands, *, is_and: bool) -> object:
    value: object = is_and
    for operand in operands:
        value = operand()
        if bool(value) != is_and:
            return value
    return value


def probed(text: str, edits: Iterable[tuple[int, PythonEdit]]) -> ast.Module:
    """The module of a text, probed for its edits, which come with their numbers."""
    prober = _Prober(text, edits)
    module: ast.Module = prober.visit(ast.parse(text))
    return ast.fix_missing_locations(module)


class _Prober(ast.NodeTransformer):
    """Puts calls of the probes around what edits change; the edits outside functions are left."""

    def __init__(self, text: str, edits: Iterable[tuple[int, PythonEdit]]) -> None:
        self.text = text
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.edits: dict[tuple[int, str], list[tuple[int, PythonEdit]]] = {}
        for number, edit in edits:
            if not edit.is_at_import:
                self.edits.setdefault((edit.start, edit.before), []).append((number, edit))

    def of(self, node: ast.expr, *kinds: str) -> list[tuple[int, PythonEdit]]:
        source = ast.get_source_segment(self.text, node) or ""
        start = self.lines[node.lineno - 1] + self.column(node)
        found = self.edits.get((start, source), ())
        return [(number, edit) for number, edit in found if edit.kind in kinds]

    def column(self, node: ast.expr) -> int:
        line = self.text[self.lines[node.lineno - 1] : self.lines[node.lineno]]
        return len(line.encode()[: node.col_offset].decode())

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self.tested(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.tested(node)

    def tested(self, node: ast.If | ast.IfExp) -> ast.AST:
        falls = self.of(node.test, "drop_guard", "condition_false")
        stays = self.of(node.test, "condition_true")
        self.generic_visit(node)
        if falls or stays:
            node.test = _call("condition", node.test, _numbers(falls), _numbers(stays))
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        found = [self.of(test, "drop_filter") for test in node.ifs]
        self.generic_visit(node)
        node.ifs = [
            _call("condition", test, _numbers([]), _numbers(edits)) if edits else test
            for test, edits in zip(node.ifs, found, strict=True)
        ]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        edits = self.of(node, "comparison")
        if not edits:
            return self.generic_visit(node)
        self.generic_visit(node)
        name = type(node.ops[0]).__name__
        if name not in ORDERS or _binds(node):
            return _call("reached", node, _numbers(edits))
        return _call("order", node.left, *node.comparators, ast.Constant(name), _numbers(edits))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        edits: dict[int | None, list[tuple[int, PythonEdit]]] = {
            place: self.of(operand, "drop_operand") for place, operand in enumerate(node.values)
        }
        edits[None] = self.of(node, "swap_and_or")
        is_bound = any(map(_binds, node.values))
        self.generic_visit(node)
        if not any(edits.values()):
            return node
        if is_bound:
            return _call(
                "reached", node, _numbers([one for some in edits.values() for one in some])
            )
        operands = ast.Tuple([_later(one) for one in node.values], ast.Load())
        told = _parsed(repr({place: tuple(n for n, _ in some) for place, some in edits.items()}))
        call = _call("operands", operands, told)
        call.keywords = [ast.keyword("is_and", ast.Constant(isinstance(node.op, ast.And)))]
        return call

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        edits = self.of(node, "off_by_one")
        self.generic_visit(node)
        return _call("reached", node, _numbers(edits)) if edits else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        edits = self.of(node, "drop_replace")
        shifted = [self.of(one.value, "off_by_one") for one in node.keywords]
        names = tuple(one.arg for one in node.keywords if one.arg)
        is_plain = not _binds(node) and len(node.args) == 1
        old = ast.unparse(node.args[0]) if node.args else ""
        self.generic_visit(node)
        for keyword, found in zip(node.keywords, shifted, strict=True):
            if found:
                keyword.value = _call("reached", keyword.value, _numbers(found))
        if not edits:
            return node
        if not is_plain:
            return _call("reached", node, _numbers(edits))
        told = {number: _left_out(edit, names) for number, edit in edits}
        return _call("replaced", _parsed(old), node, _parsed(repr(told)))


def _left_out(edit: PythonEdit, names: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that a changed `replace()` does not set any more."""
    after = ast.parse(edit.after, mode="eval").body
    kept = {one.arg for one in after.keywords} if isinstance(after, ast.Call) else set()
    is_whole = not edit.after.startswith("replace(")
    return names if is_whole else tuple(name for name in names if name not in kept)


def _binds(node: ast.AST) -> bool:
    """Whether it binds a name or waits, which it must do once and in its place."""
    kinds = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
    return any(isinstance(one, kinds) for one in ast.walk(node))


def _call(method: str, *arguments: ast.expr) -> ast.Call:
    probes = ast.Attribute(ast.Name(PROBES, ast.Load()), method, ast.Load())
    return ast.Call(probes, list(arguments), [])


def _numbers(edits: list[tuple[int, PythonEdit]]) -> ast.expr:
    return _parsed(repr(tuple(number for number, _ in edits)))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _later(node: ast.expr) -> ast.Lambda:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.Lambda(nothing, node)
