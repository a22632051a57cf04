"""A study that extends another: what it takes, what it changes, and whose line is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.studies.cases import expand
from ioassay.studies.library import find_study
from ioassay.studies.reference import EXTENDING
from ioassay.studies.resolve import ResolvedStudy, resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source, plain, read_source

WRITTEN_OUT = Path(__file__).parent / "testdata/io500-extended-written-out.yaml"


@pytest.fixture
def base(tmp_path: Path, small: str) -> Path:
    """The small study as a file to extend."""
    (tmp_path / "small.yaml").write_text(small)
    return tmp_path


def resolved(base: Path, text: str, scale: str | None = None) -> ResolvedStudy:
    (base / "mine.yaml").write_text(f"extends: small.yaml\nname: mine\n{text}")
    return resolve(find_study(str(base / "mine.yaml")), scale, [])


def problem(base: Path, text: str) -> str:
    with pytest.raises(SourceError) as error:
        resolved(base, text)
    return str(error.value).replace(f"{base}/", "")


@pytest.mark.parametrize("scale", [None, "full", "quick"])
def test_an_extension_does_what_the_same_study_does_when_it_is_written_out(scale: str | None) -> None:
    studies = (find_study("io500-extended"), read_source(WRITTEN_OUT, "study"))
    extended, written_out = (
        expand(resolve(source, scale, []), "run", Target("directory", "/t"), "local") for source in studies
    )
    assert extended == written_out


def test_the_example_of_the_reference_page_is_a_study(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(EXTENDING.split("```yaml\n")[1].split("```")[0])
    study = resolve(find_study(str(tmp_path / "mine.yaml")), "week", []).study
    steps = study.workloads["io500"].steps
    assert (steps[0].name, steps[1].pause) == ("ior-easy-write", 10 * 10**9)
    assert (study.name, study.clients, study.ranks_per_client) == ("io500-large", [1, 2, 4, 8], [32])


def test_its_text_is_whole_so_that_a_run_needs_no_other_file() -> None:
    source = find_study("io500-extended")
    again = parse_source(source.text, "stored.yaml", "study")
    assert plain(again.tree) == plain(source.tree)
    assert "extends" not in again.tree.entries
    assert resolve(source, "quick", []).entry.text == source.text


def test_settings_and_scales_are_merged_and_all_else_is_taken_over(base: Path) -> None:
    study = resolved(base, "settings: {total: 16MiB}\nscales: {tiny: {clients: [1]}, large: {total: 1GiB}}", "tiny")
    assert study.entry.settings == {"clients": ["1"], "total": "4MiB"}
    assert (study.entry.name, study.entry.title) == ("mine", "A small study")
    assert resolved(base, "settings: {total: 16MiB}").study.workloads["big"].files["data"].total == 16 << 20


@pytest.mark.parametrize("nothing", ["", " null", " ~"])
def test_a_workload_is_changed_added_or_taken_out(base: Path, nothing: str) -> None:
    other = "other: {title: Other, layout: N-1, order: random, transfer: 4k, total: 1MiB}"
    study = resolved(base, f"workloads:\n  big: {{transfer: 2MiB}}\n  {other}").study
    assert [*study.workloads] == ["big", "other"]
    assert study.workloads["big"].files["data"].transfer == 2 << 20
    assert study.workloads["big"].files["data"].layout == "N-N"
    only = resolved(base, f"workloads:\n  big:{nothing}\n  {other}\nfigures: []\nsummary:{nothing}").study
    assert ([*only.workloads], only.figures, only.summary) == (["other"], [], [])


def test_titles_and_labels_name_the_transfers_that_the_study_now_has(base: Path) -> None:
    def labels(workload: str) -> list[str]:
        (base / "mine.yaml").write_text(f"extends: quick\nname: mine\nworkloads: {{random: {workload}}}\n")
        entry = resolve(find_study(str(base / "mine.yaml")), None, []).entry
        assert [workload.title for workload in entry.workloads] == [row.label for row in entry.summary]
        return [row.label for row in entry.summary]

    assert labels("{repetitions: 1}") == ["Sequential 1 MiB", "Random 4 KiB", "Empty files"]
    assert labels("{transfer: 64KiB}")[1] == "Random 64 KiB"
    assert labels("{transfer: null, sweep: {transfer: [8KiB, 4KiB]}}")[1] == "Random 4 KiB to 8 KiB"


def test_a_title_cannot_name_the_transfer_of_a_workload_without_files(base: Path) -> None:
    (base / "mine.yaml").write_text('extends: quick\nname: mine\nworkloads: {metadata: {title: "{transfer}"}}\n')
    with pytest.raises(SourceError, match=r"mine\.yaml:3: workloads\.metadata\.title: has `{transfer}`"):
        resolve(find_study(str(base / "mine.yaml")), None, [])


def test_figures_rows_and_criteria_go_with_their_workload(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: quick\nname: mine\nworkloads:\n  sequential:\n  metadata:\n")
    study = resolve(find_study(str(tmp_path / "mine.yaml")), None, []).study
    assert [figure.title for figure in study.figures] == ["Random write", "Random read"]
    assert [row.workload for row in study.summary] == ["random"]
    assert [criterion.of for criterion in study.acceptance] == ["all", "all", "random"]


def test_a_figure_keeps_the_workloads_that_are_not_taken_out(base: Path) -> None:
    (base / "two.yaml").write_text(
        "extends: small.yaml\nname: two\n"
        "workloads: {other: {title: Other, layout: N-1, order: random, transfer: 4k, total: 1MiB}}\n"
        "figures: [{title: Both, workloads: [big, other], operation: write, unit: GB/s}]\n"
    )
    (base / "mine.yaml").write_text("extends: two.yaml\nname: mine\nworkloads:\n  big:\n")
    (figure,) = resolve(find_study(str(base / "mine.yaml")), None, []).study.figures
    assert figure.workloads == ["other"]


def test_a_list_is_replaced_and_with_a_plus_added_to(base: Path) -> None:
    more = "[{measure: p99_latency, at_most: 1s, because: tails}]"
    assert [criterion.measure for criterion in resolved(base, f"acceptance: {more}").study.acceptance] == [
        "p99_latency"
    ]
    added = resolved(base, f"acceptance+: {more}").study.acceptance
    assert [criterion.measure for criterion in added] == ["slowest_operation", "p99_latency"]


def test_steps_go_before_after_or_instead_of_a_phase_or_to_the_end(base: Path) -> None:
    edits = """\
steps+:
  - {after: write, steps: [{read: {name: warm}}]}
  - {before: warm, steps: [{pause: 2s}]}
  - {instead_of: read, steps: [{read: {name: cold}}]}
  - {write: {name: again}}
"""
    steps = resolved(base, edits).study.steps
    assert [step.name or step.pause or "cold-cache" for step in steps] == [
        "write",
        2 * 10**9,
        "warm",
        10**9,
        "cold-cache",
        "cold",
        "again",
    ]


def test_unused_settings_of_the_base_are_left_out(base: Path) -> None:
    assert [*resolved(base, "workloads: {big: {total: 4MiB}}").entry.settings] == ["clients"]
    message = problem(base, "settings: {mine: 1}")
    assert message.startswith("mine.yaml:3: settings.mine: nothing uses this setting")


def test_storage_as_a_word_keeps_its_api_when_options_are_added(base: Path) -> None:
    text = (base / "small.yaml").read_text()
    (base / "small.yaml").write_text(text.replace("steps:", "storage: uring\nsteps:", 1))
    storage = resolved(base, "storage: {depth: 8}").study.storage
    assert (storage.api, storage.depth) == ("uring", 8)


def test_a_base_may_extend_another_and_stand_in_another_directory(base: Path) -> None:
    (base / "sites").mkdir()
    (base / "sites/first.yaml").write_text("extends: ../small.yaml\nname: first\nsettings: {total: 3MiB}\n")
    (base / "second.yaml").write_text("extends: sites/first.yaml\nname: second\nsettings: {clients: [3]}\n")
    study = resolve(find_study(str(base / "second.yaml")), None, [])
    assert study.entry.settings == {"clients": ["3"], "total": "3MiB"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workloads: {big: {transfer: x}}", 'mine.yaml:3: workloads.big.transfer: "x"'),
        ("settings: {total: x}", 'mine.yaml:3: settings.total: "x" is not a size'),
        ("figures+: [{title: T, workloads: [big], operation: raed, unit: GB/s}]", "mine.yaml:3: figures+[0].operation"),
        ("surveys+: []", "mine.yaml:3: surveys+: there is no list `surveys` in "),
        ("clients+: [3]", "mine.yaml:3: clients+: there is no list `clients` in "),
        ("steps+: {write: {}}", "mine.yaml:3: steps+: is not a list"),
        ("steps: [write]\nsteps+: [read]", "mine.yaml:4: steps+: stands beside `steps`"),
        (
            "steps+: [{after: raed, steps: []}]",
            'mine.yaml:3: steps+[0].after: there is no phase "raed" in the steps of',
        ),
        ("steps+: [{after: read}]", "mine.yaml:3: steps+[0]: is not a place with steps; write {after: PHASE"),
        ("workloads: {big: {title: }}", "workloads.big.title: is missing"),
        ("titel: x", "mine.yaml:3: titel: unknown key; did you mean `title`?"),
    ],
)
def test_a_problem_names_the_line_and_the_file_of_the_mistake(base: Path, text: str, message: str) -> None:
    assert message in problem(base, text)


def test_a_problem_in_the_base_names_the_base(base: Path) -> None:
    text = (base / "small.yaml").read_text()
    (base / "small.yaml").write_text(text.replace("layout: N-N", "layout: N-2"))
    assert problem(base, "").startswith("small.yaml:19: workloads.big.layout: ")


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        ("io501", 'mine.yaml:1: extends: there is no built-in study "io501"; did you mean `io500`?'),
        ("absent.yaml", "mine.yaml:1: extends: absent.yaml cannot be read: No such file or directory"),
        ("[small.yaml]", "mine.yaml:1: extends: is not a study"),
        ("mine.yaml", "mine.yaml:1: extends: studies extend each other in a circle: mine.yaml → mine.yaml"),
        ("loop.yaml", "loop.yaml:1: extends: studies extend each other in a circle: mine.yaml → loop.yaml → mine.yaml"),
    ],
)
def test_invalid_bases_and_circles_are_refused(base: Path, extends: str, message: str) -> None:
    (base / "loop.yaml").write_text("extends: mine.yaml\nname: loop\n")
    (base / "mine.yaml").write_text(f"extends: {extends}\nname: mine\n")
    with pytest.raises(SourceError) as error:
        find_study(str(base / "mine.yaml"))
    assert str(error.value).replace(f"{base}/", "").startswith(message)


def test_a_study_that_extends_another_needs_a_name_of_its_own(base: Path) -> None:
    (base / "mine.yaml").write_text("extends: small.yaml\n")
    with pytest.raises(SourceError, match="name: is missing; a study that extends another has its own"):
        find_study(str(base / "mine.yaml"))
