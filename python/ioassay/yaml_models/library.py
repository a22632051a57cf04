"""What is built in of a kind of document, and how one is found by what was typed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.yaml_models.source import Source, near, parse_source, printable, read_source

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Library:
    """The built-in documents of a kind: the YAML files in the folder `builtin` of a package."""

    package: str
    noun: str
    """What each of them is, for example `study`."""

    def sources(self) -> dict[str, Source]:
        """All of them, by name. Adding one is one file."""
        folder = resources.files(self.package) / "builtin"
        files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda file: file.name)
        texts = {file.name: file.read_text(encoding="utf-8") for file in files}
        return {name.removesuffix(".yaml"): parse_source(text, name, self.noun) for name, text in texts.items()}

    def is_path(self, name_or_path: str) -> bool:
        """True if a file is meant, and not a built-in document."""
        return "/" in name_or_path or name_or_path.endswith(_SUFFIXES)

    def find(self, name_or_path: str) -> Source:
        """The built-in one of that name, else the file at that path.

        A path has a `/` or ends in `.yaml`. Raises `UsageError` for an unknown name, `SourceError` for a bad file.
        """
        if self.is_path(name_or_path):
            return read_source(Path(name_or_path), self.noun)
        sources = self.sources()
        if name_or_path in sources:
            return sources[name_or_path]
        meant = near(name_or_path, sources)
        raise UsageError(
            f"There is no {self.noun} `{printable(name_or_path)}`{f': {meant}' if meant else '.'}",
            f"Built in are {', '.join(sources)}. Give your own {self.noun} as a path: ./my-{self.noun}.yaml.",
        )
