"""Writes a tree as YAML that reads back as the same tree. Comments are lost. Not: the contents of documents."""

from __future__ import annotations

import yaml
from yaml.resolver import Resolver

from ioassay.yaml_models.source import Entries, Items, Node, Text

_WIDTH = 150
"""Columns after which an inline list or mapping is broken."""


def written(tree: Entries) -> str:
    """The tree as YAML: one key per line, and one line per item."""
    return yaml.serialize(
        _node(tree, Resolver(), in_line=False), width=_WIDTH, allow_unicode=True, Dumper=yaml.SafeDumper
    )


def _node(node: Node, resolver: Resolver, *, in_line: bool) -> yaml.Node:
    match node:
        case Text():
            # With the tag that a plain scalar has by itself, the emitter adds no unnecessary tag or quotes.
            tag = resolver.resolve(yaml.ScalarNode, node.text, (True, False))  # type: ignore[no-untyped-call]
            return yaml.ScalarNode(tag, node.text)
        case Items():
            in_line = in_line or all(isinstance(item, Text) for item in node.items)
            items = [_item(item, resolver, in_line=in_line) for item in node.items]
            return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=in_line)
        case Entries():
            entries = [
                (_node(Text(name, node.origin), resolver, in_line=True), _node(entry, resolver, in_line=in_line))
                for name, entry in node.entries.items()
            ]
            return yaml.MappingNode("tag:yaml.org,2002:map", entries, flow_style=in_line or not entries)


def _item(item: Node, resolver: Resolver, *, in_line: bool) -> yaml.Node:
    """`- write: {files: data}`: a single key of an item precedes the braces."""
    yaml_node = _node(item, resolver, in_line=True)
    if isinstance(yaml_node, yaml.MappingNode) and len(yaml_node.value) == 1:
        yaml_node.flow_style = in_line
    return yaml_node
