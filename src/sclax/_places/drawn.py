"""A domain as a small picture, SVG that needs no plotting library."""

from html import escape
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .box import Box
from .place import TIME

WIDE, HIGH = 190.0, 130.0  # pixels of the largest picture, without its words
FINE = 161  # points along each side of a shape
LEFT, LOW = 46.0, 34.0  # pixels for words
PAPER, LINE, WORDS = "#dbe9f4", "#0072b2", "#1b2a41"


def svg(domain: Box) -> str:
    """The first two coordinates of a domain: those of its shape; time and space; or two of space."""
    space = [name for name in domain.names if name not in (TIME, *domain.parameters)]
    timed = [TIME] if TIME in domain.names and (domain.shape is None or not space) else []
    shown = (timed + space)[:2] if timed else space[:2]
    across, *up = shown or domain.names[:1]
    (a, b), (c, d) = domain.ends(across), domain.ends(up[0]) if up else (0.0, 1.0)
    wide, high = WIDE, HIGH if up else 6.0
    if up and TIME not in shown:  # lengths of space are comparable
        unit = min(WIDE / (b - a), HIGH / (d - c))
        wide, high = (max(unit * length, 24.0) for length in (b - a, d - c))
    to_x = lambda x: LEFT + (np.asarray(x) - a) / (b - a) * wide
    to_y = lambda y: 8 + high - (np.asarray(y) - c) / (d - c) * high
    outline = [] if domain.shape is None or len(up) == 0 else _outline(domain, across, up[0])
    corners = [np.asarray([[a, c], [b, c], [b, d], [a, d], [a, c]])]
    rings = [np.stack([to_x(ring[:, 0]), to_y(ring[:, 1])], axis=1) for ring in outline or corners]
    path = " ".join("M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in ring) + "Z" for ring in rings)
    style = f'font-family="sans-serif" font-size="12" fill="{WORDS}"'
    words = [
        _word(to_x(a), high + 22, f"{a:.3g}", "middle"),
        _word(to_x(b), high + 22, f"{b:.3g}", "middle"),
        _word(to_x((a + b) / 2), high + 24, across, "middle", italic=True),
    ]
    if up:
        words += [
            _word(LEFT - 6, to_y(c), f"{c:.3g}", "end"),
            _word(LEFT - 6, to_y(d) + 8, f"{d:.3g}", "end"),
            _word(LEFT - 8, to_y((c + d) / 2) + 4, up[0], "end", italic=True),
        ]
    about = escape(f"the domain in {' and '.join((across, *up))}", quote=True)
    return (
        f'<svg role="img" aria-label="{about}" width="{wide + LEFT + 24:.0f}" height="{high + LOW:.0f}" '
        f'xmlns="http://www.w3.org/2000/svg"><path d="{path}" fill="{PAPER}" fill-rule="evenodd" stroke="{LINE}" '
        f'stroke-width="1.5"/><g {style}>{"".join(words)}</g></svg>'
    )


def _word(x: Any, y: Any, text: str, anchor: str, italic: bool = False) -> str:
    slanted = ' font-style="italic"' if italic else ""
    return f'<text x="{float(x):.1f}" y="{float(y):.1f}" text-anchor="{anchor}"{slanted}>{escape(text)}</text>'


def _outline(domain: Box, across: str, up: str) -> list[np.ndarray]:
    """The rings at which a shape's level is zero, all other coordinates in the middle."""
    import contourpy

    shape = domain.shape
    assert shape is not None
    ends = {name: domain.ends(name) for name in domain.names}
    margin = lambda low, high: (low - 0.01 * (high - low), high + 0.01 * (high - low))
    x, y = (np.linspace(*margin(*ends[name]), FINE) for name in (across, up))
    mesh = dict(zip((across, up), np.meshgrid(x, y), strict=True))
    middle = {name: sum(pair) / 2 for name, pair in ends.items()}
    columns = [np.broadcast_to(mesh.get(name, middle[name]), (FINE, FINE)) for name in shape.names]
    at = {name: jnp.asarray(middle[name]) for name in shape.parameters}
    level = jax.vmap(lambda spot: shape.level(spot, at))(jnp.asarray(np.stack(columns, axis=-1).reshape(FINE**2, -1)))
    generator = contourpy.contour_generator(x, y, np.asarray(level, float).reshape(FINE, FINE))
    return [np.asarray(ring) for ring in generator.lines(0.0)]
