"""A link of the built site that leads nowhere is found, and so is what the network would bring."""

from pathlib import Path

import pytest

from fencepost.ci.site.built_links import broken_links, main


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "index.html").write_text("<h2 id='there'>x</h2><a href='below/'>y</a>")
    (tmp_path / "below" / "index.html").write_text("<a href='../index.html#there'>up</a>")
    return tmp_path


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href='nowhere.html'>", "nowhere.html is no file"),
        ("<img src='picture.svg'>", "picture.svg is no file"),
        ("<a href='../index.html#gone'>", "../index.html#gone is no anchor of its page"),
        ("<a href='#here'>", "#here is no anchor of its page"),
        ("<script src='https://cdn.example/x.js'>", "is fetched from the network"),
        ("<link rel='stylesheet' href='//fonts.example/css'>", "is fetched from the network"),
    ],
)
def test_what_leads_nowhere_is_named_with_its_page(html: str, found: str, site: Path) -> None:
    page = site / "below" / "index.html"
    page.write_text(html)

    (broken,) = broken_links(site)
    assert broken.startswith("below/index.html: ")
    assert broken.endswith(found)


def test_what_leads_somewhere_is_silent(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = site / "below" / "index.html"
    page.write_text(
        "<p id=a><a href='#a'></a><a href='/index.html#there'></a><a href='../below/'></a>"
        "<a href='https://example.org'></a><a href='mailto:x@y'></a><img src='data:,'>"
    )

    assert list(broken_links(site)) == []
    assert main([str(site)]) == 0
    assert capsys.readouterr().out == "all links of 2 pages lead somewhere\n"


def test_a_folder_that_is_no_site_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 4
    assert "make docs builds one" in capsys.readouterr().err
