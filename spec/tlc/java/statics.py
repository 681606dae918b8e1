"""What TLC 2.15 keeps in static variables, put back before each model that a Java checks.

TLC is made for one model in a process. Strings are compared and fingerprinted by the number under
which its table knows them, so the table too is as it was: a used TLC finds the same states in the
same order as a new one, and the same counterexamples.
"""

from collections.abc import Iterator

from py4j.java_collections import JavaArray
from py4j.java_gateway import JavaClass, JavaGateway, JavaObject

KEPT_IN = (
    "tla2sany.semantic.Context",
    "tla2sany.semantic.FrontEnd",
    "tla2sany.semantic.SemanticNode",
    "tlc2.TLC",
    "tlc2.TLCGlobals",
    "tlc2.module.TLC",
    "tlc2.output.MP",
    "tlc2.tool.TLCState",
    "tlc2.tool.TLCStateMut",
    "tlc2.tool.TLCTrace",
    "tlc2.tool.liveness.LiveWorker",
    "tlc2.util.BufferedRandomAccessFile",
    "tlc2.util.FP64",
    "tlc2.value.RandomEnumerableValues",
    "tlc2.value.impl.ModelValue",
    "util.TLCRuntime",
    "util.ToolIO",
    "util.UniqueString",
)
"""Classes with static variables that a run changes. The pool of buffers is among them: TLC closes
some files twice, and two later files would share a buffer."""

THAT_NAME_STRINGS = (
    "tla2sany.configuration.Configuration",
    "tla2sany.parser.Operators",
    "tla2sany.semantic.ASTConstants",
    "tla2sany.semantic.BuiltInLevel",
    "tla2sany.semantic.Generator",
    "tla2sany.st.Location",
    "tlc2.module.Bags",
    "tlc2.module.Integers",
    "tlc2.module.Naturals",
    "tlc2.module.Sequences",
    "tlc2.tool.Action",
    "tlc2.tool.BuiltInOPs",
    "tlc2.tool.ToolGlobals",
    "tlc2.tool.impl.TLARegistry",
)
"""Classes that enter strings into the table when they are loaded: each loads once, so all load
before the table is remembered."""

_COUNTS = ("count", "length", "thresh", "tokenCnt")
"""Of the table, beside its entries."""
_STATIC, _FINAL = 8, 16
"""Of `java.lang.reflect.Modifier`."""


class Statics:
    """The static variables of a Java in which TLC has not run yet."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._gateway = gateway
        for name in THAT_NAME_STRINGS:
            self._class(name)
        self._values = [
            (field, field.get(None)) for name in KEPT_IN for field in self._variables(name)
        ]
        strings, table = self._class("util.UniqueString"), self._class("util.InternTable")
        self._number = _opened(strings.getDeclaredField("loc"))
        self._table = _opened(strings.getDeclaredField("internTbl")).get(None)
        counts = [_opened(table.getDeclaredField(name)) for name in _COUNTS]
        self._counts = [(field, field.get(self._table)) for field in counts]
        self._entries = _opened(table.getDeclaredField("table"))
        self._kept = self._copied(self._entries.get(self._table))
        self._strings = [one for one in self._kept if one is not None]

    def restore(self) -> None:
        """All variables are as they were."""
        for field, value in self._values:
            field.set(None, value)
        for field, value in self._counts:
            field.set(self._table, value)
        fresh = self._copied(self._kept)
        self._entries.set(self._table, fresh)
        self._gateway.detach(fresh)
        for string in self._strings:
            self._number.setInt(string, -1)

    def _class(self, name: str) -> JavaClass:
        return self._gateway.jvm.java.lang.Class.forName(name)

    def _variables(self, name: str) -> Iterator[JavaObject]:
        for field in self._class(name).getDeclaredFields():
            if field.getModifiers() & (_STATIC | _FINAL) == _STATIC:
                yield _opened(field)

    def _copied(self, table: JavaArray) -> JavaArray:
        length = len(table)
        copy = self._gateway.new_array(self._gateway.jvm.util.UniqueString, length)
        self._gateway.jvm.java.lang.System.arraycopy(table, 0, copy, 0, length)
        return copy


def _opened(field: JavaObject) -> JavaObject:
    field.setAccessible(True)
    return field
