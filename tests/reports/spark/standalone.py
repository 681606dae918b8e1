"""A standalone Spark cluster of processes of this machine, from the jars that PySpark carries.

Its executors are as on another machine: their Python has the packages of PyPI and no checkout, and
`hidden` is a folder that is another, empty one for them.
"""

import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pyspark
from pyspark import cloudpickle

import fencepost
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.ports import free_ports
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.reports.spark.seeds import on_spark
from fencepost.spec.java import spark_java_home

SPARK_HOME = Path(pyspark.__file__).parent
HOST = "127.0.0.1"
START_DEADLINE_S = 300.0
POLL_S = 0.05
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
DEFAULTS = f"""\
spark.executor.memory 512m
spark.executor.extraJavaOptions {SMALL}
spark.network.timeout 600s
"""
"""An executor that was stopped is not taken for dead before the test kills it."""
IN_ANOTHER_PLACE = 'mount -t tmpfs none "$0" && exec "$@"'


class ClusterError(RuntimeError):
    """The cluster did not come to be; with the end of the log that tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandaloneCluster:
    """A master and its workers, each with one core."""

    supervisor: Supervisor
    master: str
    workers: tuple[ManagedProcess, ...]
    hidden: Path
    """A folder that the driver sees and no executor does."""
    work: Path
    """Below it, executors have their working directories."""
    environment: dict[str, str]
    """What a driver is told by its environment."""


@contextmanager
def standalone_cluster(folder: Path, *, workers: int) -> Iterator[StandaloneCluster]:
    """The cluster runs, and none of its processes when this ends; raises `ClusterError`."""
    hidden, work, conf, local = (folder / name for name in ("hidden", "work", "conf", "local"))
    for path in (hidden, work, conf, local):
        path.mkdir()
    (conf / "spark-defaults.conf").write_text(DEFAULTS)
    environment = {
        "JAVA_HOME": str(spark_java_home(folder / "java")),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL,
        "PYSPARK_PYTHON": str(_python_without_checkout(folder / "python")),
    }
    port, *ports = free_ports(1 + workers)
    master = f"spark://{HOST}:{port}"
    with Supervisor(folder / "processes", "spark-cluster") as supervisor:
        of_master = ("--host", HOST, "--port", str(port), "--webui-port", "0")
        first = supervisor.start("master", [*_daemon("master.Master"), *of_master], env=environment)
        _await(first, "I have been elected leader")
        found = []
        for number, own in enumerate(ports, start=1):
            place = ("--host", HOST, "--port", str(own), "--webui-port", "0")
            size = ("--cores", "1", "--memory", "1g", "--work-dir", work / f"{number}", master)
            command = [*_hiding(hidden), *_daemon("worker.Worker"), *place, *size]
            own_environment = environment | {"SPARK_LOCAL_DIRS": str(local)}
            found.append(supervisor.start(f"worker-{number}", command, env=own_environment))
        for worker in found:
            _await(worker, "Successfully registered with master")
        yield StandaloneCluster(
            supervisor=supervisor,
            master=master,
            workers=tuple(found),
            hidden=hidden,
            work=work,
            environment=environment,
        )


def places_of_package(master: str, *, tasks: int) -> list[Path]:
    """Where each task finds a file of the package that is no module."""
    with with_the_task(sys.modules[__name__]):
        return list(on_spark(master)(_place_of_data, range(tasks), jobs=1, chunk=1))


@contextmanager
def with_the_task(module: ModuleType) -> Iterator[None]:
    """Executors have no tests: what is of this module goes with the task."""
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _place_of_data(_: int) -> Path:
    return (Path(fencepost.__file__).parent / "ci" / "budgets.toml").resolve(strict=True)


@contextmanager
def connect_server(cluster: StandaloneCluster) -> Iterator[str]:
    """The address of a Spark Connect server, which has all cores of the cluster until this ends."""
    (port,) = free_ports(1)
    of_connect = ("address", HOST), ("port", str(port))
    settings = [f"--conf=spark.connect.grpc.binding.{name}={value}" for name, value in of_connect]
    command: list[str | Path] = [
        SPARK_HOME / "bin" / "spark-submit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", cluster.master, "--conf=spark.ui.enabled=false", *settings, "spark-internal"),
    ]
    environment = cluster.environment | {"SPARK_DAEMON_MEMORY": "512m"}
    server = cluster.supervisor.start("connect", command, env=environment)
    try:
        _await(server, "Spark Connect server started")
        yield f"sc://{HOST}:{port}"
    finally:
        server.kill()


def _daemon(name: str) -> list[str | Path]:
    return [SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}"]


def _hiding(folder: Path) -> list[str | Path]:
    """Before a command: it runs where `folder` is an empty one of its own."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", IN_ANOTHER_PLACE, folder]


def _python_without_checkout(script: Path) -> Path:
    """Runs our Python with what is installed; `-S` leaves out the link to the checkout."""
    packages = shlex.quote(sysconfig.get_path("purelib"))
    script.write_text(
        f"#!/bin/sh\nexport PYTHONPATH=$PYTHONPATH:{packages}\n"
        f'exec {shlex.quote(sys.executable)} -S "$@"\n'
    )
    script.chmod(0o755)
    return script


def _await(process: ManagedProcess, told: str) -> None:
    """Its log says so."""
    deadline = time.monotonic() + START_DEADLINE_S
    while told not in process.log_tail(lines=200):
        if not process.is_running or time.monotonic() > deadline:
            state = "runs" if process.is_running else "has ended"
            raise ClusterError(
                f"{process.name} {state} and never said {told!r}:\n{process.log_tail()}"
            )
        process.ended_within(POLL_S)


def why_no_hidden_folder(folder: Path) -> str:
    """Why this machine cannot hide a folder from a process; empty where it can."""
    try:
        tried = subprocess.run(
            [*_hiding(folder), "true"], stderr=subprocess.PIPE, text=True, check=False
        )
    except FileNotFoundError:
        return "there is no unshare"
    return tried.stderr.strip() if tried.returncode else ""
