"""The method in sentences."""

from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.yaml_models.source import parse_source


def test_the_method_describes_the_plan() -> None:
    method = " ".join(resolve(find_study("isilon-2018"), None, []).entry.method)
    for words in (
        "every rank has a file of its own; 2 TiB in all, divided evenly among the ranks, moved in transfers of 1 MiB",
        "all ranks share one file",
        "32 GiB per client, moved in transfers of 4 KiB in random order, each transfer exactly once",
        "with 1, 2, 4, 8, 16, 32 and 64 clients and 1 rank on each, once",
        "write, with an fsync of every file at the end that counts in the time; wait 3 s; empty the caches",
    ):
        assert words in method


def test_keys_common_to_all_workloads_are_stated_once() -> None:
    source = find_study("isilon-2018")
    assert sum("takes these steps" in sentence for sentence in resolve(source, None, []).entry.method) == 1
    text = source.text.replace("    layout: N-1", "    layout: N-1\n    repetitions: 2")
    method = resolve(parse_source(text, "my.yaml", "study"), None, []).entry.method
    assert "Sequential, N clients to one shared file is done with" in " ".join(method)


def test_the_name_and_order_of_a_phase_are_stated(small: str) -> None:
    text = small.replace("- read", "- read: {name: again, order: random-with-replacement}")
    method = " ".join(resolve(parse_source(text, "my.yaml", "study"), None, []).entry.method)
    assert "read (again) at random offsets, each drawn afresh" in method


def test_a_stop_rule_and_the_order_of_cases_are_stated(small: str) -> None:
    text = small.replace("steps:", "repetitions: until 2.5%, at most 9\ncase_order: randomised\nseed: 7\nsteps:", 1)
    entry = resolve(parse_source(text, "my.yaml", "study"), None, []).entry
    assert (entry.case_order, entry.seed) == ("randomised", 7)
    method = " ".join(entry.method)
    assert "each point at least 3 and at most 9 times: until the half-width of the 95 % confidence interval" in method
    assert "is at most 2.5 % of it" in method
    assert "another random order, drawn from seed 7" in method
