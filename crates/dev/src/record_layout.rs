//! `python/ioassay/protocol/record_layout.py`: the tables of a recorder, as numpy reads them.

use std::fmt::{Debug, Write};

use ioassay_record::buckets;
use ioassay_record::checksums::{self, Checksums, ChunkChecksum};
use ioassay_record::layout::{Field, Layout};
use ioassay_record::operation::{self, Operation};
use ioassay_record::path_rules::{PATH_RULES, TEXT_BYTES};
use ioassay_record::rings::{Unreadable, setup};
use ioassay_record::rows::{FoundTable, LossCause, LostBytes, Part, PartKind};
use ioassay_record::rules::{PATHS_BYTES, SLOTS};
use ioassay_record::seconds::STEPS_PER_SECOND;
use ioassay_record::table::{
    ALIGNMENT, Block, BlockKind, Caller, Clock, Errors, File, FileKind, Folded, Frame, Header, KERNEL_COUNTERS,
    LARGEST, Latencies, MAGIC, Map, MapAccess, Module, Opened, PYTHON_MINORS, REGION_DEPTH, Region, Ring,
    STORAGE_COUNTERS, Second, Seconds, Stack, Stacks, State, Steps, TOTALS, Text, TextKind, Thread, Transfers, VERSION,
    WATCHED_ROWS, Watched, WatchedRow,
};

use crate::facts::tuple;

const HEAD: &str = r#"# Written by `make generate` from the Rust side (crates/dev/src/record_layout.rs): change it there.

"""The tables of a recorder: structures, of which arrays of several dimensions are flat, numbers and words (crates/record
says more).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
"#;

/// An enumeration of Python with all variants of one of Rust; the compiler says when one is missing.
macro_rules! enumeration {
    ($kind:ident: $($variant:ident),+) => {{
        fn all() -> Vec<(String, u64)> {
            let every = [$($kind::$variant),+];
            match every[0] { $($kind::$variant => {})+ }
            every.into_iter().map(|variant| (constant(&variant), variant as u64)).collect()
        }
        enumeration(stringify!($kind), &all())
    }};
}

/// The module.
pub fn module() -> String {
    let mut text = HEAD.to_owned();
    let mut constant = |name: &str, value: String, about: &str| {
        write!(text, "\n{name}: Final = {value}\n\"\"\"{about}\"\"\"\n").expect("a string takes all");
    };
    constant("MAGIC", format!("b{:?}", String::from_utf8_lossy(&MAGIC)), "How a table begins.");
    constant("VERSION", VERSION.to_string(), "Of the layouts.");
    constant(
        "CHECKSUMS_MAGIC",
        format!("b{:?}", String::from_utf8_lossy(&checksums::MAGIC)),
        "How a file of checksums begins.",
    );
    constant("CHECKSUMS_VERSION", checksums::VERSION.to_string(), "Of its layouts.");
    constant("NO_BLOCK", checksums::NO_BLOCK.to_string(), "`first_block` of a chunk in which none begins.");
    constant("ALIGNMENT", ALIGNMENT.to_string(), "Every block begins at a multiple of this.");
    constant("LARGEST_BYTES", LARGEST.to_string(), "Of a table.");
    constant(
        "OPERATIONS",
        tuple(Operation::ALL.iter().map(|operation| operation.word())),
        "The classes of calls, by number.",
    );
    constant("MOST_OPERATIONS", operation::OPERATIONS.to_string(), "Classes that a table has room for.");
    constant("FIRST_TRANSFER", operation::FIRST_TRANSFER.to_string(), "The first class that moves bytes.");
    constant("TOTALS", tuple(TOTALS), "What is kept of the calls of an operation in a second.");
    constant("KERNEL_COUNTERS", tuple(KERNEL_COUNTERS), "What the kernel counts of a thread's calls.");
    constant("STORAGE_COUNTERS", tuple(STORAGE_COUNTERS), "What it counts of a thread's traffic with storage.");
    constant("REGION_DEPTH", REGION_DEPTH.to_string(), "Regions within each other.");
    constant("SLOTS", SLOTS.to_string(), "Rules of calls that are counted at the same time, at most.");
    constant(
        "PATTERNS_BYTES",
        PATHS_BYTES.to_string(),
        "What the paths of rules have together that all have slots, at most.",
    );
    constant(
        "PATH_RULES",
        PATH_RULES.to_string(),
        "Rules with paths that have slots only when they are needed, at most.",
    );
    constant("PATH_RULES_BYTES", TEXT_BYTES.to_string(), "What their paths have together, at most.");
    constant("SQPOLL", setup::SQPOLL.to_string(), "Flag of a ring: the kernel takes its requests without a call.");
    constant("WATCHED_ROWS", WATCHED_ROWS.to_string(), "Rows that follow a block of what rules match.");
    constant("FIRST_PYTHON_MINOR", PYTHON_MINORS.start().to_string(), "Of Python 3: the first whose frames are read.");
    constant("LAST_PYTHON_MINOR", PYTHON_MINORS.end().to_string(), "And the last.");
    let latencies: Vec<_> =
        (0..buckets::LATENCIES).map(|number| buckets::latency_begins_at(number).to_string()).collect();
    constant(
        "LATENCY_BEGINS_TICKS",
        format!("({})", latencies.join(", ")),
        "The least latency in each bucket; the last bucket has no end.",
    );
    let sizes: Vec<_> =
        (0..buckets::SIZES).map(|number| if number == 0 { 0 } else { 1_u64 << (number - 1) }.to_string()).collect();
    constant(
        "SIZE_BEGINS_BYTES",
        format!("({})", sizes.join(", ")),
        "The least size in each bucket; the last bucket has no end.",
    );
    constant(
        "STEPS_PER_SECOND",
        STEPS_PER_SECOND.to_string(),
        "Of rows of steps: how many of the shortest a second has.",
    );
    text += &enumeration!(
        BlockKind: Reserved, Text, Thread, Latencies, Seconds, File, Opened, Transfers, Errors, Watched, Map, Ring, Steps, Region, Folded,
        Module, Frame, Stack, Caller
    );
    text += &enumeration!(State: Running, Exited, Replaced, Stayed);
    text += &enumeration!(Clock: Counter, Nanoseconds);
    text += &enumeration!(MapAccess: Read, Write, PrivateWrite);
    text += &enumeration!(TextKind: Command, Executable, Directory, Node, Job, Replacement);
    text += &enumeration!(
        FileKind: Unknown, Kernel, Regular, Directory, BlockDevice, CharacterDevice, Pipe, Socket, Anonymous, Others,
        Memory
    );
    text += &enumeration!(Stacks: Off, On, Unreadable);
    text += &enumeration!(PartKind: Lost, FoundTables, Tables, End);
    text += &enumeration!(LossCause: Damaged, OtherVersion, DamagedChecksums, MissingEnd);
    text += &enumeration!(Unreadable: SetUpUnseen, Kind, Memory, TooMany);
    text + "\n"
        + &[
            structure::<Header>(),
            structure::<Block>(),
            structure::<Text>(),
            structure::<Thread>(),
            structure::<Latencies>(),
            structure::<Seconds>(),
            structure::<Second>(),
            structure::<Steps>(),
            structure::<File>(),
            structure::<Folded>(),
            structure::<Opened>(),
            structure::<Transfers>(),
            structure::<Map>(),
            structure::<Errors>(),
            structure::<Watched>(),
            structure::<WatchedRow>(),
            structure::<Region>(),
            structure::<Checksums>(),
            structure::<ChunkChecksum>(),
            structure::<Ring>(),
            structure::<Module>(),
            structure::<Frame>(),
            structure::<Stack>(),
            structure::<Caller>(),
            structure::<Part>(),
            structure::<FoundTable>(),
            structure::<LostBytes>(),
        ]
        .concat()
}

fn enumeration(name: &str, variants: &[(String, u64)]) -> String {
    let lines: Vec<_> = variants.iter().map(|(name, number)| format!("    {name} = {number}\n")).collect();
    format!("\n\nclass {name}(IntEnum):\n{}", lines.concat())
}

/// `CHARACTER_DEVICE` of `CharacterDevice`.
fn constant(variant: &impl Debug) -> String {
    screaming(&format!("{variant:?}"))
}

fn screaming(name: &str) -> String {
    let mut text = String::new();
    for (index, letter) in name.char_indices() {
        if index > 0 && letter.is_uppercase() {
            text.push('_');
        }
        text.extend(letter.to_uppercase());
    }
    text
}

fn structure<T: Layout>() -> String {
    let format = |field: &Field| match field.elements {
        1 => field.format.to_owned(),
        many => format!("({many},){}", field.format),
    };
    let list = |item: &dyn Fn(&Field) -> String| T::FIELDS.iter().map(item).collect::<Vec<_>>().join(", ");
    format!(
        "\n{}: Final[np.dtype[np.void]] = np.dtype(\n    {{\n        \"names\": [{}],\n        \"formats\": [{}],\n        \
         \"offsets\": [{}],\n        \"itemsize\": {},\n    }}\n)\n",
        screaming(T::NAME),
        list(&|field| format!("{:?}", field.name)),
        list(&|field| format!("{:?}", format(field))),
        list(&|field| field.offset.to_string()),
        size_of::<T>(),
    )
}
