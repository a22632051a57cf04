"""Reads YAML into a tree in which every value has its place in the file.

All values stay text. Only a model (`studies.model`, `lab.model`) interprets them, so that a value typed in
the YAML and one typed after `--set` have the same parser, and none of YAML's own guesses (`no` as a boolean,
`1:30` as ninety) can reach a measurement.

Not here: keys, interpretation of values.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import cast

import yaml
from msgspec import Struct
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.resolver import Resolver

from ioassay.errors import UsageError

LARGEST_BYTES = 1 << 20
"""A longer file was not written by hand: it is a mistake, such as naming a data file."""

DEEPEST = 16
"""Levels of nesting; a study needs six, a lab three."""

SHOWN_PROBLEMS = 10


class Origin(Struct, frozen=True):
    """The place of a value: `FILE:LINE` or `--set NAME=VALUE`, and its key there."""

    place: str
    key: str = ""

    def problem(self, wrong: str, meant: str) -> Problem:
        """A problem at this place."""
        return Problem(self, wrong, meant)


class ProblemAt(ValueError):
    """An error in one of several keys that are checked together, as `wrong; meant`."""

    def __init__(self, path: Iterable[str | int], message: str) -> None:
        """`path`: keys and indices from the checked part to the key."""
        self.path = tuple(path)
        super().__init__(message)


def wrong_and_meant(error: ValueError) -> tuple[str, str]:
    """The two parts of a message `wrong; meant`, from a check that does not know the place of the value."""
    wrong, _, meant = str(error).partition("; ")
    return wrong, meant


class Problem(Struct, frozen=True):
    """An error in a document."""

    origin: Origin
    wrong: str
    meant: str

    def __str__(self) -> str:
        where = f"{self.origin.place}: {self.origin.key}" if self.origin.key else self.origin.place
        return f"{where}: {self.wrong}" + (f"; {self.meant}" if self.meant else "")


class SourceError(UsageError):
    """Invalid input. The message has a line for each problem: `FILE:LINE: KEY: wrong; meant`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(dict.fromkeys(problems))
        lines = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        if (more := len(self.problems) - len(lines)) > 0:
            lines.append(f"… and {more} more.")
        super().__init__("\n".join(lines))


class Text(Struct, frozen=True):
    """A scalar, as written."""

    text: str
    origin: Origin


class Items(Struct, frozen=True):
    """A list."""

    items: list[Node]
    origin: Origin


class Entries(Struct, frozen=True):
    """A mapping. `origins` has the place of each key."""

    entries: dict[str, Node]
    origins: dict[str, Origin]
    origin: Origin


Node = Text | Items | Entries


class Source(Struct, frozen=True):
    """A file: its text and its uninterpreted tree."""

    file: str
    """Its name in problems: a path as typed, or the name of a built-in file."""
    text: str
    tree: Entries


def read_source(path: Path, noun: str, key: str = "name") -> Source:
    """Reads a file; `noun` is the expected kind of document, such as `study`, and `key` its first key. Raises
    `SourceError`.
    """
    return parse_source(read_text(path, noun), printable(str(path)), noun, key)


def read_text(path: Path, noun: str) -> str:
    """The text of a file; `noun` is the expected kind of document, such as `study`. Raises `SourceError`."""
    origin = Origin(printable(str(path)))
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError([origin.problem(f"cannot be read: {reason}", "name a readable YAML file")]) from None
    if len(data) > LARGEST_BYTES:
        wrong = f"is longer than {LARGEST_BYTES} bytes"
        raise SourceError([origin.problem(wrong, f"name a {noun}, not a data file")])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is not UTF-8"
        raise SourceError([origin.problem(wrong, f"name a {noun}, or save it as UTF-8")]) from None


def parse_source(text: str, file: str, noun: str, key: str = "name") -> Source:
    """Parses a file's text; `file` is its name in problems, `noun` the expected kind of document, `key` its first key.

    Raises `SourceError`.
    """
    top = Origin(file + ":1")
    try:
        document = _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{file}:{mark.line + 1}" if mark else top.place
        wrong = " ".join(part for part in (error.context, error.problem) if part)
        meant = error.note or _SYNTAX
        if "scanning an alias" in wrong:  # a value that begins with `*`
            meant = "put what has a `*` in quotes"
        if "nesting depth" in wrong:  # libyaml of PyYAML 6.0.4 has its own limit, and looks ahead
            wrong, meant = _TOO_DEEP
        raise SourceError([Problem(Origin(place), f"not YAML: {wrong}", meant)]) from None
    except yaml.reader.ReaderError as error:
        line = text.encode().count(b"\n", 0, error.position) + 1  # libyaml counts bytes
        place = f"{file}:{line}"
        wrong = f"not YAML: the character {error.character!r} is not allowed"
        raise SourceError([Problem(Origin(place), wrong, "use printable characters only")]) from None
    except (yaml.YAMLError, ValueError) as error:
        wrong = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SourceError([top.problem(f"not YAML: {wrong}", _SYNTAX)]) from None
    if document is None:
        raise SourceError([top.problem("the file is empty", f"begin with `{key}:`, or copy an example of a {noun}")])
    problems: list[Problem] = []
    tree = _tree(document, file, "", problems)
    if problems:
        raise SourceError(problems)
    if not isinstance(tree, Entries):
        meant = f"a {noun} is a set of keys such as `{key}:`"
        raise SourceError([tree.origin.problem(f"not a {noun}", meant)])
    return Source(file, text, tree)


_SYNTAX = "check indentation, colons and quotes"
_TOO_DEEP = (f"nested deeper than {DEEPEST} levels", "nest it less deeply")


class _Loader(Composer, CParser, Resolver):
    """Only composes nodes from libyaml's events, and refuses aliases, which could make a small file endless."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        Resolver.__init__(self)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = cast("yaml.Event", self.peek_event())
        if isinstance(event, yaml.AliasEvent):
            note = "write the value out"
            raise _refusal("aliases are not supported", event, note)
        if self._depth >= DEEPEST:
            wrong, meant = _TOO_DEEP
            raise _refusal(wrong, event, meant)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _refusal(wrong: str, event: yaml.Event, meant: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=wrong, problem_mark=cast("yaml.error.Mark", event.start_mark), note=meant)


def _tree(node: yaml.Node, file: str, key: str, problems: list[Problem]) -> Node:
    origin = Origin(f"{file}:{node.start_mark.line + 1}", key)
    if isinstance(node, yaml.SequenceNode):
        items = [_tree(item, file, f"{key}[{index}]", problems) for index, item in enumerate(node.value)]
        return Items(items, origin)
    if isinstance(node, yaml.MappingNode):
        return _entries(node, file, origin, problems)
    text = str(node.value).strip()
    if not text.replace("\n", "").isprintable():
        problems.append(origin.problem("has characters that cannot be printed", "use printable characters only"))
    return Text(text, origin)


def _entries(node: yaml.MappingNode, file: str, origin: Origin, problems: list[Problem]) -> Entries:
    entries: dict[str, Node] = {}
    origins: dict[str, Origin] = {}
    for key_node, value_node in node.value:
        place = f"{file}:{key_node.start_mark.line + 1}"
        if not isinstance(key_node, yaml.ScalarNode) or not key_node.value.isprintable():
            wrong = "a key is not a word"
            problems.append(
                Origin(place, origin.key).problem(wrong, "write `key: value`; quote text that holds { or [")
            )
            continue
        name = key_node.value
        key = f"{origin.key}.{name}" if origin.key else name
        if name in entries:
            first = origins[name].place.removeprefix(file + ":")
            problems.append(Origin(place, key).problem("given twice", f"keep one; the first is on line {first}"))
            continue
        origins[name] = Origin(place, key)
        entries[name] = _tree(value_node, file, key, problems)
    return Entries(entries, origins, origin)


def printable(text: str) -> str:
    """`text` in a form that any terminal and any file can hold."""
    return text if text.isprintable() else ascii(text)[1:-1]


def quoted(text: str) -> str:
    """`text` for a message: in quotes, on one line, shortened."""
    line = " ".join(text.split())
    return f'"{line[:40]}…"' if len(line) > 40 else f'"{line}"'


def plain(node: Node) -> object:
    """The tree as plain dicts, lists and texts, for the model."""
    match node:
        case Text():
            return node.text
        case Items():
            return [plain(item) for item in node.items]
        case Entries():
            return {name: plain(entry) for name, entry in node.entries.items()}


def locate(node: Node, path: Iterable[str | int]) -> Origin:
    """The place of the value at `path`; if it is missing, of the nearest enclosing value."""
    origin = node.origin
    for step in path:
        match node:
            case Entries() if step in node.entries:
                key = node.origins.get(str(step))
                node = node.entries[str(step)]
                # A mapping starts below its key, and a reader looks for the key. But a value from a
                # setting has another place.
                origin = key if key and key.key == node.origin.key else node.origin
            case Items() if isinstance(step, int) and step < len(node.items):
                node = node.items[step]
                origin = node.origin
            case _:
                break
    return origin


def map_texts(node: Node, change: Callable[[Text], Node]) -> Node:
    """The tree with every scalar replaced by the result of `change`."""
    match node:
        case Text():
            return change(node)
        case Items():
            return Items([map_texts(item, change) for item in node.items], node.origin)
        case Entries():
            entries = {name: map_texts(entry, change) for name, entry in node.entries.items()}
            return Entries(entries, node.origins, node.origin)


def texts(node: Node) -> Iterator[Text]:
    match node:
        case Text():
            yield node
        case Items():
            for item in node.items:
                yield from texts(item)
        case Entries():
            for entry in node.entries.values():
                yield from texts(entry)


def near(word: str, candidates: Iterable[str]) -> str | None:
    """`did you mean X?` if one of `known` is similar to `word` or begins with it."""
    candidates = list(candidates)
    close = difflib.get_close_matches(word, candidates, n=1) or [
        name for name in candidates if word and name.startswith(word)
    ]
    return f"did you mean `{close[0]}`?" if close else None


def nearest(word: str, candidates: Iterable[str]) -> str:
    """The result of `near`, or else a list of all known words."""
    candidates = list(candidates)
    if (close := near(word, candidates)) is not None:
        return close
    choice = "use one of " if len(candidates) > 1 else "use "
    return choice + ", ".join(f"`{name}`" for name in candidates) if candidates else "there are none"
