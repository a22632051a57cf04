"""Lustre's parameters and striping, with programs that store what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.testing.tuned_machine import lustre_programs, write_tree
from ioassay.tuning.settings import CannotRead, CannotSet, Vanished, instance_named, parse


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs = lustre_programs(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("LUSTRE_TREE", str(tmp_path / "tree"))
    osts = [f"osc.scratch-OST000{n}-osc-ffff8f" for n in range(2)]
    files = {
        f"{ost}.{name}": value for ost in osts for name, value in (("max_rpcs_in_flight", "8"), ("max_dirty_mb", "32"))
    }
    return write_tree(tmp_path / "tree", files)


@pytest.mark.usefixtures("tree")
def test_a_pattern_stands_for_the_parameter_of_each_target() -> None:
    instances = parse("lctl:osc.*.max_rpcs_in_flight").instances()
    assert [instance.name for instance in instances] == [
        f"lctl:osc.scratch-OST000{n}-osc-ffff8f.max_rpcs_in_flight" for n in range(2)
    ]
    instances[1].write("16")
    assert [instance.read() for instance in instances] == ["8", "16"]


@pytest.mark.usefixtures("tree")
def test_an_unknown_parameter_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="no such parameter; did you mean `max_rpcs_in_flight`"):
        parse("lctl:osc.*.max_rpc_in_flight")
    with pytest.raises(UsageError, match=r"no device matches mdc\.\*; is Lustre mounted"):
        parse("lctl:mdc.*.max_rpcs_in_flight")


@pytest.mark.usefixtures("tree")
def test_a_refused_value_has_lustres_own_words() -> None:
    instance = parse("lctl:osc.*.max_rpcs_in_flight").instances()[0]
    assert instance.check("4M", "8") == "4M"
    with pytest.raises(UsageError, match="not an integer"):
        instance.check("many", "8")
    with pytest.raises(CannotSet, match="Numerical result out of range"):
        instance.write("1000")


def test_the_chosen_word_of_several_is_the_value(tree: Path) -> None:
    write_tree(tree, {"osc.a.checksum_type": "crc32 adler [crc32c]", "osc.a.stats": "a 1\nb 2"})
    (instance,) = parse("lctl:osc.a.checksum_type").instances()
    assert instance.read() == "crc32c"
    assert instance.check("adler", "crc32c") == "adler"
    with pytest.raises(UsageError, match="no such choice; did you mean `adler`"):
        instance.check("adlar", "crc32c")
    (stats,) = parse("lctl:osc.a.stats").instances()
    with pytest.raises(CannotSet, match="has several lines"):
        stats.check("clear", stats.read())


def test_a_target_that_is_gone_has_vanished(tree: Path) -> None:
    instance = parse("lctl:osc.*.max_dirty_mb").instances()[0]
    (tree / instance.name.removeprefix("lctl:")).unlink()
    with pytest.raises(Vanished):
        instance.read()


def test_a_missing_lctl_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRun, match="lctl is not installed"):
        parse("lctl:osc.*.max_dirty_mb")
    with pytest.raises(CannotRead, match="lctl is not installed"):
        instance_named("lctl:osc.a.max_dirty_mb").read()


@pytest.mark.usefixtures("tree")
def test_one_value_of_a_striping_is_changed_without_losing_the_others(tmp_path: Path) -> None:
    (tmp_path / ".striping").write_text("4 1048576 -1 flash\n")
    (count,) = parse(f"stripe:{tmp_path}/count").instances()
    (size,) = parse(f"stripe:{tmp_path}/size").instances()
    assert (count.read(), size.read()) == ("4", "1048576")
    count.write(count.check("-1", "4"))
    size.write(size.check("4m", "1048576"))
    assert (tmp_path / ".striping").read_text() == "-1 4194304 -1 flash\n"
    assert count.lifetime == "kept"


@pytest.mark.usefixtures("tree")
def test_a_directory_without_striping_of_its_own_gets_none_back(tmp_path: Path) -> None:
    (count,) = parse(f"stripe:{tmp_path}/count").instances()
    assert count.read() == "0"
    count.write("8")
    assert count.read() == "8"
    count.write("0")
    assert (tmp_path / ".striping").read_text() == "0 0 -1 .\n"


@pytest.mark.usefixtures("tree")
def test_a_striping_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    (count,) = parse(f"stripe:{tmp_path}/count").instances()
    (size,) = parse(f"stripe:{tmp_path}/size").instances()
    for instance, value in ((count, "all"), (count, "-2"), (size, "1.5m"), (size, "1000")):
        with pytest.raises(UsageError):
            instance.check(value, "0")
    (tmp_path / ".components").write_text("3\n")
    with pytest.raises(CannotSet, match="has 3 components"):
        count.check("4", "0")
    with pytest.raises(Vanished):
        instance_named("stripe:/no/such/directory/count").read()
