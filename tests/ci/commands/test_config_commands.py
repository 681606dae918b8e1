"""What `configs` and `acls` refuse before any cluster is asked, each in one sentence."""

import pytest

from fencepost.ci.cli import run
from fencepost.ci.commands.configs import Chosen
from fencepost.spec.config_store import ConfigEntity, EntityKind

READ = "--operation=Read"
ANN = "--allow-principal=User:ann"


@pytest.mark.parametrize(
    ("chosen", "entity"),
    [
        (Chosen("t", None, None, None), ConfigEntity(EntityKind.TOPIC, ("t",))),
        (Chosen(None, "", None, None), ConfigEntity(EntityKind.BROKER, ("",))),
        (Chosen(None, None, "ann", None), ConfigEntity(EntityKind.USER, ("ann",))),
        (Chosen(None, None, None, ""), ConfigEntity(EntityKind.CLIENT, ("",))),
        (Chosen(None, None, "", "x"), ConfigEntity(EntityKind.USER_CLIENT, ("", "x"))),
        (Chosen(None, None, None, None), None),
    ],
)
def test_the_options_name_one_entity(chosen: Chosen, entity: ConfigEntity | None) -> None:
    assert chosen.entity() == entity


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["configs", "set", "a=1"], "give --topic, --broker, --user or --client-id"),
        (["configs", "set", "a=1", "--topic=t", "--user=u"], "give one of --topic, --broker"),
        (["configs", "set", "a", "--topic=t"], "'a' is no entry; give NAME=VALUE"),
        (["configs", "set", "a=1", "a=2", "--topic=t"], "an entry is named twice"),
        (["configs", "delete", "a"], "give --topic, --broker, --user or --client-id"),
        (["acls", "add", READ, "--topic=t"], "one of --allow-principal and --deny-principal"),
        (["acls", "add", READ, ANN, "--deny-principal=User:b"], "one of --allow-principal"),
        (["acls", "add", READ, "--allow-principal=ann", "--topic=t"], "give User:NAME"),
        (["acls", "add", READ, ANN], "one of --topic, --prefix and --on-cluster"),
        (["acls", "remove", READ, ANN, "--topic=t", "--on-cluster"], "one of --topic, --prefix"),
        (["acls", "add", "--operation=A b", ANN, "--topic=t"], "are one word each"),
    ],
)
def test_a_mistake_gets_one_sentence(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
