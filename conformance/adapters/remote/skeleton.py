"""A new adapter to begin with: it answers what `fencepost conform probe` asks, and nothing more."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote

from fencepost.conformance.adapters.choices import ADAPTER
from fencepost.conformance.adapters.errors import ChoiceError

SKELETONS = Path(__file__).with_name("skeletons")
README = "README.md"
NO_SOURCE_OF_OURS = ".txt"
"""The last suffix of a file here that is another program's; it goes with the copy."""


class Language(StrEnum):
    """What a skeleton is written in."""

    PYTHON = "python"
    GO = "go"
    JAVA = "java"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """A new adapter in its folder."""

    files: tuple[Path, ...]
    build: str
    """The command that builds it; empty where there is nothing to build."""
    target: str
    """What `--target` takes, when it is built."""


def new_adapter(language: Language, folder: Path) -> Skeleton:
    """Write the skeleton into a new or empty folder; raises `ChoiceError`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ChoiceError(f"{folder} is there already; name a new folder for the adapter")
    build, command = _commands(language, folder)
    skeleton = ADAPTER + command
    texts = {
        path.name.removesuffix(NO_SOURCE_OF_OURS): path.read_text(encoding="utf-8")
        for path in sorted((SKELETONS / language).iterdir())
    }
    building = f"\n```\n{build}\n```\n\nbuilds it.\n" if build else ""
    readme = (SKELETONS / README).read_text(encoding="utf-8")
    texts[README] = readme.replace("BUILD\n", building).replace("TARGET", skeleton)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return Skeleton(files=tuple(folder / name for name in texts), build=build, target=skeleton)


def _commands(language: Language, folder: Path) -> tuple[str, str]:
    """How it is built, and started; as they are typed beside the folder."""
    here = quote(str(folder))
    match language:
        case Language.PYTHON:
            return "", f"python3 {here}/adapter.py"
        case Language.GO:
            program = f"{folder if folder.is_absolute() else f'./{folder}'}/adapter"
            return f"(cd {here} && go build -o adapter .)", quote(program)
        case Language.JAVA:
            return f"javac -d {here} {here}/Adapter.java", f"java -cp {here} Adapter"
