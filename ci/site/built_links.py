"""Follows every link of the built site: a file that is missing, an anchor that is, or the network.

`python -m fencepost.ci.site.built_links FOLDER`. Exit code 0 when all lead somewhere, 1 otherwise.
"""

import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

ADDRESS_OF = {
    "a": "href",
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
}
"""Element -> its attribute with an address."""
FOLLOWED_BY_READERS = "a"
"""Its address is fetched only when a reader asks for it."""


class PageLinks(HTMLParser):
    """The anchors of one page, and the addresses in it with their elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what has an id or an address."""
        found = dict(attrs)
        self.anchors |= {name for key in ("id", "name") if (name := found.get(key))}
        address = found.get(ADDRESS_OF.get(tag, ""))
        if address and found.get("rel") != "canonical":
            self.addresses.append((tag, address))


def broken_links(folder: Path) -> Iterator[str]:
    """One sentence per address that leads nowhere, or that a browser would fetch from elsewhere."""
    pages = {path: PageLinks(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for page, seen in pages.items():
        for element, address in dict.fromkeys(seen.addresses):
            why = _broken(pages, folder, page, (element, address))
            if why:
                yield f"{page.relative_to(folder)}: {address} {why}"


def _broken(pages: dict[Path, PageLinks], folder: Path, page: Path, link: tuple[str, str]) -> str:
    """Why a link is none; "" for one that leads somewhere. One with `/` is below the folder."""
    element, address = link
    parts = urlsplit(address)
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    if parts.scheme or parts.netloc:
        return "" if element == FOLLOWED_BY_READERS else "is fetched from the network"
    name, anchor = urldefrag(address)
    start = folder if name.startswith("/") else page.parent
    target = (start / unquote(name).lstrip("/")).resolve() if name else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "is no file"
    is_known = target not in pages or unquote(anchor) in pages[target].anchors
    return "" if not anchor or is_known else "is no anchor of its page"


def main(arguments: Sequence[str]) -> int:
    """Print what is broken; returns the exit code."""
    folder = Path(arguments[0]).resolve() if arguments else Path()
    if not arguments or not any(folder.glob("*.html")):
        sys.stderr.write(
            "usage: python -m fencepost.ci.site.built_links FOLDER; make docs builds one\n"
        )
        return 4
    broken = list(broken_links(folder))
    print(
        "\n".join(broken)
        or f"all links of {len(list(folder.rglob('*.html')))} pages lead somewhere"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
