"""Stored directories as each version of their format was written, and what the ioassay of that time reported of them.

`KIND-VERSION-ORIGIN` is a directory, `KIND-VERSION-ORIGIN.json` what was reported. None ever changes: a new version
adds its own (`keep`). Runs of version 1 are not here and not read: they had another protocol, and none left the
machines of the developers, on the day that it existed. Snapshots (`ioassay tune capture`) are archives of what a node
says of itself, of which there is one version; their tests capture one.
"""
