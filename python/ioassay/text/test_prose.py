from __future__ import annotations

import pytest

from ioassay.text.prose import listed


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_ends_with_and(items: list[str], text: str) -> None:
    assert listed(items) == text
