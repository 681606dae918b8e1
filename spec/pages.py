"""The pages of `spec/docs/generated`: modules, actions, properties and hazards.

Their sources are the TLA+ modules as text, `models.toml` and `hazards.toml`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.tlc.config import read_config
from fencepost.spec.tlc.graph import module_graph
from fencepost.spec.tlc.graph.graph_svg import draw
from fencepost.spec.tlc.models import Model, ModelVerdict, Tier, load_models, select
from fencepost.spec.tlc.modules import modules_read
from fencepost.spec.vocabulary import Action, EnvironmentAction, ModelledAction, snake_case

FOLDER = Path("spec/docs/generated")
HOMES = {"Decisions", "LeaderAndIsr", "Replication", "ControllerElection", "Zk", "MutationQuota"}
"""The modules that are about what several others have in short."""

MADE = "Generated from `spec/tla`, `spec/models.toml` and `spec/hazards.toml`; edit those."
PROPERTIES = "The last column is the shortest counterexample that TLC finds with one rule broken."
HAZARDS = (
    "Each hazard of the draft and of the KIPs is one switch: with it the model follows the text, "
    "without it the repair.\n"
    "`fencepost check NAME` shows the counterexample of a row, and "
    "`fencepost check --without-repairs` takes each repair away in turn."
)

_COMMENT = re.compile(r"(?:^\(\*.*\*\)\n)+", re.MULTILINE)
_DEFINED = re.compile(
    r"(?P<comment>(?:^\(\*.*\*\)\n)+)(?P<tags>(?:^\\\* @req \S+\n)*)"
    r"(?P<name>\w+)(?:\([\w, ]+\))? ==",
    re.MULTILINE,
)
_NEXT = re.compile(r"^Next ==\n((?:    .*\n)+)", re.MULTILINE)
_DISJUNCT = re.compile(r"^    \\/ (?:\\E [\w, \\]+ : )?(\w+)", re.MULTILINE)
_REQUIREMENT = re.compile(r"@req (\S+)")
_SENTENCE = re.compile(r".+?\.(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """An operator that has a paragraph of its own."""

    name: str
    paragraph: str
    requirements: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the paragraph says first."""
        return _first_sentence(self.paragraph)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A TLA+ module as its readers see it."""

    name: str
    purpose: str
    actions: tuple[str, ...]
    """Disjuncts of `Next`, in its order; empty for a module of values."""
    definitions: tuple[Definition, ...]


def parse_module(text: str) -> Module:
    """Read a module; paragraphs are the comment blocks directly before a definition."""
    name = re.search(r"MODULE (\w+)", text)
    head = _COMMENT.search(text)
    body = _NEXT.search(text)
    return Module(
        name=name[1] if name else "",
        purpose=_words(head[0]) if head else "",
        actions=tuple(_DISJUNCT.findall(body[1])) if body else (),
        definitions=tuple(
            Definition(
                name=found["name"],
                paragraph=_words(found["comment"]),
                requirements=tuple(_REQUIREMENT.findall(found["tags"])),
            )
            for found in _DEFINED.finditer(text)
        ),
    )


def _words(comment: str) -> str:
    inner = re.sub(r"^\(\*\s?|\s*\*\)$", "", comment, flags=re.MULTILINE)
    return " ".join(inner.split())


def _first_sentence(paragraph: str) -> str:
    found = _SENTENCE.match(paragraph)
    return found[0] if found else paragraph


def pages(root: Path) -> Iterator[tuple[Path, str]]:
    """Path and text of each page, from the sources below `root`."""
    spec = root / "spec"
    modules = [parse_module(path.read_text()) for path in sorted((spec / "tla").glob("*.tla"))]
    models = load_models(spec / "models.toml", directory=spec / "tla")
    hazards = load_hazards(spec / "hazards.toml")
    yield _page("modules", "Modules", modules_table(modules, models), _tiers(models))
    picture = module_graph.module_graph(spec / "tla")
    drawn = draw(picture, title=module_graph.TITLE, note=module_graph.NOTE)
    yield FOLDER / "modules.svg", drawn
    yield _page("actions", "Actions", actions_table(modules))
    yield _page("properties", "Properties", [PROPERTIES], properties_table(modules, models))
    yield _page("hazards", "Hazards", [HAZARDS], hazards_table(hazards, models), stories(hazards))


def _page(name: str, title: str, *parts: Iterable[str]) -> tuple[Path, str]:
    """A page with its parts, a blank line between two."""
    body = "\n\n".join("\n".join(part) for part in (["# " + title], [MADE], *parts))
    return FOLDER / f"{name}.md", f"{body}\n"


def _tiers(models: Sequence[Model]) -> Iterator[str]:
    yield "## Tiers"
    yield ""
    yield from tiers_table(models)


def tiers_table(models: Sequence[Model]) -> Iterator[str]:
    """One line per tier, each with the rows of those before it."""
    yield "| tier | models | hold | simulated, not violated | violate | distinct states |"
    yield "|---|---|---|---|---|---|"
    for tier in Tier:
        rows = select(models, tier=tier)
        holding = sum(1 for row in rows if row.expected is ModelVerdict.HOLDS)
        simulated = sum(1 for row in rows if row.expected is ModelVerdict.NOT_VIOLATED)
        violating = len(rows) - holding - simulated
        states = sum(row.distinct_states for row in rows)
        yield (f"| `{tier}` | {len(rows)} | {holding} | {simulated} | {violating} | {states:,} |")


def modules_table(modules: Sequence[Module], models: Sequence[Model]) -> Iterator[str]:
    """One line per module that says something; `MC*` has only bounds."""
    yield "| module | says | actions | rows |"
    yield "|---|---|---|---|"
    for module in modules:
        if not module.name.startswith("MC"):
            rows = sum(1 for model in models if model.module == f"MC{module.name}")
            yield (
                f"| `{module.name}` | {_first_sentence(module.purpose)} "
                f"| {len(module.actions) or '-'} | {rows or '-'} |"
            )


def actions_table(modules: Sequence[Module]) -> Iterator[str]:
    """One line per action: its actor, where it is modelled, what it does."""
    yield "| action | actor | modules | what |"
    yield "|---|---|---|---|"
    where: dict[str, list[Module]] = {}
    for module in modules:
        for action in module.actions:
            where.setdefault(action, []).append(module)
    for action, homes in sorted(where.items()):
        names = ", ".join(f"`{module.name}`" for module in homes)
        yield f"| `{action}` | {_performer(action)} | {names} | {_meaning(action, modules)} |"


def _performer(action: str) -> str:
    if action in {*Action}:
        return f"core: `{snake_case(action)}`"
    if action in {*EnvironmentAction}:
        return "the world"
    return "not in the core yet" if action in {*ModelledAction} else "ZooKeeper"


def _meaning(action: str, modules: Sequence[Module]) -> str:
    """As a module says it that is about the action, else the first that has it."""
    ordered = sorted(modules, key=lambda module: module.name not in HOMES)
    told = (d for module in ordered for d in module.definitions if d.name == action)
    return next((definition.sentence for definition in told), "")


def properties_table(modules: Sequence[Module], models: Sequence[Model]) -> Iterator[str]:
    """One line per property that a row checks, and the shortest way in which TLC breaks it."""
    yield "| property | module | requirements | what | broken by |"
    yield "|---|---|---|---|---|"
    read = {
        path: [module.stem for module in modules_read(path)]
        for path in {model.module_path for model in models}
    }
    broken: dict[tuple[str, str], Model] = {}
    for model in sorted(models, key=lambda model: model.counterexample_states or 0):
        if model.invariant:
            for name in read[model.module_path]:
                broken.setdefault((name, model.invariant), model)
    checked = set(_checked(models))
    yield from sorted(
        _property_line(module, told, broken.get((module.name, told.name)))
        for module in modules
        for told in module.definitions
        if told.name in checked and (told.requirements or (module.name, told.name) in broken)
    )


def _checked(models: Sequence[Model]) -> Iterator[str]:
    """What the rows check; a row that names an invariant looks for that alone."""
    for path in {one.directory / one.config for one in models if one.invariant is None}:
        config = read_config(path)
        yield from (*config.invariants, *config.properties)
    yield from (one.invariant for one in models if one.invariant)


def _property_line(module: Module, told: Definition, row: Model | None) -> str:
    requirements = ", ".join(told.requirements) or "-"
    shown = f"`{row.name}`, {row.counterexample_states} states" if row else "-"
    return (
        f"| `{told.name}` | `{module.name}` | {requirements} | {_cell(told.sentence)} | {shown} |"
    )


def hazards_table(hazards: Sequence[Hazard], models: Sequence[Model]) -> Iterator[str]:
    """One line per hazard: where its switch is and what TLC finds with it."""
    rows = {model.name: model for model in models}
    yield "| hazard | switch | TLC finds | in states |"
    yield "|---|---|---|---|"
    for hazard in hazards:
        row = rows[hazard.rows[0]]
        found = (
            f"`{row.invariant}`" if hazard.finding is HazardFinding.SHOWN else "nothing: refuted"
        )
        yield (
            f"| [{hazard.id}](#{_anchor(hazard)}) {_cell(hazard.title)} | {_switch(hazard)} "
            f"| {found} | {row.counterexample_states or f'{row.distinct_states:,} distinct'} |"
        )


def stories(hazards: Sequence[Hazard]) -> Iterator[str]:
    """A section per hazard: what the text says, what happens, what repairs it."""
    for number, hazard in enumerate(hazards):
        if number:
            yield ""
        yield f"## {hazard.id}: {hazard.title}"
        yield ""
        yield f"{hazard.source}, `{hazard.module}`, {_switch(hazard)}. {hazard.text}"
        yield ""
        yield from (f"{step}. {text}" for step, text in enumerate(hazard.story, start=1))
        yield ""
        heading = "Repair" if hazard.finding is HazardFinding.SHOWN else "Refuted"
        yield f"**{heading}.** {hazard.repair}"
        if hazard.repaired_at is not None:
            yield f"The reference has it below level {hazard.repaired_at}."
        yield ""
        shown = ", ".join(f"`{name}`" for name in hazard.rows)
        repaired = ", ".join(f"`{name}`" for name in hazard.turns_red)
        yield f"Rows: {shown}" + (f"; without the repair also {repaired}." if repaired else ".")


def _switch(hazard: Hazard) -> str:
    parts = (
        f"`{value}`" if constant == "mutants" else f"`{constant} = {value}`"
        for constant, value in hazard.switch.items()
    )
    return ", ".join(parts)


def _anchor(hazard: Hazard) -> str:
    """As GitHub makes it of a heading."""
    kept = re.sub(r"[^\w\- ]", "", f"{hazard.id}: {hazard.title}".lower())
    return kept.replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
