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
            return Entries({name: tree(one) for name, one in value.items()}, {}, HERE)
        case list():
            return Items([tree(one) for one in value], HERE)
    return Text(str(value), HERE)


VALUES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4))
def test_what_is_written_reads_back_as_the_same_tree(value: dict[str, object]) -> None:
    made = tree(value)
    assert isinstance(made, Entries)
    assert plain(parse_source(written(made), "again.yaml", "study").tree) == value


def test_keys_stand_below_each_other_and_items_in_a_line_each() -> None:
    value = {"clients": ["1", "2"], "steps": ["write", {"read": {"name": "again", "verify": "yes"}}, {"pause": "1s"}]}
    made = tree(value)
    assert isinstance(made, Entries)
    assert written(made) == "clients: [1, 2]\nsteps:\n- write\n- read: {name: again, verify: yes}\n- pause: 1s\n"
