//! `python/ioassay/protocol/watch_kinds.py`: the kinds of documents that an agent makes, with their fields.

use std::fmt::Write;

use ioassay_agent::node;
use ioassay_protocol::watch::document::{FieldKind, Kind};
use ioassay_protocol::watch::kinds::KINDS;
use serde_json::Value;

const HEAD: &str = r#"# Written by `make generate` from the Rust side (crates/dev/src/watch_kinds.rs): change it there.

"""The documents of an agent: their kinds, and what fields these have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

FieldKind = Literal["label", "key", "text", "amount", "greatest", "level", "moment"]
"""Labels tell series apart, keys documents of a second; amounts add up; the greatest is of the second, a level its end.

Moments are nanoseconds since 1970.
"""


class Field(NamedTuple):
    """A field of all documents of a kind."""

    name: str
    kind: FieldKind
    about: str


class Kind(NamedTuple):
    """A kind of documents."""

    about: str
    fields: tuple[Field, ...]


"#;

/// The module.
pub fn module() -> String {
    let mut text = HEAD.to_owned();
    for (name, kinds, about) in [
        ("JOB_KINDS", KINDS, "Of jobs, rules, runs and the agent itself."),
        ("NODE_KINDS", node::KINDS.as_slice(), "Of the node's own counters."),
    ] {
        writeln!(text, "{name}: Final[Mapping[str, Kind]] = {{").expect("a string takes all");
        kinds.iter().for_each(|kind| write_kind(&mut text, kind));
        writeln!(text, "}}\n\"\"\"{about}\"\"\"\n").expect("a string takes all");
    }
    text.push_str("DATE_FIELDS: Final[Mapping[str, str]] = {\n");
    for moment in KINDS.iter().flat_map(|kind| kind.fields).filter(|field| field.kind == FieldKind::Moment) {
        writeln!(text, "    {}: {},", quoted(moment.name), quoted(&moment.time_name())).expect("a string takes all");
    }
    text + "}\n\"\"\"Moments, and their names in stores that have a type for dates: Elasticsearch, OpenSearch, Parquet.\"\"\"\n"
}

fn write_kind(text: &mut String, kind: &Kind) {
    let mut line =
        |depth: usize, line: String| writeln!(text, "{:1$}{line}", "", depth * 4).expect("a string takes all");
    line(1, format!("{}: Kind(", quoted(kind.name)));
    line(2, format!("{},", quoted(kind.about)));
    line(2, "(".to_owned());
    for field in kind.fields {
        let Ok(Value::String(word)) = serde_json::to_value(field.kind) else { continue };
        line(3, format!("Field({}, {}, {}),", quoted(field.name), quoted(&word), quoted(field.about)));
    }
    line(2, "),".to_owned());
    line(1, "),".to_owned());
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
