"""The machine and the target, in words that identify neither."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe(target: Path) -> str:
    """One line for the head of a summary."""
    processors = len(os.sched_getaffinity(0))
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown distribution")
    parts = [_cpu_model(), f"{processors} processors", f"{memory_gib:.0f} GiB memory"]
    parts += [f"Linux {platform.release()}", system, f"target on {file_system(target)}"]
    return ", ".join(parts)


def file_system(target: Path) -> str:
    """Type of the file system that `target` is on."""
    best, kind = "", "unknown"
    path = target.resolve()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mounted, _, source = line.partition(" - ")
        mount_point = mounted.split()[4].encode().decode("unicode_escape")
        # Later mounts hide earlier ones at the same place.
        if path.is_relative_to(mount_point) and len(mount_point) >= len(best):
            best, kind = mount_point, source.split()[0]
    return kind


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
