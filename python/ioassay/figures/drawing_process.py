"""The drawing process: it answers the requests of `figures.drawing` one after the other until standard input ends.

V8, which runs Vega, reserves 50 GB of addresses when it starts and ends its process where it does not get them, so it
must not run in the process that has the results. Imports nothing that the first figure would have to wait for.
"""

from __future__ import annotations

import json
import signal
import sys

import vl_convert

from ioassay.figures.drawing_messages import DRAWN, REFUSED, SVG
from ioassay.processes.helper_process import be_expendable
from ioassay.processes.messages import receive, send

_START_S = 120
"""Time limit for starting V8 and Vega: 0.1 s, much longer on a busy machine."""

_EXAMPLE = (
    '{"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}'
)


def main() -> None:
    """Answers requests on standard input, each within the seconds that are its first argument."""
    be_expendable()
    limit_s = int(sys.argv[1])
    signal.alarm(_START_S)
    vl_convert.configure(base_url=False, allowed_base_urls=[])  # a figure has its data and fetches nothing
    vl_convert.vegalite_to_svg(_EXAMPLE)  # loads Vega while the other process prepares the first figure
    signal.alarm(0)
    while (request := receive(sys.stdin.buffer)) is not None:
        signal.alarm(limit_s)
        try:
            answer = DRAWN + _drawn(request[:1], request[1:].decode())
        except (ValueError, RuntimeError) as error:
            answer = REFUSED + str(error).partition("\n")[0].encode()
        signal.alarm(0)
        send(sys.stdout.buffer, answer)


def _drawn(kind: bytes, content: str) -> bytes:
    if kind == SVG:
        svg: str = vl_convert.vegalite_to_svg(content)
        return svg.encode()
    png: bytes = vl_convert.svg_to_png(**json.loads(content))
    return png
