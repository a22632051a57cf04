from __future__ import annotations

from pathlib import Path

from bill_of_materials import LOCK, bill, of_lock

CHECKOUT = Path(__file__).parents[1]


def test_packages_of_the_lock_have_the_hashes_of_all_their_files() -> None:
    hashes = ["a" * 64, "b" * 64]
    (package,) = of_lock(
        "scipy==1.17.1 ; python_version >= '3.11' \\\n"
        f"    --hash=sha256:{hashes[0]} \\\n    --hash=sha256:{hashes[1]}\n    # via ioassay\n"
    )
    assert (package["purl"], [digest["content"] for digest in package["hashes"]]) == ("pkg:pypi/scipy@1.17.1", hashes)


def test_the_bill_has_what_the_programs_and_the_environment_are_made_of_and_nothing_of_tests() -> None:
    names = {component["purl"].partition("@")[0] for component in bill(CHECKOUT)["components"]}
    assert {"pkg:cargo/parquet", "pkg:cargo/io-uring", "pkg:pypi/polars"} <= names
    assert not {"pkg:cargo/proptest", "pkg:cargo/loom", "pkg:pypi/pytest"} & names
    locked = {line.partition("==")[0] for line in (CHECKOUT / LOCK).read_text().splitlines() if line[0].isalpha()}
    assert {name.removeprefix("pkg:pypi/") for name in names if name.startswith("pkg:pypi/")} == locked
