"""Whether a study is for the kind of target that was named, and which built-in study is for another kind.

Not here: what of a study the engine refuses on a target (`studies.refusals`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.errors import UsageError
from ioassay.studies.library import builtin_studies
from ioassay.text import prose
from ioassay.yaml_models.source import Items, texts

if TYPE_CHECKING:
    from ioassay.studies.model import Study
    from ioassay.studies.target import Target

_NOUNS = {"directory": "directories", "device": "block devices", "url": "URLs"}
_ARTICLES = {"directory": "a directory", "device": "a block device", "url": "a URL"}


def refuse_unsuitable(study: Study, target: Target) -> None:
    """Raises `UsageError` where the study is not for a target of this kind, with the built-in studies that are."""
    if target.kind in study.targets:
        return
    others = [name for name, kinds in _named_by_builtin().items() if target.kind in kinds]
    named = prose.listed(others, "or")
    device = f" --destroy-data {target.place}" if target.kind == "device" else ""
    remedy = f"Use the study {named}: ioassay run {others[0]} --target {target.place}{device}"
    raise UsageError(
        f"The study {study.name} is for {prose.listed([_NOUNS[kind] for kind in study.targets])}, "
        f"but {target.place} is {_ARTICLES[target.kind]}.",
        remedy if others else "Use another target.",
    )


def _named_by_builtin() -> dict[str, list[str]]:
    """The kinds of targets that each built-in study names."""
    named = {name: source.tree.entries.get("targets") for name, source in builtin_studies().items()}
    return {name: [text.text for text in texts(kinds)] for name, kinds in named.items() if isinstance(kinds, Items)}
