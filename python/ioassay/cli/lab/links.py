"""`ioassay lab cut NAME/HOST` and `ioassay lab heal NAME/HOST`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ioassay.lab.running import Running

_Where = Annotated[str, typer.Argument(metavar="NAME/HOST", help="The lab and its host; just HOST if one lab is up.")]


def cut(where: _Where) -> int:
    """Cut a host off from the others, as if its cable were pulled."""
    from ioassay.lab import network  # noqa: PLC0415

    lab, host = _find(where)
    network.cut(lab.space, host)
    print(f"{host} is cut off. Reconnect it with: ioassay lab heal {lab.name}/{host}")
    return 0


def heal(where: _Where) -> int:
    """Connect a host again that was cut off."""
    from ioassay.lab import network  # noqa: PLC0415

    lab, host = _find(where)
    network.heal(lab.space, host, lab.hosts().values())
    print(f"{host} is connected.")
    return 0


def _find(where: str) -> tuple[Running, str]:
    from ioassay.errors import UsageError  # noqa: PLC0415
    from ioassay.lab.running import find, running  # noqa: PLC0415

    name, slash, host = where.partition("/")
    if not slash:
        labs = running()
        if len(labs) != 1:
            raise UsageError(
                f"The lab of {where} is ambiguous.", f"Write NAME/{where}; up are: {', '.join(labs) or 'none'}."
            )
        name, host = next(iter(labs)), where
    lab = find(name)
    lab.host(host)
    return lab, host
