"""`fencepost gate` with a tier quick that tries less: `python -m tests.small_gate [OPTION]...`.

All stages run as ever, on the seeds and scenarios that tests of the gate look at.
"""

from dataclasses import replace

from fencepost.ci.__main__ import main
from fencepost.ci.gate.tiers import EFFORT
from fencepost.spec.tlc.models import Tier

SEEDS = 15
"""At level 0 some of them violate something."""
SCENARIOS = ("quiet", "truncation_loss")

if __name__ == "__main__":
    EFFORT[Tier.QUICK] = replace(EFFORT[Tier.QUICK], seeds=SEEDS, scenarios=SCENARIOS)
    main()
