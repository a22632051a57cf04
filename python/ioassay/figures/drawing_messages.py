"""The messages between the drawing process and its parent (`process_messages`)."""

from __future__ import annotations

SVG, PNG = b"S", b"P"
"""The first byte of a request: a Vega-Lite specification follows, or the arguments of `svg_to_png`, both as JSON."""

DRAWN, REFUSED = b"+", b"-"
"""The first byte of an answer: the drawing follows, or why there is none."""
