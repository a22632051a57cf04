from __future__ import annotations

from pathlib import Path

from stated_version import contradictions, stated

from ioassay.version import __version__

CHECKOUT = Path(__file__).parents[1]


def test_everything_in_this_checkout_states_the_same_version() -> None:
    assert stated(CHECKOUT) == __version__
    assert contradictions(CHECKOUT) == []


def test_a_version_that_was_raised_in_one_place_only_is_found_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "python/ioassay").mkdir(parents=True)
    (tmp_path / "python/ioassay/version.py").write_text('"""The version."""\n\n__version__ = "1.2.0"\n')
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.1.0"\n')
    (tmp_path / "Cargo.lock").write_text(
        '[[package]]\nname = "ours"\nversion = "1.0.0"\n\n'
        '[[package]]\nname = "serde"\nversion = "1.0.9"\nsource = "registry"\n'
    )
    assert contradictions(tmp_path) == [
        'Cargo.toml has version 1.1.0, python/ioassay/version.py 1.2.0: set version = "1.2.0" in Cargo.toml',
        "Cargo.lock has ours 1.0.0, Cargo.toml 1.1.0: run cargo update --workspace --offline",
    ]
