from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ioassay.yaml_models.source import Entries, Items, Node, Origin, Text, parse_source, plain
from ioassay.yaml_models.write import written

HERE = Origin("here")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12) | st.sampled_from(
    ["yes", "no", "~", "null", "1:30", "0x1f", "1e3", "- a", "a: b", "#", "a #b", "*01*", "${x}", "", "<<", "="]
)


def tree(value: object) -> Node:
    match value:
        case dict():
            return Entries({name: tree(entry) for name, entry in value.items()}, {}, HERE)
        case list():
            return Items([tree(item) for item in value], HERE)
    return Text(str(value), HERE)


VALUES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4))
def test_a_written_tree_reads_back_as_the_same_tree(value: dict[str, object]) -> None:
    built = tree(value)
    assert isinstance(built, Entries)
    assert plain(parse_source(written(built), "again.yaml", "study").tree) == value


def test_keys_and_items_are_on_separate_lines() -> None:
    value = {"clients": ["1", "2"], "steps": ["write", {"read": {"name": "again", "verify": "yes"}}, {"pause": "1s"}]}
    built = tree(value)
    assert isinstance(built, Entries)
    assert written(built) == "clients: [1, 2]\nsteps:\n- write\n- read: {name: again, verify: yes}\n- pause: 1s\n"
