"""Numbers in files that other programs wrote: only what is certainly one, and of a length that Python converts."""

from __future__ import annotations

import re


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of at most 18 digits. `str.isdigit` also takes `²`, which `int` refuses."""
    return re.fullmatch(r"[0-9]{1,18}", text) is not None
