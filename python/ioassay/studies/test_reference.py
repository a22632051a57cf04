"""The generated reference page."""

from ioassay.studies.model import Study
from ioassay.studies.reference import PAGE, page
from ioassay.yaml_models.reference import DOCS, formatted
from ioassay.yaml_models.validate import keys


def test_the_page_in_the_checkout_is_the_generated_one() -> None:
    assert (DOCS / PAGE).read_text() == formatted(page())


def test_every_option_has_a_row_with_its_meaning() -> None:
    text = page()
    for key, field in keys(Study).items():
        assert f"| `{key}` |" in text
        assert field.description
        assert field.description in text
    assert "|  |" not in text
