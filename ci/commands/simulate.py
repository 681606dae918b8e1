"""`fencepost simulate`: seeded schedules of the whole protocol in virtual time."""

from typing import Annotated

import typer

from ci.commands.options import NEWEST_LEVEL, JsonOption, LevelOption
from ci.tiers import EFFORT, Tier

SeedCount = Annotated[int, typer.Option(min=1, help="How many seeds, from 0 on.")]
OneSeed = Annotated[int | None, typer.Option(min=0, help="Only this seed.")]
MutantName = Annotated[str | None, typer.Option(help="One deliberately wrong rule.")]


def simulate(
    seeds: SeedCount = 200,
    seed: OneSeed = None,
    level: LevelOption = NEWEST_LEVEL,
    mutant: MutantName = None,
    as_json: JsonOption = False,
) -> int:
    """Run the protocol in virtual time.

    Each seed is one schedule of messages and faults, and every check judges its trace.
    """
    from ci.console import progress, say, show_json, show_table
    from ci.outcomes import of_seeds
    from conformance.simulate import run_seeds
    from conformance.verdict import exit_code

    chosen = range(seeds) if seed is None else range(seed, seed + 1)
    with progress("simulate") as advance:
        result = run_seeds(
            chosen,
            level=level,
            mutant=mutant,
            jobs=EFFORT[Tier.QUICK].workers,
            on_progress=advance,
        )
    outcome = of_seeds(result)
    if as_json:
        show_json({"verdict": outcome.verdict, **outcome.figures, **outcome.detail})
        return exit_code([outcome.verdict])
    columns = ("seed", "invariant", "message", "reproduce")
    violations = outcome.detail["violations"]
    if violations:
        show_table("violations", columns, [[found[key] for key in columns] for found in violations])
    say(f"{outcome.verdict}: {outcome.summary}")
    return exit_code([outcome.verdict])
