from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import spack_recipe


def test_the_recipe_of_a_release_knows_its_wheelhouse(tmp_path: Path) -> None:
    house = tmp_path / "ioassay-0.1.0-wheelhouse-python3.11-aarch64.tar"
    house.write_bytes(b"wheels")
    recipe = spack_recipe.write(house, tmp_path, "2.28")
    text = recipe.read_text()
    ast.parse(text)
    assert hashlib.sha256(b"wheels").hexdigest() in text
    for wanted in (house.name, '"python@3.', "target=aarch64:", "glibc 2.28"):
        assert wanted in text
    assert not re.search("@[A-Z0-9]+@", text)
    assert (recipe.parents[2] / "repo.yaml").is_file()
