"""Labs as YAML: refusals, and the reference page."""

from __future__ import annotations

import pytest

from ioassay.lab.library import LABS, changed, read
from ioassay.lab.reference import PAGE, page
from ioassay.yaml_models.reference import DOCS, formatted
from ioassay.yaml_models.source import SourceError, parse_source

HEAD = "name: mine\ntitle: For tests\n"


def refusal(text: str) -> str:
    with pytest.raises(SourceError) as refused:
        read(parse_source(HEAD + text, "mine.yaml", "lab"))
    return refused.value.message


@pytest.mark.parametrize("name", LABS.sources())
def test_a_built_in_lab_has_the_name_of_its_file_and_lists_its_requirements(name: str) -> None:
    lab = read(LABS.find(name))
    assert lab.name == name
    assert lab.storage.wanted
    assert {requirement.name for requirement in lab.requirements() if hasattr(requirement, "name")} >= {"unshare", "ip"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("storage: {lustre: {}}\n", "mine.yaml:3: storage.lustre: unknown key"),
        ("storage: {xfs: {}}\nlink: 1Gb\n", 'mine.yaml:4: link: "1Gb" has the unknown suffix "Gb"; use kbit Mbit Gbit'),
        ("storage: {xfs: {}}\nhosts: 0\n", 'mine.yaml:4: hosts: "0" is out of range'),
        ("storage: {xfs: {}}\nhosts: 254\n", "mine.yaml:3: has 255 hosts and servers"),
        ("storage: {moosefs: {copies: 3}}\n", "mine.yaml:3: storage.moosefs: keeps 3 copies on 2 chunk servers"),
        ("storage: {gluster: {replicas: 3}}\n", "mine.yaml:3: storage.gluster: keeps 3 copies on 2 bricks"),
        ("hosts: 2\n", "mine.yaml:3: storage: is missing; add it"),
        ("storage: {}\n", "mine.yaml:3: storage: is empty"),
    ],
)
def test_an_invalid_lab_is_refused_with_its_line(text: str, message: str) -> None:
    assert message.split(":", 2)[2].strip() in refusal(text)


def test_options_of_the_command_line_are_keys_of_the_lab() -> None:
    lab = read(changed(LABS.find("gluster"), {"hosts": "4", "link": "10Gbit", "ssh": "yes"}))
    assert (lab.hosts, lab.link, lab.ssh) == (4, 10 * 10**9, True)


def test_the_page_in_the_checkout_is_the_generated_one() -> None:
    assert (DOCS / PAGE).read_text() == formatted(page())
    assert "|  |" not in page()
