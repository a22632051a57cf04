"""`${NAME}`: where a study uses its settings. Not: their values (`resolve`)."""

from __future__ import annotations

import re

from ioassay.yaml_models.source import Entries, texts

REFERENCE = re.compile(r"\$\{([^{}]*)\}")

UNFILLED = ("settings", "scales")
"""The keys of a study in which settings get their values; no setting is used there."""


def references(tree: Entries) -> set[str]:
    """The names of all settings that the study uses."""
    filled = (node for name, node in tree.entries.items() if name not in UNFILLED)
    return {name for node in filled for text in texts(node) for name in REFERENCE.findall(text.text)}
