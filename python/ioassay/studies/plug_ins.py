"""Storage APIs that are plug-ins: from their names in a study to their libraries in a plan, as the engine lists them.

Not here: building them (`ioassay api build`), checking their options; the engine does both.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ioassay.errors import CannotRun, UsageError
from ioassay.processes import engine
from ioassay.protocol.facts import STORAGE_APIS

if TYPE_CHECKING:
    from ioassay.protocol.plan import Plan, Storage


def locate(plans: Sequence[Plan]) -> None:
    """Names the library of every plug-in in `plans`, and in the place of a library's path the API that it has.

    The engine is asked only where a plan has a plug-in. Raises `UsageError` for one that cannot be used as it is.
    """
    storages = [storage for plan in plans for storage in _storages(plan) if storage["api"] not in STORAGE_APIS]
    if not storages:
        return
    paths = sorted({os.path.abspath(storage["api"]) for storage in storages if os.sep in storage["api"]})
    listed = listing(paths)["apis"]
    by_path = {api["path"]: api for api in listed}
    by_name = {api["name"]: api for api in listed if api["path"] not in paths}
    for storage in storages:
        is_path = os.sep in storage["api"]
        api = by_path.get(os.path.abspath(storage["api"])) if is_path else by_name.get(storage["api"])
        if api is None:
            continue  # Unknown: the engine says which there are.
        if api["path"] is None:
            raise UsageError(f"The storage API {api['name']} is a plug-in that is not built.", f"{api['remedy']}")
        if api["problem"] is not None:
            raise UsageError(f"{api['problem']}.", api["remedy"])
        storage["api"], storage["plugin"] = api["name"], api["path"]


def speak_mpi(plans: Sequence[Plan]) -> bool:
    """True if a storage API of `plans` needs ranks that are MPI processes."""
    plug_ins = {storage.get("plugin") for plan in plans for storage in _storages(plan)}
    paths = sorted(path for path in plug_ins if path is not None)
    return any(api["needs_mpi"] for api in listing(paths)["apis"] if api["path"] in paths) if paths else False


def listing(paths: Sequence[str] = ()) -> dict[str, Any]:
    """What the engine knows of plug-ins, those at `paths` among them (`ioassay-engine api list --json`)."""
    command = [str(engine.find_engine()), "api", "list", "--json", *paths]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotRun(done.stderr.strip() or f"`{' '.join(command)}` failed ({done.returncode}).")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _storages(plan: Plan) -> Iterator[Storage]:
    yield plan["storage"]
    for step in plan["steps"]:
        if step["step"] == "phase":
            yield from (storage for job in step["jobs"] if (storage := job.get("storage")))
