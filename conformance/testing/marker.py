"""What `@pytest.mark.chaos(...)` says of one test; cheap to import, since collecting needs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.conformance.adapters.command_line import LEVELS
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.fault_injection.faults.catalogue import kind_of, needs_links
from fencepost.fault_injection.stories.drawn_story import PROFILE_KINDS

ALL = "all"
BUDGET_S = 12.0
"""Length of the drawn faults when no budget is given: a few of them."""
BUDGET_MAX_S = 3600.0
SEEDS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosMark:
    """One marker, read."""

    kinds: tuple[str, ...] = ()
    """The kinds that faults are drawn from; empty: none are drawn."""
    seeds: int = 1
    """How many seeds the test is run with, from the first one on."""
    budget_s: float = BUDGET_S
    """How long the drawn faults take, with the calm before and after them."""
    level: int | None = None
    """None: as the settings of the cluster say."""
    links: bool = False
    """True when connections go through the proxy, which faults such as `net.isolate` need.

    A profile of nothing else needs no such word.
    """


def read_mark(args: tuple[object, ...], given: Mapping[str, Any]) -> ChaosMark:
    """The arguments of a marker; raises `ChoiceError` with one sentence."""
    if args:
        raise ChoiceError(f"chaos takes names only, not {args[0]!r}: chaos(profile=..., seeds=...)")
    unknown = sorted(set(given) - {"profile", "seeds", "budget", "level", "links"})
    if unknown:
        raise ChoiceError(
            f"chaos has no {unknown[0]!r}; it takes profile, seeds, budget, level and links"
        )
    if "budget" in given and "profile" not in given:
        raise ChoiceError("budget is how long drawn faults take; name a profile to draw from")
    links = _links(given.get("links", False))
    kinds = kinds_of(given["profile"], has_links=links) if "profile" in given else ()
    if needs_links(kinds) and given.get("links") is False:
        raise ChoiceError(f"links=False, and all of {given['profile']!r} is done to connections")
    return ChaosMark(
        kinds=kinds,
        seeds=_seeds(given.get("seeds", 1)),
        budget_s=_budget(given.get("budget", BUDGET_S)),
        level=_level(given.get("level")),
        links=links or needs_links(kinds),
    )


def kinds_of(profile: object, *, has_links: bool = False) -> tuple[str, ...]:
    """The kinds that a profile names, ascending: `all`, an area such as `proc`, kinds, or a list.

    Without `has_links`, `all` and areas are without what is done to connections, if anything else
    is left of them. Raises `ChoiceError`.
    """
    names = [profile] if isinstance(profile, str) else profile
    if not isinstance(names, list | tuple | set | frozenset) or not names:
        raise ChoiceError(f"profile is {profile!r}; {_choices()}")
    return tuple(sorted({kind for name in names for kind in _kinds(name, has_links=has_links)}))


def _kinds(name: object, *, has_links: bool) -> list[str]:
    found = [kind for kind in PROFILE_KINDS if name in (ALL, kind, kind.partition(".")[0])]
    if not found:
        raise ChoiceError(f"unknown profile {name!r}; {_choices()}")
    calm = [kind for kind in found if not kind_of(kind).needs_links]
    return found if has_links else calm or found


def _choices() -> str:
    areas = sorted({kind.partition(".")[0] for kind in PROFILE_KINDS})
    return f"choose among {', '.join([ALL, *areas, *PROFILE_KINDS])}"


def _seeds(value: object) -> int:
    if isinstance(value, int) and 1 <= value <= SEEDS_MAX and value is not True:
        return value
    raise ChoiceError(f"seeds is {value!r}; say how many, from 1 to {SEEDS_MAX}")


def _budget(value: object) -> float:
    if isinstance(value, int | float) and 1 <= value <= BUDGET_MAX_S and value is not True:
        return float(value)
    raise ChoiceError(f"budget is {value!r}; give seconds, from 1 to {BUDGET_MAX_S:g}")


def _links(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ChoiceError(f"links is {value!r}; give True to lead connections through the proxy")


def _level(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value in LEVELS:
        return value
    raise ChoiceError(f"level {value!r} is none; choose one of {LEVELS}")
