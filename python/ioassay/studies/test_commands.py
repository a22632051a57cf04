"""The equivalent IOR command lines, beside those of the paper's appendix, and mdtest's."""

import pytest

from ioassay.studies.cases import Case, expand
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import parse_source

RUN = "ioassay-R"


def commands(case: str, *settings: str, scale: str | None = None, launcher: str = "mpirun") -> list[str]:
    resolved = resolve(find_study("isilon-2018"), scale, settings)
    return of_case(expand(resolved, "R", Target("directory", "/mnt/nfs"), launcher), case)


def of_case(expanded: list[Case], case: str) -> list[str]:
    return [job.command for entry, _, _ in expanded if entry.id == case for phase in entry.phases for job in phase.jobs]


@pytest.mark.parametrize(("clients", "block"), [(1, "2048g"), (2, "1024g"), (4, "512g"), (64, "32g")])
@pytest.mark.parametrize(("workload", "files"), [("sequential-n-n", "-F "), ("sequential-n-1", "")])
def test_the_full_scale_is_the_papers_appendix(clients: int, block: str, workload: str, files: str) -> None:
    case = f"{workload}.c{clients:03}.r1"
    assert commands(case) == [
        f"mpirun -np {clients} -npernode 1 -hostfile hosts ior -a POSIX -v -i 1 -d 3 -e {files}-k "
        f"-o /mnt/nfs/{RUN}/{case}.data {direction} -s 1 -t 1m -b {block}"
        for direction in ("-w", "-r")
    ]


def test_random_order_is_ior_z() -> None:
    write, read = commands("random-small.c002.r1")
    assert write.endswith("-w -z -s 1 -t 4k -b 8g")
    assert read.endswith("-r -z -s 1 -t 4k -b 8g")


def test_ranks_of_this_machine_need_no_host_file() -> None:
    command = commands("sequential-n-n.c004.r1", launcher="local")[0]
    assert command.startswith("mpirun -np 4 ior -a POSIX ")


def test_a_pause_that_ior_cannot_do_is_noted() -> None:
    command = commands("sequential-n-n.c004.r1", scale="quick")[0]
    assert " -d 1 " in command
    assert command.endswith("  # the pause was 100 ms; -d takes whole seconds")


HEAD = "name: s\ntitle: S\nquestion: Q?\nclients: [1, 4]\nranks_per_client: 2\nworkloads:\n"
FILES = "  w: {title: W, layout: N-N, order: sequential, transfer: 4k, total: 64k, steps: "
TREE = "  w: {title: W, tree: {items: 4}, steps: "


def last_command(workload: str, clients: int, launcher: str) -> str:
    *_, command = of_case(expanded(HEAD + workload, launcher), f"w.c00{clients}.r1")
    return command


def expanded(text: str, launcher: str, target: str = "/t") -> list[Case]:
    resolved = resolve(parse_source(text, "my.yaml", "study"), None, [])
    return expand(resolved, "R", Target("directory", target), launcher)


@pytest.mark.parametrize(
    ("source", "clients", "launcher", "words"),
    [
        ("shift 4", 4, "mpirun", " -C -Q 2"),
        ("shuffled 7", 4, "mpirun", " -Z -Z -X 7"),
        ("shuffled 7", 1, "mpirun", " -Z -Z "),
    ],
)
def test_ior_reads_what_ranks_of_other_nodes_wrote_or_each_part_once(
    source: str, clients: int, launcher: str, words: str
) -> None:
    read = last_command(f"{FILES}[write, read: {{read_from: {source}}}]}}\n", clients, launcher)
    assert words in read
    assert "#" not in read


@pytest.mark.parametrize(
    ("source", "clients", "launcher"),
    [
        ("shift 3", 4, "mpirun"),
        ("shift 4", 4, "local"),
        ("shift 4", 1, "mpirun"),
        ("shift 3", 1, "mpirun"),
        ("shift 4", 1, "local"),
    ],
)
def test_a_shift_that_is_none_of_nodes_is_noted(source: str, clients: int, launcher: str) -> None:
    read = last_command(f"{FILES}[write, read: {{read_from: {source}}}]}}\n", clients, launcher)
    further = source.removeprefix("shift ")
    assert read.endswith(f"# IOR's -C goes to other nodes; here each read the part of the rank {further} further on")
    assert " -Q " not in read


def test_a_shift_of_items_in_separate_trees_is_noted() -> None:
    stat = last_command(f"{TREE}[create-tree, create, stat: {{shift: 1}}]}}\n", 4, "local")
    assert stat.endswith(" -u -d /t/ioassay-R/w.c004.r1  # here each rank took the items of the rank 1 further on")


def test_a_size_that_no_letter_fits_is_in_bytes() -> None:
    command = commands("random-small.c001.r1", "small_file=12KiB")[0]
    assert command.endswith("-t 4k -b 12k")


def test_differences_of_ior_are_named_and_names_are_quoted(small: str) -> None:
    text = small.replace("- read", "- read: {order: random-with-replacement}").replace(
        "transfer: 1MiB", "transfer: 512"
    )
    write, read = of_case(expanded(text, "mpirun", "/mnt/my data"), "big.c001.r1")
    assert "-o '/mnt/my data/ioassay-R/big.c001.r1.data' -w -s 1 -t 512 -b 8m" in write
    assert read.endswith("# -z visits each offset once; here each was drawn afresh")
