//! The documents that cross a boundary between the control plane and the engine or an agent.
//!
//! * [`plan::Plan`] goes in: one case, fully resolved, as `plan.json`.
//! * [`events::Event`] comes out: one JSON object per line, appended to `events.jsonl` as it happens.
//! * [`record`]: what was recorded of a command, as `record.json`.
//! * [`snapshot`]: what tuning needs to know of a node, as an archive.
//! * [`watch`]: what an agent is asked, and what it says.
//!
//! What belongs here: the shape of these documents, their version, and the words of their fields.
//! What does not: reading or writing them, validating a plan against a machine, clocks, printing.
//!
//! Every field that holds a quantity carries its unit in its name (`transfer_bytes`, `open_ns`), because
//! both sides and every reader of a stored run rely on it. The JSON schemas in `python/ioassay/schemas/` are generated
//! from these types, never edited.

#![warn(missing_docs)]

pub mod amounts;
pub mod doubt;
pub mod environment;
pub mod events;
mod failure;
pub mod front_end;
pub mod plan;
pub mod record;
pub mod snapshot;
pub mod survey;
pub mod watch;

/// Version of every document in this crate. It rises when an old reader would misread a new document.
pub const VERSION: u32 = 2;
