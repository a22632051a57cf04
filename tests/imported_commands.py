"""Imports all that commands import, on first use as well. This takes seconds."""

import gc
import importlib
import pkgutil

import ioassay

for _module in pkgutil.walk_packages(ioassay.__path__, "ioassay."):
    if not any(part.startswith(("test_", "conftest", "testing", "__main__")) for part in _module.name.split(".")):
        importlib.import_module(_module.name)

# Else the garbage collector of a child would write to all objects, and so copy their pages.
gc.freeze()
