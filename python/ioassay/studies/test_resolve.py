"""Settings, scales and `--set`; refusals of what cannot be meant."""

import pytest

from ioassay.store.document import Criterion
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.yaml_models.source import SourceError, parse_source


def refusal(text: str, *settings: str, scale: str | None = None) -> list[str]:
    with pytest.raises(SourceError) as error:
        refuse(resolve(parse_source(text, "my.yaml", "study"), scale, settings))
    return error.value.message.splitlines()


def total(text: str, *settings: str, scale: str | None = None) -> int | None:
    return resolve(parse_source(text, "my.yaml", "study"), scale, settings).study.workloads["big"].files["data"].total


def test_a_setting_has_its_default_then_its_scale_then_what_was_typed(small: str) -> None:
    assert total(small) == 8 << 20
    assert total(small, scale="tiny") == 4 << 20
    assert total(small, "total=16m", scale="tiny") == 16 << 20
    assert total(small, "total=16m", "total=32m") == 32 << 20


def test_a_list_is_typed_with_commas(small: str) -> None:
    for typed in ("clients=1,8", "clients=[1, 8]", "clients=1, 8"):
        assert resolve(parse_source(small, "my.yaml", "study"), None, [typed]).study.clients == [1, 8]
    assert resolve(parse_source(small, "my.yaml", "study"), None, ["clients=8"]).study.clients == [8]


def test_a_setting_may_stand_inside_a_text(small: str) -> None:
    text = small.replace("title: Big", "title: Big ${total} on ${clients}")
    resolved = resolve(parse_source(text, "my.yaml", "study"), None, ["total=16m"])
    assert resolved.study.workloads["big"].title == "Big 16m on 1, 2, 4"


def test_a_workload_overrides_the_study(small: str) -> None:
    text = small.replace("    title: Big", "    title: Big\n    clients: [1]\n    steps: [write]\n    repetitions: 3")
    workload = resolve(parse_source(text, "my.yaml", "study"), None, []).study.workloads["big"]
    assert (workload.clients, len(workload.steps), workload.repetitions.most) == ([1], 1, 3)
    assert workload.ranks_per_client == [1]


def test_repetitions_can_be_set_in_a_study_without_such_a_setting(small: str) -> None:
    two = small.replace("    title: Big", "    title: Big\n    repetitions: 2")
    for text in (small, two):
        for typed, most in (["repetitions=3"], 3), (["repetitions=3", "repetitions=until 5 %, at most 7"], 7):
            resolved = resolve(parse_source(text, "my.yaml", "study"), None, typed)
            assert resolved.study.workloads["big"].repetitions.most == most
            assert resolved.entry.settings["repetitions"] == typed[-1].removeprefix("repetitions=")
    assert refusal(small, "repetitions=x")[0].startswith('--set repetitions=x: "x" is not a number of repetitions')
    # A setting of this name means what the study makes of it.
    text = small.replace("settings:", "settings:\n  repetitions: 5").replace("title: Big", "title: Big ${repetitions}")
    study = resolve(parse_source(text, "my.yaml", "study"), None, ["repetitions=3"]).study
    assert (study.workloads["big"].title, study.workloads["big"].repetitions.most) == ("Big 3", 1)


def test_the_entry_keeps_what_was_asked(small: str) -> None:
    entry = resolve(parse_source(small, "my.yaml", "study"), "tiny", ["clients=1,2"]).entry
    assert (entry.name, entry.scale, entry.text) == ("small", "tiny", small)
    assert entry.settings == {"clients": ["1", "2"], "total": "4MiB"}
    assert [workload.name for workload in entry.workloads] == ["big"]
    (criterion,) = entry.acceptance
    assert (criterion.of, criterion.operation, criterion.at_most, criterion.unit) == ("all", "all", 2.0, "s")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("total=abc", '--set total=abc: "abc" is not a size; write 4k, 1MiB or 2048'),
        ("total=1.5g", '--set total=1.5g: "1.5g" is a fraction; write 1536m'),
        ("total=", '--set total=: "" is not a size'),
        ("total=0", '--set total=0: "0" is out of range'),
        ("totl=1g", "--set totl=1g: there is no setting `totl`; did you mean `total`?"),
        ("total", "--set total: not NAME=VALUE"),
        ("total=\udcff", "--set total=\\udcff: has characters that cannot be printed"),
        ("clients=2,1", "--set clients=2,1: is not in ascending order; write [1, 2]"),
        ("clients=1,2,2", "--set clients=1,2,2: lists a number twice; write [1, 2]"),
        ("clients=0,1", "--set clients=0,1: has a number out of range"),
        ("clients=one", '--set clients=one: "one" is not a whole number'),
        ("clients=", '--set clients=: "" is not a whole number'),
        ("clients=2000000", "--set clients=2000000: has a number out of range"),
        (
            "total=10m",
            "--set total=10m: 10 MiB of `big` cannot be divided among 4 ranks in whole transfers of 1 MiB; "
            "use 8MiB or 12MiB",
        ),
        ("total=100k", "--set total=100k: 100 KiB of `big` is not a multiple of its transfer of 1 MiB; use 4MiB"),
        ("clients=1,3", "my.yaml:6: settings.total: 8 MiB of `big` cannot be divided among 3 ranks"),
        ("total=8388608t", "--set total=8388608t: the files add up to 9223372036854775808 bytes;"),
        ("total=16777216t", '--set total=16777216t: "16777216t" does not fit 64 bits'),
    ],
)
def test_a_wrong_setting_is_reported_as_it_was_typed(small: str, typed: str, message: str) -> None:
    assert refusal(small, typed)[0].startswith(message)


def test_an_unknown_scale_names_those_there_are(small: str) -> None:
    assert refusal(small, scale="tinny") == ["--scale tinny: the study has no such scale; did you mean `tiny`?"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    transfer:", "    transfr:", "my.yaml:21: workloads.big.transfr: unknown key; did you mean `transfer`?"),
        ("settings:", "setings:", "my.yaml:4: setings: unknown key; did you mean `settings`?"),
        ("    order: sequential\n", "", "my.yaml:17: workloads.big.order: is missing; add it: "),
        ("order: sequential", "order: seq", 'my.yaml:20: workloads.big.order: "seq" is unknown; did you mean'),
        ("transfer: 1MiB", "transfer: 1mb", 'my.yaml:21: workloads.big.transfer: "1mb" has the unknown suffix "mb"'),
        ("transfer: 1MiB", "transfer: 2GiB", 'my.yaml:21: workloads.big.transfer: "2GiB" is out of range; use 1 B to'),
        ("transfer: 1MiB", "transfer: [1]", "my.yaml:21: workloads.big.transfer: is not a single value"),
        ("transfer: 1MiB", "transfer:", 'my.yaml:21: workloads.big.transfer: "" is not a size'),
        ("  - pause: 1s", "  - pause: 1", 'my.yaml:13: steps[1].pause: "1" has no unit; write 3s'),
        ("  - pause: 1s", "  - pause", "my.yaml:13: steps[1]"),
        ("  - pause: 1s", "  - paus: 1s", "my.yaml:13: steps[1].paus: unknown key; did you mean `pause`?"),
        ("  - write", "  - wirte", "my.yaml:12: steps[0].wirte: unknown key; did you mean `write`?"),
        ("  - write", "  - write: {fsync: late}", 'my.yaml:12: steps[0].write.fsync: "late" is unknown'),
        (
            "  - write",
            "  - write: {order: zipf 1.1}",
            "my.yaml:15: steps[3]: the job reads files that no earlier phase writes in full",
        ),
        ("  - read", "  - write", "my.yaml:15: steps[3]: two phases of `big` are called `write`"),
        (
            "[fadvise]",
            "[fadvise, fadvise]",
            "my.yaml:14: steps[2].cold-cache: `methods`: a method is listed twice; list one or more",
        ),
        ("[fadvise]", "[]", "my.yaml:14: steps[2].cold-cache: `methods`: no method to empty"),
        ("    total: ${total}", "    total: ${totl}", "my.yaml:22: workloads.big.total: there is no setting `totl`"),
        ("    total: ${total}", "    total: ${total", "my.yaml:22: workloads.big.total: `${` without a name"),
        ("    total: ${total}", "    total: 8m", "my.yaml:6: settings.total: nothing uses this setting"),
        ("    total: ${total}", "    total: ${total}\n    per_client: 8m", "my.yaml:17: workloads.big: has two sizes"),
        ("    total: 4MiB", "    totl: 4MiB", "my.yaml:9: scales.tiny.totl: there is no setting `totl`; did you mean"),
        (
            "    total: 4MiB",
            "    total: [4MiB]",
            "my.yaml:9: scales.tiny.total: is not of the same form as the setting",
        ),
        ("total: 8MiB", "total: {a: 1}", "my.yaml:6: settings.total: is neither a value nor a list of values"),
        ("total: 8MiB", "total: ${clients}", "my.yaml:6: settings.total: refers to another setting"),
        ("  big:", "  all:", "my.yaml:17: workloads.all: a workload cannot be called `all`"),
        ("  big:", "  so big:", 'my.yaml:17: workloads.so big: "so big" is not a name'),
        (
            "workloads: [big]",
            "workloads: [bigg]",
            "my.yaml:24: figures[0].workloads[0]: there is no workload `bigg`; did",
        ),
        ("workload: big", "workload: bug", "my.yaml:26: summary[0].workload: there is no workload `bug`"),
        ("at_most: 2s,", "at_most: 2,", 'my.yaml:28: acceptance[0]: "2" has no unit'),
        ("at_most: 2s,", "", "my.yaml:28: acceptance[0]: needs exactly one limit"),
        (
            "at_most: 2s,",
            "at_most: 2s, phase: raed,",
            "my.yaml:28: acceptance[0].phase: no workload has a phase `raed`; did",
        ),
        (
            "at_most: 2s,",
            "at_most: 2s, of: big, phase: raed,",
            "my.yaml:28: acceptance[0].phase: `big` has no phase `raed`; did you mean `read`?",
        ),
        (
            "at_most: 2s,",
            "at_most: 2s, of: big, phase: read, operation: write,",
            "my.yaml:28: acceptance[0].operation: the phase `read` has no write; use `read`",
        ),
        (
            "at_most: 2s,",
            "at_most: 2s, of: bog, phase: read,",
            "my.yaml:28: acceptance[0].of: there is no workload `bog`",
        ),
        ("slowest_operation", "slowest", 'my.yaml:28: acceptance[0]: "slowest" is not a measure; did you mean'),
        ("steps:", "repetitions: 5000\nsteps:", 'my.yaml:11: repetitions: "5000" is out of range; use 1 to 1000'),
        (
            "steps:",
            "case_order: interleaved\nsteps:",
            "my.yaml:11: case_order: nothing is repeated, so no sweep runs in reverse; use `repetitions: 2` or more",
        ),
    ],
)
def test_a_wrong_study_is_refused_with_line_key_and_remedy(small: str, old: str, new: str, message: str) -> None:
    assert old in small
    assert any(line.startswith(message) for line in refusal(small.replace(old, new, 1)))


def test_a_mistake_is_reported_once(small: str) -> None:
    assert len(refusal(small.replace("transfer:", "transfr:"))) == 1
    assert len(refusal(small.replace("steps:", "repetitions: x\nsteps:"))) == 1


def test_many_mistakes_are_reported_together_up_to_a_limit(small: str) -> None:
    wrong = "".join(f"wrong{number}: 1\n" for number in range(30))
    lines = refusal(small + wrong)
    assert len(lines) == 11
    assert lines[-1] == "… and 20 more."


def test_a_study_without_a_summary_has_a_row_for_each_workload_in_the_unit_of_its_first_figure(small: str) -> None:
    text = small.replace("summary:\n  - {label: Big, workload: big, unit: GB/s}\n", "")
    (row,) = resolve(parse_source(text, "my.yaml", "study"), None, []).entry.summary
    assert (row.label, row.workload, row.unit) == ("Big", "big", "GB/s")
    text = text.replace("figures:\n  - {title: Write, workloads: [big], operation: write, unit: GB/s}\n", "")
    (row,) = resolve(parse_source(text, "my.yaml", "study"), None, []).entry.summary
    assert row.unit == "MB/s"


@pytest.mark.parametrize(
    ("file_of_criteria", "measure"),
    [
        ("every_point: 20MB/s, workload: big", "measure: rate, at_least: 20MB/s, of: big"),
        ("name: creates, every_point: 2kIOPS", "measure: operations_rate, at_least: 2kIOPS"),
        ("slowest_operation: 2s, operation: write", "measure: slowest_operation, at_most: 2s, operation: write"),
    ],
)
def test_acceptance_has_the_keys_of_a_file_of_criteria_too(small: str, file_of_criteria: str, measure: str) -> None:
    before = small.partition("acceptance:")[0]

    def criteria(keys: str) -> list[Criterion]:
        text = f"{before}acceptance:\n  - {{{keys}, because: of that}}\n"
        return resolve(parse_source(text, "my.yaml", "study"), None, []).entry.acceptance

    assert criteria(file_of_criteria) == criteria(measure)
