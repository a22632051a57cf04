"""Lays out what packages install, from a wheel: `/usr/bin/ioassay`, with an environment of its own below `/usr/lib`.

No distribution has ioassay's dependencies in these versions, so the package brings them, as pip would install them, and
uses only the distribution's Python. The engine and the agent need nothing but the C library: they are a second tree.
Not: what packages say of themselves (`packaging/nfpm`), building them (`packages`).
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from build_hook import PROGRAMS

CHECKOUT = Path(__file__).parents[1]
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
"""What the package runs on: the distribution's Python of the minor version that makes the package."""

LIBRARY = Path("usr/lib/ioassay")
"""A virtual environment, whose Python is a link to the distribution's."""

_COMMAND = """\
#!/{library}/bin/python -I
import sys

from ioassay.__main__ import main

sys.exit(main())
"""
"""`-I`: neither PYTHONPATH nor packages of the user's home take the place of what is installed here."""

_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 The ioassay developers
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
"""

_DEBIAN_CHANGES = """\
{package} ({version}) unstable; urgency=medium

  * See CHANGELOG.md.gz.

 -- {maintainer}  Thu, 01 Jan 1970 00:00:00 +0000
"""

_ENVIRONMENT = "home = /usr/bin\ninclude-system-site-packages = false\n"


ZSH = {"deb": "usr/share/zsh/vendor-completions", "rpm": "usr/share/zsh/site-functions"}
"""Where distributions have completions for zsh; those for bash and fish are in the same places everywhere."""


_WHEEL = re.compile(r"ioassay-.*-manylinux_(?P<major>\d+)_(?P<minor>\d+)_(?P<processor>\w+)\.whl")


def named(wheel: Path) -> dict[str, str]:
    """What the name of a wheel promises: `major` and `minor` of the glibc, `processor`. Raises `ValueError`."""
    if match := _WHEEL.fullmatch(wheel.name):
        return match.groupdict()
    raise ValueError(f"{wheel} is no wheel that `make wheels` builds")


def stage_engine(wheel: Path, licences: str, root: Path) -> None:
    """The programs, the unit of the agent, and Slurm's scripts."""
    with ZipFile(wheel) as archive:
        for name in PROGRAMS:
            (member,) = (path for path in archive.namelist() if path.endswith(f".data/scripts/{name}"))
            _file(root / "usr/bin" / name, archive.read(member), 0o755)
    unit = CHECKOUT / "packaging/ioassay-agent.service"
    _file(root / "usr/lib/systemd/system" / unit.name, unit.read_bytes())
    for script in ("slurm-prolog.sh", "slurm-epilog.sh"):
        _file(root / "usr/share/ioassay" / script, (CHECKOUT / "packaging" / script).read_bytes(), 0o755)
    _file(root / "usr/share/doc/ioassay-engine/third-party-licences.txt.gz", _compressed(licences.encode()))


def stage_command(wheel: Path, root: Path) -> None:
    """The command with its environment. Raises `CalledProcessError` where pip fails."""
    site = root / LIBRARY / "lib" / PYTHON / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    only = ["--only-binary", ":all:", "--target", str(site)]
    locked = ["--require-hashes", "--requirement", str(CHECKOUT / "requirements.lock")]
    subprocess.run([*pip, *only, *locked], check=True)
    subprocess.run([*pip, *only, "--upgrade", "--no-deps", str(wheel)], check=True)
    shutil.rmtree(site / "bin", ignore_errors=True)  # commands of dependencies, and the programs again
    _file(root / LIBRARY / "pyvenv.cfg", _ENVIRONMENT.encode())
    _link(root / LIBRARY / "bin/python", f"/usr/bin/{PYTHON}")
    for name in PROGRAMS:  # of this version, whatever is on PATH
        _link(root / LIBRARY / "bin" / name, f"/usr/bin/{name}")
    _file(root / LIBRARY / "bin/ioassay", _COMMAND.format(library=LIBRARY).encode(), 0o755)
    _link(root / "usr/bin/ioassay", f"/{LIBRARY}/bin/ioassay")
    # Where users cannot write, Python would compile every module at each start; where root can, it would leave files.
    compiled = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*compiled, "-s", str(root), "-p", "/", str(site)], check=True)


def stage_shells(root: Path, kind: str) -> None:
    """Completions of a staged command, where packages of this kind have them."""
    environment = {**os.environ, "PYTHONPATH": str(root / LIBRARY / "lib" / PYTHON / "site-packages")}
    for shell, place in {
        "bash": "usr/share/bash-completion/completions/ioassay",
        "zsh": f"{ZSH[kind]}/_ioassay",
        "fish": "usr/share/fish/vendor_completions.d/ioassay.fish",
    }.items():
        script = [sys.executable, "-m", "ioassay", "completion", shell]
        _file(root / place, subprocess.run(script, env=environment, check=True, capture_output=True).stdout)


def stage_manual(command: Path, engine: Path) -> None:
    """The manual pages of both, made by what is staged: the programs are asked for their help."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(command / LIBRARY / "lib" / PYTHON / "site-packages"),
        "IOASSAY_ENGINE": str(engine / "usr/bin/ioassay-engine"),
        "IOASSAY_AGENT": str(engine / "usr/bin/ioassay-agent"),
    }
    with tempfile.TemporaryDirectory() as pages:
        subprocess.run([sys.executable, "-m", "ioassay.cli.manual", pages], env=environment, check=True)
        for page in sorted(Path(pages).iterdir()):
            root = engine if page.name.startswith(PROGRAMS) else command
            _file(root / "usr/share/man/man1" / f"{page.name}.gz", _compressed(page.read_bytes()))


def stage_documents(root: Path, kind: str, package: str, maintainer: str, version: str) -> None:
    """The licence as packages of this kind have it, and what changed."""
    documents = root / "usr/share/doc" / package
    if kind == "deb":
        _file(documents / "copyright", _COPYRIGHT.encode())
        changes = _DEBIAN_CHANGES.format(package=package, version=version, maintainer=maintainer)
        _file(documents / "changelog.gz", _compressed(changes.encode()))
    else:
        _file(root / "usr/share/licenses" / package / "LICENSE", (CHECKOUT / "LICENSE").read_bytes())
    _file(documents / "CHANGELOG.md.gz", _compressed((CHECKOUT / "CHANGELOG.md").read_bytes()))


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def _file(path: Path, content: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
