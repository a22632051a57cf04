//! Rules: from the contract to the recorders, and from what they count to alerts.
//!
//! * [`contract`]: the contract's file, checked.
//! * [`aliases`]: what else the files of a rule's path are called on this node.
//! * [`slots`]: each rule of calls has a slot of the recorders for as long as it lives.
//! * [`file`](mod@file): the file by which recorders get them.
//! * [`selection`]: which jobs a rule is for.
//! * [`shares`]: one rate for several that do not share a bucket.
//! * [`peers`]: what other nodes measure of rules that are for several nodes.
//! * [`state_file`]: what the agent that gives the rules measured, for other agents of the node.
//! * [`windows`]: what was measured, window by window, and what is broken.
//!
//! Not here: counting calls and holding them back, which recorders do.

pub mod aliases;
pub mod contract;
pub mod file;
pub mod in_force;
pub mod peers;
pub mod selection;
pub mod shares;
pub mod slots;
pub mod state_file;
pub mod windows;
