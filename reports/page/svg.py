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


def picture(
    size: tuple[float, float],
    title: str,
    *children: str,
    css: str = "",
    least: float = 720,
    **attributes: object,
) -> Markup:
    """A whole picture, with its title for screen readers; as wide as its container.

    `least` is the width in pixels below which it is scrolled instead of made smaller.
    """
    width, height = size
    return element(
        "svg",
        element("title", title),
        *children,
        role="img",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        class_=f"picture {css}".strip(),
        style=f"min-width:{round(min(least, width))}px",
        preserveAspectRatio="xMinYMin meet",
        **attributes,
    )


def text(x: float, y: float, words: str, css: str = "", anchor: str | None = None) -> Markup:
    """Words with their baseline at (x, y)."""
    return element("text", words, x=x, y=y, class_=css or None, text_anchor=anchor)


def line(
    start: tuple[float, float], end: tuple[float, float], css: str, **attributes: object
) -> Markup:
    """A straight line."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css, **attributes)


def box(corner: tuple[float, float], size: tuple[float, float], css: str) -> Markup:
    """A rectangle; a width or height below zero is drawn as zero."""
    width, height = (max(0.0, side) for side in size)
    return element("rect", x=corner[0], y=corner[1], width=width, height=height, class_=css)


def path(moves: str, css: str, y: float = 0) -> Markup:
    """A path of `moves` in SVG's own notation, moved down by `y`."""
    moved = f"translate(0 {number(y)})" if y else None
    return element("path", d=moves, class_=css, transform=moved)


def number(value: float) -> str:
    """At most one decimal, and none where it would be zero."""
    rounded = f"{value:.1f}"
    return rounded.removesuffix(".0")


def _value(value: object) -> str:
    return number(value) if isinstance(value, int | float) else str(value)
