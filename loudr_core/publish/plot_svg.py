"""The loudness plot as a picture of its own: an SVG file that needs no page around it.

The listening report draws the same geometry with its own style sheet; this one brings its colours
along, on a ground of its own, since whoever shows it may do so on light or on dark.
"""

import base64
from collections.abc import Iterator
from xml.sax.saxutils import escape

from loudr_core.publish.plot import Plot

__all__ = ["data_url", "plot_svg"]

_STYLE = (
    "text{fill:#66625b;font:11px system-ui,sans-serif}"
    ".grid{stroke:#dedad2}"
    ".mark{stroke:#66625b;stroke-dasharray:1 3}"
    ".target{stroke:#8a5a00;stroke-width:1.5;stroke-dasharray:6 4}"
    ".curve{fill:none;stroke:#1f5f8b;stroke-width:1.5;stroke-linejoin:round}"
)
_GROUND = "#ffffff"


def plot_svg(plot: Plot) -> str:
    """Return the picture as an SVG document (SVG 1.1).

    Short-term loudness over time is a line; dotted lines are chapter starts, the dashed one is
    the target.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.width:g} {plot.height:g}" '
        f'width="{plot.width:g}" height="{plot.height:g}" role="img">'
        f"<title>Short-term loudness in LUFS over time</title><style>{_STYLE}</style>"
        f'<rect width="100%" height="100%" fill="{_GROUND}"/>{"".join(_parts(plot))}</svg>'
    )


def data_url(svg: str) -> str:
    """Return a picture as a `data:` URL (RFC 2397), for places that take only an address."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _parts(plot: Plot) -> Iterator[str]:
    for tick in plot.levels:
        yield _line("grid", plot.left, tick.at, plot.right, tick.at)
        yield _text(plot.left - 6, tick.at + 4, tick.label.replace("-", "−"), "end")
    for tick in plot.times:
        anchor = "end" if tick.at > plot.right - 20 else "middle"
        yield _text(tick.at, plot.bottom + 18, tick.label, anchor)
    for tick in plot.chapters:
        yield _line("mark", tick.at, plot.top, tick.at, plot.bottom)
        yield _text(tick.at + 3, plot.top - 6, tick.label, "start")
    for points in plot.lines:
        yield f'<polyline class="curve" points="{points}"/>'
    yield _line("target", plot.left, plot.target_at, plot.right, plot.target_at)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    if not words:
        return ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'
