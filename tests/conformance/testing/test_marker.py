"""What the marker `chaos` takes, and the one sentence that refuses the rest."""

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.testing.marker import BUDGET_S, ChaosMark, kinds_of, read_mark
from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.stories.drawn_story import PROFILE_KINDS


def test_bare_marker_draws_nothing_and_runs_once() -> None:
    assert read_mark((), {}) == ChaosMark(kinds=(), seeds=1, budget_s=BUDGET_S, level=None)


def test_marker_says_what_is_drawn_how_often_and_how_long() -> None:
    given = {"profile": "zk.expire", "seeds": 3, "budget": 20, "level": 0}

    assert read_mark((), given) == ChaosMark(kinds=("zk.expire",), seeds=3, budget_s=20.0, level=0)


@pytest.mark.parametrize(
    ("profile", "kinds"),
    [
        ("all", tuple(kind for kind in PROFILE_KINDS if not kind_of(kind).needs_links)),
        ("disk", ("disk.slow", "disk.stale_checkpoint")),
        ("zk", ("zk.expire",)),
        (["zk.expire", "disk"], ("disk.slow", "disk.stale_checkpoint", "zk.expire")),
    ],
)
def test_profile_names_areas_and_kinds(profile: object, kinds: tuple[str, ...]) -> None:
    assert kinds_of(profile) == kinds


def test_what_is_done_to_connections_is_drawn_where_there_is_a_proxy() -> None:
    assert kinds_of("all", has_links=True) == PROFILE_KINDS
    assert {"zk.expire", "zk.cut"} < set(read_mark((), {"profile": "zk", "links": True}).kinds)
    assert read_mark((), {"profile": "net"}).links
    assert read_mark((), {"profile": "zk.cut"}).links
    assert not read_mark((), {"profile": "all"}).links


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"profile": "earthquake"}, "unknown profile 'earthquake'; choose among all, admin, cl"),
        ({"profile": "net", "links": False}, "links=False, and all of 'net' is done to connect"),
        ({"profile": []}, r"profile is \[\]; choose among all, "),
        ({"profile": 3}, "profile is 3; choose among all, "),
        ({"profile": "all", "seeds": 0}, "seeds is 0; say how many, from 1 to "),
        ({"seeds": True}, "seeds is True; say how many, from 1 to "),
        ({"seeds": "3"}, "seeds is '3'; say how many, from 1 to "),
        ({"profile": "all", "budget": 0.5}, "budget is 0.5; give seconds, from 1 to 3600"),
        ({"profile": "all", "budget": "1m"}, "budget is '1m'; give seconds, from 1 to 3600"),
        ({"budget": 5}, "budget is how long drawn faults take; name a profile to draw from"),
        ({"level": 7}, r"level 7 is none; choose one of \(0, 1, 2, 3, 4, 5\)"),
        ({"level": "2"}, r"level '2' is none; choose one of \(0, 1, 2, 3, 4, 5\)"),
        ({"profil": "all"}, "chaos has no 'profil'; it takes profile, seeds, budget, level and"),
        ({"links": 1}, "links is 1; give True to lead connections through the proxy"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(
    given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ChoiceError, match=sentence):
        read_mark((), given)


def test_values_without_a_name_are_refused() -> None:
    with pytest.raises(ChoiceError, match="chaos takes names only, not 'all'"):
        read_mark(("all",), {})
