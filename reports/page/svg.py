"""Scalable pictures as escaped markup: the one place that writes SVG elements."""

from markupsafe import Markup, escape


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """An SVG element; `stroke_width=1` is written `stroke-width="1"`, `class_` is `class`.

    Children that are not markup are escaped, as are the values of attributes. Numbers are written
    with one decimal, so that the same picture has the same bytes everywhere.
    """
    told = Markup("").join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _value(value))
        for name, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{}{}>{}</{}>").format(tag, told, inner, tag)


def picture(size: tuple[float, float], title: str, *children: str, css: str = "") -> Markup:
    """A whole picture, with its title for screen readers; as wide as its container."""
    width, height = size
    return element(
        "svg",
        element("title", title),
        *children,
        role="img",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        class_=f"picture {css}".strip(),
        style=f"min-width:{min(720, round(width))}px",
        preserveAspectRatio="xMinYMin meet",
    )


def text(x: float, y: float, words: str, css: str = "", anchor: str | None = None) -> Markup:
    """Words with their baseline at (x, y)."""
    return element("text", words, x=x, y=y, class_=css or None, text_anchor=anchor)


def line(start: tuple[float, float], end: tuple[float, float], css: str) -> Markup:
    """A straight line."""
    return element("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=css)


def box(corner: tuple[float, float], size: tuple[float, float], css: str) -> Markup:
    """A rectangle; a width or height below zero is drawn as zero."""
    width, height = (max(0.0, side) for side in size)
    return element("rect", x=corner[0], y=corner[1], width=width, height=height, class_=css)


def path(moves: str, css: str) -> Markup:
    """A path of `moves` in SVG's own notation."""
    return element("path", d=moves, class_=css)


def number(value: float) -> str:
    """At most one decimal, and none where it would be zero."""
    rounded = f"{value:.1f}"
    return rounded.removesuffix(".0")


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else str(value)
