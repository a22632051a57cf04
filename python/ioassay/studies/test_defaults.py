"""Figures of a study that asks for none: what it sweeps, as fast as it can."""

from __future__ import annotations

from ioassay.studies.resolve import resolve
from ioassay.yaml_models.source import parse_source

HEAD = "name: s\ntitle: S\nquestion: Q?\nclients: [1]\nsteps: [write, read]\nworkloads:\n"


def workload(name: str, more: str = "") -> str:
    return (
        f"  {name}: {{title: {name.upper()}, layout: N-N, order: sequential, transfer: 4k, per_client: 1MiB{more}}}\n"
    )


def figures(text: str) -> list[tuple[str, list[str], str]]:
    figures = resolve(parse_source(text, "s.yaml", "study"), None, []).entry.figures
    return [(figure.title, figure.workloads, figure.unit) for figure in figures]


def test_workloads_swept_alike_share_a_figure_for_each_operation() -> None:
    text = HEAD.replace("[1]", "[1, 2]") + workload("a") + workload("b")
    assert figures(text) == [("Write rate", ["a", "b"], "MB/s"), ("Read rate", ["a", "b"], "MB/s")]


def test_workloads_with_other_axes_have_their_own_figures_and_single_points_none() -> None:
    text = HEAD + workload("a", ", ranks_per_client: [1, 2]") + workload("b", ", sweep: {segments: [1, 2]}")
    assert [title for title, _, _ in figures(text + workload("c"))] == [
        "Write rate of A",
        "Read rate of A",
        "Write rate of B",
        "Read rate of B",
    ]
    assert figures(HEAD + workload("c")) == []


def test_a_phase_at_a_given_rate_has_no_rate_to_draw_and_directories_none_either() -> None:
    paced = ", ranks_per_client: [1, 2], steps: [write: {rate: 1MB/s}, read]"
    assert figures(HEAD + workload("a", paced)) == [("Read rate", ["a"], "MB/s")]
    tree = "  t: {title: T, ranks_per_client: [1, 2], tree: {items: 10}, steps: [create-tree, create]}\n"
    assert figures(HEAD + tree) == [("Create rate", ["t"], "kIOPS")]
