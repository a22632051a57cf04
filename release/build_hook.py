"""What a wheel has besides Python: the programs, which are installed beside `ioassay`.

Not: which files of Python a wheel has (`pyproject.toml`), programs for other machines than this one (`wheels`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAMS = ("ioassay-engine", "ioassay-agent")

DIRECTORY_VARIABLE = "IOASSAY_PROGRAMS"
"""Names a directory with the programs, where they are already built."""
PLATFORM_VARIABLE = "IOASSAY_PLATFORM"
"""Names the platform that those programs run on, as in `manylinux_2_28_x86_64`."""


class Programs(BuildHookInterface[Any]):
    """Puts the programs into each wheel, which is then for one platform and every Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel is built. Raises `OSError` or `CalledProcessError` where cargo builds nothing."""
        directory = Path(os.environ.get(DIRECTORY_VARIABLE) or self._built())
        platform = os.environ.get(PLATFORM_VARIABLE) or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["shared_scripts"] = {str(directory / name): name for name in PROGRAMS}

    def _built(self) -> Path:
        if shutil.which("cargo") is None:
            raise FileNotFoundError(
                "cargo was not found: ioassay is installed from its sources here, which needs Rust and a C compiler. "
                "A wheel of ioassay needs neither; Rust comes from https://rustup.rs or the distribution."
            )
        # Both at once: for each by itself cargo would choose other features of what they share, and compile that again.
        command = ["cargo", "build", "--release", "--locked", "--package", "ioassay-cli"]
        subprocess.run(command, cwd=self.root, check=True)
        return Path(self.root, os.environ.get("CARGO_TARGET_DIR", "target"), "release")
