"""The built-in documents of a kind, and finding one by its typed name or path."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.yaml_models.source import Source, near, parse_source, printable, read_source

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Library:
    """The built-in documents of a kind: the YAML files in the folder `builtin` of a package."""

    package: str
    noun: str
    """The kind of document, for example `study`."""

    def names(self) -> list[str]:
        """The names, sorted. Adding a document is adding a file."""
        return sorted(file.name.removesuffix(".yaml") for file in self._folder.iterdir() if file.name.endswith(".yaml"))

    def sources(self) -> dict[str, Source]:
        return {name: self._source(name) for name in self.names()}

    def _source(self, name: str) -> Source:
        file = self._folder / f"{name}.yaml"
        return parse_source(file.read_text(encoding="utf-8"), file.name, self.noun)

    @property
    def _folder(self) -> Traversable:
        return resources.files(self.package) / "builtin"

    def is_path(self, name_or_path: str) -> bool:
        """True for a path, false for the name of a built-in document."""
        return "/" in name_or_path or name_or_path.endswith(_SUFFIXES)

    def find(self, name_or_path: str) -> Source:
        """The built-in document of that name, or the file at that path.

        A path has a `/` or ends in `.yaml`. Raises `UsageError` for an unknown name, `SourceError` for a bad file.
        """
        if self.is_path(name_or_path):
            return read_source(Path(name_or_path), self.noun)
        names = self.names()
        if name_or_path in names:
            return self._source(name_or_path)
        suggestion = near(name_or_path, names)
        raise UsageError(
            f"There is no {self.noun} `{printable(name_or_path)}`{f': {suggestion}' if suggestion else '.'}",
            f"Built in are {', '.join(names)}. Give your own {self.noun} as a path: ./my-{self.noun}.yaml.",
        )
