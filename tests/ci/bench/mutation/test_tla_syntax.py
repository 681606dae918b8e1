"""The specs are read whole, and lists and operators end where TLA+ ends them."""

import re

import pytest

from fencepost.ci.bench.mutation.tla.modules import read_folder
from fencepost.ci.bench.mutation.tla.syntax import Expression, read_module
from fencepost.ci.bench.mutation.tla.tokens import TlaSyntaxError, tokens_of
from fencepost.spec.tlc.models import MODULES


def body(text: str) -> Expression:
    return read_module("M", f"---- MODULE M ----\nA == {text}\n====").definitions["A"]


def parts(text: str) -> list[str]:
    whole = f"---- MODULE M ----\nA == {text}\n===="
    return [part.text_in(whole) for part in body(text).parts]


def test_every_definition_of_the_specs_is_read() -> None:
    modules = read_folder(MODULES).modules

    for module in modules.values():
        heads = [
            token.text
            for token, after in zip(
                tokens_of(module.text), tokens_of(module.text)[1:], strict=False
            )
            if token.column == 0 and after.text in {"==", "("} and token.text != "RECURSIVE"
        ]
        instances = module.text.count("== INSTANCE")
        assert len(module.definitions) == len(set(heads)) - instances, module.name


def test_a_bulleted_item_ends_where_the_next_bullet_stands() -> None:
    read = body("/\\ x = 1\n     /\\ \\/ y\n        \\/ z\n     /\\ w")

    assert (read.kind, read.symbol, len(read.parts)) == ("list", "/\\", 3)
    assert [part.kind for part in read.parts] == ["infix", "list", "name"]


def test_a_list_in_brackets_ends_with_them() -> None:
    assert parts("F(/\\ a\n         /\\ b, c)") == ["/\\ a\n         /\\ b", "c"]


def test_a_list_of_a_condition_ends_at_then() -> None:
    assert parts("IF /\\ a\n        /\\ b THEN c ELSE d") == ["/\\ a\n        /\\ b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "operator", "wanted"),
    [
        ("a /\\ b => c", "=>", ["a /\\ b", "c"]),
        ("x' = [f EXCEPT ![b].c = @ + 1]", "=", ["x'", "[f EXCEPT ![b].c = @ + 1]"]),
        ("x \\in S \\cup T \\ {y}", "\\in", ["x", "S \\cup T \\ {y}"]),
        ("~a /\\ b", "/\\", ["~a", "b"]),
        ("a - 1 < b", "<", ["a - 1", "b"]),
        ("UNCHANGED <<x, y>> /\\ z", "/\\", ["UNCHANGED <<x, y>>", "z"]),
        ("a /\\ \\E x \\in S : x /\\ b", "/\\", ["a", "\\E x \\in S : x /\\ b"]),
    ],
)
def test_operators_bind_as_in_tla(text: str, operator: str, wanted: list[str]) -> None:
    assert body(text).symbol == operator
    assert parts(text) == wanted


def test_comments_and_texts_hide_what_is_in_them() -> None:
    read = body('(* a /\\ (* b *) \\/ c *) "d /\\ e" \\* f')

    assert (read.kind, read.symbol) == ("value", '"d /\\ e"')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a b", "line 2: 'b' is not expected in the definition of A"),
        ("IF a THEN b", "line 2: 'b' stands where ELSE should"),
        ("(* a", "line 2: a comment has no end"),
        ("?", "line 2: '?' begins no token"),
    ],
)
def test_what_is_not_understood_is_said_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(TlaSyntaxError, match="^" + re.escape(sentence)):
        body(text)
