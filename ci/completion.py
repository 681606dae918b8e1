"""What a shell completes a word to, by what the word names; the names are found when it asks."""

from collections.abc import Callable, Iterable, Mapping


def completing(*sources: str) -> Callable[[str], list[str]]:
    """Completes to the names of `sources` that begin so, in whatever case; "" is any name."""

    def begun_with(incomplete: str) -> list[str]:
        known = (name for source in sources for name in SOURCES[source]())
        wanted = incomplete.casefold()
        return [name for name in dict.fromkeys(known) if name.casefold().startswith(wanted)]

    return begun_with


def _explained(kind: str) -> Callable[[], Iterable[str]]:
    def found() -> Iterable[str]:
        from fencepost.ci.screens.explanations import NameKind, names

        return names()[NameKind(kind)]

    return found


def _all_explained() -> Iterable[str]:
    from fencepost.ci.screens.explanations import all_names

    return all_names()


def _labs() -> Iterable[str]:
    from fencepost.conformance.whitebox.labs import ORDER

    return ORDER


def _schedules() -> Iterable[str]:
    from fencepost.conformance.whitebox.simulate import load

    return load().replayed()


def _played_stories() -> Iterable[str]:
    from fencepost.conformance.scenarios import SCENARIOS

    return [name for name, one in SCENARIOS.items() if one.draw is None]


def _proved() -> Iterable[str]:
    from fencepost.spec.proofs.modules import MODULES

    return [module.name for module in MODULES]


def _cases() -> Iterable[str]:
    from fencepost.conformance.suite.library import all_cases

    return [case.case_id for case in all_cases()]


def _profiles() -> Iterable[str]:
    from fencepost.conformance.suite.library import suite_file

    return suite_file().profile


SOURCES: Mapping[str, Callable[[], Iterable[str]]] = {
    "": _all_explained,
    **{
        kind: _explained(kind)
        for kind in ("requirement", "mutant", "hazard", "fault", "model", "bug", "story")
    },
    "lab": _labs,
    "schedule": _schedules,
    "played story": _played_stories,
    "proved module": _proved,
    "case": _cases,
    "profile": _profiles,
}
"""Kind of name -> all of that kind."""
