"""How a sweep keeps the page cache from answering: direct I/O, or files beyond what memory holds.

Only of studies that have the settings `direct` and `size`, as the built-in `tune` has. What the user sets or varies
stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioassay.execution.places import Place
from ioassay.store.sweep_document import ParameterEntry
from ioassay.studies.resolve import ResolvedStudy
from ioassay.text.units import UnitError, format_size, parse_bytes
from ioassay.tuning.sweep.experiment import Experiment
from ioassay.tuning.system import System

_BEYOND_MEMORY = 1.1
_OF_FREE = 0.8
"""The share of the target's free space that the files of a run may take."""

_BUFFERED = ("/read_ahead_kb", "/bdi/", "sysctl:vm.")
"""Parts of the names of settings of the page cache, which direct I/O bypasses."""


@dataclass
class PastCache:
    """Settings added to the study's, and why."""

    settings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def past_page_cache(
    experiment: Experiment,
    parameters: Sequence[ParameterEntry],
    resolved: ResolvedStudy,
    place: Place,
    system: System | None,
) -> PastCache:
    """Settings that keep the page cache from answering in this sweep."""
    user_keys = {*experiment.settings, *(parameter.key for parameter in parameters if parameter.key is not None)}
    known = resolved.entry.settings
    names = [parameter.setting or "" for parameter in parameters]
    is_buffered = varies_page_cache(parameters)
    is_of_block_layer = any(name.startswith("block:") for name in names)
    if "direct" in known and is_of_block_layer and not is_buffered and "direct" not in user_keys:
        return PastCache(["direct=yes"], ["Direct I/O (direct=yes), so that the device answers, not the page cache."])
    if {"direct", "size"} - known.keys() or "size" in user_keys or experiment.settings.get("direct", "no") != "no":
        return PastCache()
    return _beyond_memory(parameters, resolved, place, system)


def varies_page_cache(parameters: Sequence[ParameterEntry]) -> bool:
    """Whether a setting of the page cache is among them, so that direct I/O would not measure its effect."""
    return any(part in (parameter.setting or "") for parameter in parameters for part in _BUFFERED)


def _beyond_memory(
    parameters: Sequence[ParameterEntry], resolved: ResolvedStudy, place: Place, system: System | None
) -> PastCache:
    free = _free_bytes(place)
    if free is None or system is None:
        return PastCache(notes=["Buffered I/O: give files that no phase goes through twice (--set size=SIZE)."])
    files = max(1, _largest_setting("ranks", parameters, resolved) * _largest_setting("clients", parameters, resolved))
    known = _bytes(resolved.entry.settings["size"])
    wanted = int(system.memory_bytes * _BEYOND_MEMORY)
    total = min(wanted, int(free * _OF_FREE))
    size = total // files >> 20 << 20
    if size <= known:
        return PastCache(
            notes=[
                f"Files as in the study: the target has {format_size(free)} free. Memory may answer repeated passes."
            ]
        )
    size_text = f"Files of {format_size(size * files)} together"
    why = (
        f"more than memory ({format_size(system.memory_bytes)})"
        if total == wanted
        else f"not more than memory ({format_size(system.memory_bytes)}), because the target has "
        f"{format_size(free)} free; passes that memory answers are not counted"
    )
    return PastCache([f"size={size >> 20}MiB"], [f"{size_text}: {why}."])


def _free_bytes(place: Place) -> int | None:
    if place.clients is not None or place.target.kind != "directory":
        return None
    try:
        statistics = os.statvfs(place.target.place)
    except OSError:
        return None
    return statistics.f_bavail * statistics.f_frsize


def _largest_setting(key: str, parameters: Sequence[ParameterEntry], resolved: ResolvedStudy) -> int:
    """The largest number that a setting of the study has in the sweep."""
    value = resolved.entry.settings.get(key, "1")
    texts = [*(value if isinstance(value, list) else [value])]
    texts += [text for parameter in parameters if parameter.key == key for text in parameter.values]
    return max((int(text) for text in texts if isinstance(text, str) and text.isdecimal()), default=1)


def _bytes(text: object) -> int:
    try:
        return parse_bytes(text) if isinstance(text, str) else 0
    except UnitError:
        return 0
