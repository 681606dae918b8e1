"""`fencepost chaos`: directed fault scenarios on real processes and a real ZooKeeper."""

from typing import Annotated

import typer

from ci.commands.guided import follow_counterexamples
from ci.commands.options import (
    NEWEST_LEVEL,
    JsonOption,
    LevelOption,
    OutFolder,
    SeedOption,
    ZookeeperOption,
)
from ci.failures import UsageError as Misuse, as_usage
from ci.zookeeper_choice import EMBEDDED, check_zookeeper

ScenarioNames = Annotated[
    list[str] | None, typer.Option("--scenario", help="May be given again.  [default: all]")
]
Counterexamples = Annotated[
    list[str] | None,
    typer.Option(
        "--from-counterexample",
        metavar="MODEL|all",
        help="Lead processes along the counterexample of a model, with its hazard and without.",
    ),
]
Mutant = Annotated[
    str, typer.Option(metavar="NAME", help="A rule that all brokers break; it should be found.")
]
COLUMNS = ("name", "verdict", "faults", "acknowledged", "message")


def chaos(
    scenario: ScenarioNames = None,
    seed: SeedOption = 0,
    level: LevelOption = NEWEST_LEVEL,
    zookeeper: ZookeeperOption = EMBEDDED,
    out: OutFolder = None,
    from_counterexample: Counterexamples = None,
    mutant: Mutant = "",
    as_json: JsonOption = False,
) -> int:
    """Run fault scenarios on real processes.

    Brokers run under a real ZooKeeper, and every check judges what they did.
    """
    from ci.console import progress, say, show_json, show_table
    from ci.outcomes import of_scenarios
    from ci.runs import make_run_folder, new_run_id
    from conformance.adapter import UsageError
    from conformance.chaos import run_scenarios, settings_of
    from conformance.scenarios import find
    from conformance.verdict import exit_code

    if from_counterexample:
        if scenario or zookeeper != EMBEDDED:
            beside = "--scenario" if scenario else "--zookeeper"
            raise Misuse(f"--from-counterexample chooses what is run; leave out {beside}")
        return follow_counterexamples(from_counterexample, out, as_json=as_json)
    names = scenario or []
    with as_usage(UsageError):
        for name in names:
            find(name)
        settings = settings_of(level, mutant)
    check_zookeeper(zookeeper)
    folder = make_run_folder(new_run_id(), out)
    with progress("chaos") as advance:
        results = run_scenarios(
            names,
            settings=settings,
            seed=seed,
            out=folder,
            zookeeper=zookeeper,
            on_progress=advance,
        )
    outcome = of_scenarios(results)
    rows = outcome.detail["scenarios"]
    if as_json:
        show_json({"verdict": outcome.verdict, "run": str(folder), "scenarios": rows})
    else:
        show_table("", COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
        for row in rows:
            if row["verdict"] != "PASS":
                say(f"again: {row['reproduce']}")
        say(f"{outcome.verdict}: {outcome.summary}; traces in {folder}")
    return exit_code([row["verdict"] for row in rows])
