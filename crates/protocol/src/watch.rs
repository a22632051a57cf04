//! The documents of watching: what an agent is asked, the contract that it enforces, and what it says every second.
//!
//! * [`setup::Setup`] goes in, as `agent.json`: which tables, which sinks, how much spool.
//! * [`contract::Contract`] goes in, as `contract.json`, again whenever rules change.
//! * [`registration::Registration`] tells it, while it runs, of tables that have come.
//! * [`document::Document`] comes out, to every sink: typed fields, declared once in [`kinds`].

pub mod contract;
pub mod document;
pub mod kinds;
pub mod registration;
pub mod setup;
