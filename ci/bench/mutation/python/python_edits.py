"""The single changes of rules that a Python module's text allows."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fencepost.ci.bench.mutation.edit import Edit, numbered

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
"""Comparison -> its text, and that of what it becomes."""
COUNTED = ("_epoch", "_offset", "high_watermark", "_version")
"""How names of numbers end that must not be off by one."""
TIMES = ("_ms", "_ns")
"""How names of times end: nothing is promised to the unit of a clock, so that two of them are not
compared otherwise."""
EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonEdit(Edit):
    """An edit of Python."""

    is_at_import: bool
    """Whether it is in no function, so that no call tells when it is used."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is."""

    operator: str = ""
    is_in_function: bool = False


def python_edits(module: str, text: str) -> tuple[PythonEdit, ...]:
    """All changes of a module, in the order of its text; raises `SyntaxError`."""
    found = list(_Finder(module, text).visit(ast.parse(text), _Place()))
    found.sort(key=lambda edit: (edit.start, edit.kind, edit.after))
    return numbered(found)


class _Finder:
    """Walks a module and says what can be changed at each node."""

    def __init__(self, module: str, text: str) -> None:
        self.module = module
        self.text = text
        lines = text.encode().splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))
        self.bytes = text.encode()
        self.finders: dict[type[ast.AST], Callable[..., Iterator[tuple[str, ast.AST, str]]]] = {
            ast.If: self.condition,
            ast.IfExp: self.condition,
            ast.comprehension: self.filters,
            ast.BoolOp: self.operands,
            ast.Compare: self.comparison,
            ast.BinOp: self.off_by_one,
            ast.Call: self.call,
        }

    def visit(self, node: ast.AST, place: _Place) -> Iterator[PythonEdit]:
        """The edits of a node and of what is in it; asserts and annotations are left alone.

        So are numbers of a module itself: what a level puts in place are functions.
        """
        if isinstance(node, ast.Assert):
            return
        place = self.placed(node, place)
        for kind, edited, after in self.finders.get(type(node), _nothing)(node):
            if place.is_in_function or kind != "off_by_one":
                yield self.edit(kind, edited, after, place)
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "bases"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self.visit(child, place)

    def placed(self, node: ast.AST, place: _Place) -> _Place:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            return place
        operator = f"{place.operator}.{node.name}".lstrip(".")
        return _Place(operator, place.is_in_function or isinstance(node, ast.FunctionDef))

    def source(self, node: ast.AST) -> str:
        return self.bytes[slice(*self.extent(node))].decode()

    def extent(self, node: ast.AST) -> tuple[int, int]:
        """The bytes of a node."""
        assert isinstance(node, ast.expr | ast.keyword | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def edit(self, kind: str, node: ast.AST, after: str, place: _Place) -> PythonEdit:
        start, end = self.extent(node)
        return PythonEdit(
            module=self.module,
            operator=place.operator,
            kind=kind,
            start=len(self.bytes[:start].decode()),
            before=self.bytes[start:end].decode(),
            after=after,
            line=self.bytes.count(b"\n", 0, start) + 1,
            is_at_import=not place.is_in_function,
        )

    def condition(self, node: ast.If | ast.IfExp) -> Iterator[tuple[str, ast.AST, str]]:
        """A guard falls away, or stops everything."""
        is_guard = isinstance(node, ast.If) and isinstance(node.body[-1], EXITS) and not node.orelse
        yield "drop_guard" if is_guard else "condition_false", node.test, "False"
        yield "condition_true", node.test, "True"

    def filters(self, node: ast.comprehension) -> Iterator[tuple[str, ast.AST, str]]:
        for test in node.ifs:
            yield "drop_filter", test, "True"

    def operands(self, node: ast.BoolOp) -> Iterator[tuple[str, ast.AST, str]]:
        is_and = isinstance(node.op, ast.And)
        for operand in node.values:
            if not _is_literal(operand):
                yield "drop_operand", operand, "True" if is_and else "False"
        other = " or " if is_and else " and "
        parts = (f"({self.source(operand)})" for operand in node.values)
        yield "swap_and_or", node, f"({other.join(parts)})"

    def comparison(self, node: ast.Compare) -> Iterator[tuple[str, ast.AST, str]]:
        if len(node.ops) != 1:
            return
        _, other = COMPARISONS[type(node.ops[0])]
        left, right = self.operand(node.left), self.operand(node.comparators[0])
        if left.endswith(TIMES) and right.endswith(TIMES):
            return
        yield "comparison", node, f"({left} {other} {right})"

    def operand(self, node: ast.expr) -> str:
        """The source, in parentheses where it binds less than a comparison: they are no part."""
        is_loose = isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare | ast.NamedExpr)
        return f"({self.source(node)})" if is_loose else self.source(node)

    def off_by_one(self, node: ast.BinOp) -> Iterator[tuple[str, ast.AST, str]]:
        is_step = isinstance(node.right, ast.Constant) and node.right.value == 1
        if is_step and isinstance(node.op, ast.Add | ast.Sub):
            yield "off_by_one", node, f"({self.source(node.left)})"

    def call(self, node: ast.Call) -> Iterator[tuple[str, ast.AST, str]]:
        named = [keyword for keyword in node.keywords if keyword.arg is not None]
        for keyword in named:
            value = keyword.value
            if keyword.arg and keyword.arg.endswith(COUNTED) and not _is_plain(value):
                yield "off_by_one", value, f"({self.source(value)}) + 1"
        if not (isinstance(node.func, ast.Name) and node.func.id == "replace"):
            return
        if len(named) == 1 and len(node.args) == 1:
            yield "drop_replace", node, self.source(node.args[0])
        elif node.args:
            for keyword in named:
                others = [*node.args, *(one for one in node.keywords if one is not keyword)]
                inside = ", ".join(self.source(one) for one in others)
                yield "drop_replace", node, f"replace({inside})"


def _nothing(_node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    return iter(())


def _is_literal(operand: ast.expr) -> bool:
    """A default, as in `names or ()`, decides nothing."""
    return isinstance(operand, ast.Constant | ast.Tuple | ast.List | ast.Dict)


def _is_plain(value: ast.expr) -> bool:
    """Constants, and names that stand for one, have no neighbour that is meant."""
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.Name) and (value.id.isupper() or value.id.startswith("NO_"))
    )
