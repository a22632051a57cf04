"""What archives of a release have in common. Not: what is in them (`wheels`, `wheelhouse`)."""

from __future__ import annotations

import tarfile


def without_builder(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Removes user and time of the build from a member, for a reproducible archive: a `filter` of `TarFile.add`."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
