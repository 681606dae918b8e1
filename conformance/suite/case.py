"""A case of the suite: a story file, or one of its permutations, and its requirements."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote

from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Scenario
from fencepost.fault_injection.stories.story import Story

_UNFIT = re.compile(r"[^\w.-]+")
"""What is in no name of a folder: brokers write such paths into files of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """One story that an implementation passes or not."""

    case_id: str
    """`<area>/<slug>`, with the choices of its axes in brackets."""
    path: Path
    story: Story

    @property
    def area(self) -> str:
        """The folder of its file."""
        return self.case_id.partition("/")[0]

    @property
    def requirements(self) -> tuple[str, ...]:
        """The ids of the requirements that it judges."""
        return self.story.requirements

    @property
    def brokers(self) -> int:
        """How many brokers its cluster has."""
        return int(self.story.cluster.get("brokers", ClusterSettings().brokers))

    @property
    def needs(self) -> frozenset[Capability]:
        """What an implementation must declare for it."""
        return self.scenario.needs

    @property
    def scenario(self) -> Scenario:
        """The case as runs know it."""
        return Scenario(story=self.story, again=f"--story {quote(str(self.path))}")

    @property
    def folder_name(self) -> str:
        """The folder of its run, below that of its target."""
        return folder_name(self.case_id)


def is_named(case_id: str, pattern: str) -> bool:
    """True when the pattern with `*` and `?` names the case; brackets mean themselves."""
    return fnmatchcase(_plain(case_id), _plain(pattern))


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")


def folder_name(text: str) -> str:
    """A name of a folder for the id of a case or for a target."""
    return _UNFIT.sub("-", text).strip("-")
