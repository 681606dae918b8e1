"""The commands that labs end with: each is executed by a test of its kind."""

import shlex

from fencepost.conformance.whitebox.labs import ORDER, lab_story


def ends(begin: str) -> list[str]:
    """The further lines of all labs that begin so, sorted."""
    lines = {line for lab in ORDER for line in lab_story(lab).further}
    return sorted(line for line in lines if line.startswith(begin))


def story_ends(newest: int) -> list[tuple[str, int]]:
    """Of each `fencepost chaos --story` its story and level, the newest where it names none."""
    words = map(shlex.split, ends("fencepost chaos --story "))
    return sorted({(story, int(rest[-1]) if rest else newest) for _, _, _, story, *rest in words})
