"""Imports all that commands import, on first use as well. Whoever imports this waits for seconds."""

import gc
import importlib
import pkgutil

import ioassay

for _module in pkgutil.walk_packages(ioassay.__path__, "ioassay."):
    if not any(part.startswith(("test_", "conftest", "testing", "__main__")) for part in _module.name.split(".")):
        importlib.import_module(_module.name)

# What is there stays as it is: the collector of a child that looked at it would copy all of it.
gc.freeze()
