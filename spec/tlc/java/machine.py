"""One Java that checks model after model, and for each is as a new one.

Nearly all of what a small model costs is Java: its start, and that parser and evaluator are
interpreted until they are compiled. A Java that has checked a few models takes a tenth of that for
the next. Py4J, with which Spark is driven too, calls TLC; `Statics` makes each run the first one.
"""

import logging
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import IO, Self

from py4j.java_collections import JavaArray
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from fencepost.spec.tlc.java.process import at_most_for, start
from fencepost.spec.tlc.java.statics import Statics

logging.getLogger("py4j").addHandler(logging.NullHandler())  # a Java that was ended is no news

SERVER = ("py4j.GatewayServer", "--enable-auth", "0")
"""Prints its port and a secret, a line each. It listens on the loopback interface alone."""

END = "@!@!@END OF RUN@!@!@"


@dataclass(slots=True)
class Machine:
    """A Java that was started, which runs TLC in `folder`, where the files of a run are."""

    folder: Path
    is_reusable: bool
    """Whether TLC can be made as new; one that cannot ends with its run."""
    child: subprocess.Popen[str]
    port: int = 0
    """Of the loopback interface, once it is known."""
    time_is_up: Event = field(default_factory=Event)
    is_spent: bool = False
    """It can check no other model."""
    _gateway: JavaGateway | None = None
    _statics: Statics | None = None
    _failure: str = ""

    @classmethod
    def started(cls, command: Sequence[str], folder: Path, *, is_reusable: bool) -> Self:
        """`command` is a Java with its options, among them a class path."""
        return cls(folder, is_reusable, start((*command, *SERVER), folder))

    def run(self, arguments: Sequence[str], budget_s: float) -> Iterator[str]:
        """The lines that TLC prints, called with `arguments`; it is ended after `budget_s`."""
        self.is_spent = True
        with at_most_for(budget_s, self.child, self.time_is_up):
            yield from self._connect()
            call = Thread(target=self._call, args=(tuple(arguments),), daemon=True)
            call.start()
            yield from self._until_its_end()
            call.join()
            if self._failure:
                yield self._failure

    @property
    def _output(self) -> IO[str]:
        assert self.child.stdout is not None
        return self.child.stdout

    def _connect(self) -> Iterator[str]:
        """Passes on what a Java says that does not start."""
        if self._gateway is not None:
            return
        for line in self._output:
            if self.port:
                self._gateway = _gateway(self.port, line.strip())
                return
            if line.strip().isdigit():
                self.port = int(line)
            else:
                yield line

    def _until_its_end(self) -> Iterator[str]:
        for line in self._output:
            if line.rstrip() == END:
                self.is_spent = False
                return
            yield line
        self.child.wait()

    def _call(self, arguments: tuple[str, ...]) -> None:
        if (gateway := self._gateway) is None:
            return
        try:
            asked = _array(gateway, arguments)
            if self.is_reusable:
                self._check(gateway, asked)
            else:
                gateway.jvm.tlc2.TLC.main(asked)
        except (Py4JError, OSError) as error:
            if self.is_reusable and self.child.poll() is None:
                self._failure = f"TLC could not be called: {error}"
                self.child.kill()

    def _check(self, gateway: JavaGateway, asked: JavaArray) -> None:
        """As `tlc2.TLC.main` does it, which ends its Java."""
        if self._statics is None:
            self._statics = Statics(gateway)
        self._statics.restore()
        tlc, resolver = gateway.jvm.tlc2.TLC(), gateway.jvm.util.SimpleFilenameToStream()
        if tlc.handleParameters(asked):
            tlc.setResolver(resolver)
            tlc.process()
        for one in (tlc, asked, resolver):
            gateway.detach(one)
        output = gateway.jvm.java.lang.System.out
        output.println(END)
        output.flush()

    def close(self) -> None:
        """It does not run any more."""
        self.child.kill()
        self.child.wait()
        if self._gateway is not None:
            with suppress(Py4JError, OSError):
                self._gateway.close()


def _gateway(port: int, secret: str) -> JavaGateway:
    """Objects of Java are let go of by `detach` alone: most are needed in each run."""
    return JavaGateway(
        gateway_parameters=GatewayParameters(
            port=port, auth_token=secret, enable_memory_management=False
        )
    )


def _array(gateway: JavaGateway, arguments: tuple[str, ...]) -> JavaArray:
    array = gateway.new_array(gateway.jvm.java.lang.String, len(arguments))
    for number, argument in enumerate(arguments):
        array[number] = argument
    return array
