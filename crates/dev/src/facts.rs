//! `python/ioassay/protocol/facts.py`: what the control plane has to know as the engine knows it, as Python constants.
//!
//! How to add one: `docs/development/engine.md`.

use std::fmt::{Display, Write};

use ioassay_engine::facts as engine;
use ioassay_engine::{storage, supervise};
use ioassay_frontends::facts as frontends;
use ioassay_frontends::io500::facts as io500;
use ioassay_protocol::VERSION;
use ioassay_protocol::doubt::Reason;
use ioassay_protocol::front_end::Tool;
use ioassay_protocol::plan::Operation;
use ioassay_protocol::plan::metadata::MetadataOperation;
use ioassay_protocol::record::RecordState;
use ioassay_protocol::watch::{contract, registration};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

const HEAD: &str = r#"# Written by `make generate` from the Rust side (crates/dev/src/facts.rs): change it there.

"""Facts that the engine goes by, for the control plane to go by the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple
"#;

/// The module.
pub fn module() -> String {
    let mut text = HEAD.to_owned();
    let mut fact = |name: &str, value: &dyn Display, about: &str| {
        write!(text, "\n{name} = {value}\n\"\"\"{about}\"\"\"\n").expect("a string takes all");
    };
    fact("PROTOCOL_VERSION: Final", &VERSION, "Of plans, events and what front ends leave.");
    fact("MOST_RANKS: Final", &engine::MOST_RANKS, "In a case.");
    fact("LARGEST_CASE_BYTES: Final", &engine::LARGEST_CASE_BYTES, "What a case may hold, and write.");
    fact("LARGEST_TRANSFER_BYTES: Final", &engine::LARGEST_TRANSFER_BYTES, "In one call.");
    fact("MOST_IN_FLIGHT: Final", &engine::MOST_IN_FLIGHT, "Transfers of a rank.");
    fact("MOST_RETRIES: Final", &engine::MOST_RETRIES, "Repetitions of one request.");
    fact("MOST_VECTORS: Final", &engine::MOST_VECTORS, "Pieces of memory in one call.");
    fact("LONGEST_WAIT_NS: Final", &engine::A_DAY_NS, "A day: nothing waits longer.");
    fact("SHORTEST_SAMPLE_NS: Final", &engine::SHORTEST_SAMPLE_NS, "The shortest `sample_interval`.");
    fact("LONGEST_SAMPLE_NS: Final", &engine::LONGEST_SAMPLE_NS, "The longest `sample_interval`.");
    let registrations = format!("{:?}", registration::OF_NODE);
    fact("NODE_REGISTRATIONS: Final", &registrations, "Where records register with the agent of their node.");
    let variable = format!("{:?}", registration::OF_NODE_VARIABLE);
    fact("NODE_REGISTRATIONS_VARIABLE: Final", &variable, "Names another directory for that.");
    fact("LONGEST_WINDOW_S: Final", &contract::LONGEST_WINDOW_S, "A day: the longest window of a rule.");
    let cold = "Caches are cold with at most this share of the file sets in memory.";
    fact("COLD_SHARE: Final", &engine::COLD_SHARE, cold);
    let short = "A phase shorter than this is dominated by its beginning and its end.";
    fact("SHORTEST_PHASE_NS: Final", &engine::SHORTEST_PHASE_NS, short);
    fact("STORAGE_APIS: Final", &tuple(storage::all_names()), "The engine's own, which need no library.");
    let uring = storage::all().filter(|api| api.capabilities().uring).map(|api| api.name());
    fact("URING_APIS: Final", &tuple(uring), "Those of them that move bytes through rings of io_uring.");
    fact("NOT_STOPPING: Final", &tuple(supervise::not_stopping()), "The signals that end no run.");
    fact("Operation", &literal(&constants::<Operation>()), "What the operations of a measurement do.");
    fact("RecordState", &literal(&constants::<RecordState>()), "Whether a recording ended, and how.");
    let replacement = MetadataOperation::Replace { bytes: 0 }.operations();
    fact(
        "REPLACEMENT: tuple[Operation, ...]",
        &tuple(words(replacement)),
        "What replacing an item does, in this order.",
    );
    fact("Tool", &literal(&constants::<Tool>()), "The tools that have a front end.");
    fact("DoubtKind", &literal(&constants::<Reason>()), "The doubts that the engine raises.");
    let mpi: Vec<_> = frontends::mpi_apis().collect();
    let apis = frontends::ior_apis().map(|(ior, api)| format!("{ior:?}: {api:?}"));
    let apis = format!("{{{}}}", apis.collect::<Vec<_>>().join(", "));
    fact("IOR_APIS: Mapping[str, str]", &apis, "IOR's names of APIs, each with the storage API that does the same.");
    fact("MPI_APIS: Final", &tuple(mpi), "IOR's names of APIs whose ranks are MPI processes.");
    let (ior, mdtest) = (frontends::ior_options(), frontends::mdtest_options());
    let valued = "The letters of the short options that take a value.";
    for (name, options) in [("IOR", &ior), ("MDTEST", &mdtest), ("IOZONE", &frontends::iozone_options())] {
        fact(&format!("{name}_VALUED: Final"), &format!("frozenset({:?})", frontends::valued(options)), valued);
    }
    for (name, options) in [("Ior", &ior), ("Mdtest", &mdtest)] {
        let of = |with_value| literal(&frontends::taken(options, with_value));
        fact(&format!("{name}Flag"), &of(false), "The options without a value that the front end takes.");
        fact(&format!("{name}Option"), &of(true), "The options with a value that the front end takes.");
    }
    let directives = frontends::taken(&frontends::ior_directives(), true);
    let directives: Vec<_> = directives.iter().filter_map(|name| name.strip_prefix("-O ")).collect();
    fact("IorDirective", &literal(&directives), "The directives of `-O` that the front end takes.");
    let stonewall = "When the stonewall of a phase that writes comes, and how long the phase takes at least.";
    fact("IO500_STONEWALL_NS: Final", &io500::stonewall_ns(), stonewall);
    text += PHASE;
    for phase in io500::phases() {
        writeln!(text, "    {},", of_phase(&phase)).expect("a string takes all");
    }
    text + ")\n\"\"\"All that measure something, in the order in which they run.\"\"\"\n"
}

const PHASE: &str = r#"

class Io500Phase(NamedTuple):
    """A phase of the IO500."""

    name: str
    unit: Literal["GiB/s", "kIOPS"]
    """Of its score."""
    lists: tuple[Literal["standard", "extended"], ...]
    """Where it counts."""
    walled: bool
    """It ends at a stonewall, with wear-out."""
    operations: tuple[Operation, ...]
    """What its operations do; the last names what it counts."""
    layout: str | None
    """The layout or sharing that the rules fix."""
    moves: int | None
    """Bytes of an operation, where the rules fix them."""
    all_of: str | None
    """The phase that made what it works on, all of it."""


IO500_PHASES: Final = (
"#;

fn of_phase(phase: &io500::PhaseFacts) -> String {
    let io500::PhaseFacts { name, unit, lists, walled, operations, layout, moves, all_of } = phase;
    let walled = if *walled { "True" } else { "False" };
    let text = |value: &Option<&str>| value.map_or("None".to_owned(), |value| format!("{value:?}"));
    let moves = moves.map_or("None".to_owned(), |bytes| bytes.to_string());
    let (lists, operations) = (tuple(lists.iter().copied()), tuple(words(operations)));
    let (layout, all_of) = (text(layout), text(all_of));
    format!("Io500Phase({name:?}, {unit:?}, {lists}, {walled}, {operations}, {layout}, {moves}, {all_of})")
}

/// A tuple of words.
pub fn tuple<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("{:?}", item.as_ref())).collect();
    format!("({}{})", items.join(", "), if items.len() == 1 { "," } else { "" })
}

fn literal<T: AsRef<str>>(words: &[T]) -> String {
    format!("Literal[{}]", words.iter().map(|word| format!("{:?}", word.as_ref())).collect::<Vec<_>>().join(", "))
}

/// As documents have them.
fn words(operations: &[Operation]) -> Vec<String> {
    let word = |operation| serde_json::to_value(operation).expect("it is a word");
    operations.iter().map(|operation| word(operation).as_str().expect("it is a word").to_owned()).collect()
}

/// The words that tell the variants of an enumeration apart.
fn constants<T: JsonSchema>() -> Vec<String> {
    let schema = schema_for!(T).to_value();
    let variants = schema["oneOf"].as_array().expect("it is an enumeration").iter();
    let word = |variant: &Value| variant.get("const").or_else(|| variant["properties"]["kind"].get("const")).cloned();
    variants
        .map(|variant| word(variant).and_then(|word| Some(word.as_str()?.to_owned())).expect("it has a word"))
        .collect()
}
