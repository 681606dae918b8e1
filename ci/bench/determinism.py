"""Whether a seed gives the same bytes again: `python -m fencepost.ci.bench.determinism [SEEDS]`.

Every seed is played in two processes, in which sets and dicts of strings have different orders.
Levels take turns. The exit code is 1 when a trace differs.
"""

import os
import subprocess
import sys
from contextlib import closing
from hashlib import sha256

from fencepost.ci.screens.console import progress, say
from fencepost.conformance.adapters.command_line import LEVELS
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.reports.page.words import count
from fencepost.spec.trace import encode_all

SEEDS = 10_000
HASH_SEEDS = ("1", "4000000007")
PLAY = "from fencepost.ci.bench.determinism import tell_digests; tell_digests({seeds})"


def main() -> None:
    """Compare the traces of both processes, seed by seed."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    one, other = (_player(hash_seed, seeds) for hash_seed in HASH_SEEDS)
    different: list[int] = []
    with one, other, progress("determinism") as advance:
        assert one.stdout is not None
        assert other.stdout is not None
        with closing(one.stdout), closing(other.stdout):
            for seed, digests in enumerate(zip(one.stdout, other.stdout, strict=False)):
                if len(set(digests)) > 1:
                    different.append(seed)
                    say(f"seed {seed} gave other bytes")
                advance(seed + 1, seeds, f"seed {seed}")
    if one.returncode or other.returncode:
        raise SystemExit("a process ended early; see above")
    say(f"{seeds - len(different):,} of {count(seeds, 'run')} gave the same bytes twice")
    if different:
        raise SystemExit(f"these seeds did not: {different}")


def tell_digests(seeds: int) -> None:
    """One line per seed: the digest of its trace."""
    for seed in range(seeds):
        subject = Subject(level=LEVELS[seed % len(LEVELS)])
        trace = b"".join(encode_all(subject.simulate(seed)))
        print(sha256(trace).hexdigest(), flush=True)


def _player(hash_seed: str, seeds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PLAY.format(seeds=seeds)]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
