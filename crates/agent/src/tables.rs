//! The recorders' tables, as an agent reads them: once a second, and without trust. They belong to users, and the agent may be root.
//!
//! * [`directory`]: a directory of tables, and its files, opened so that no link leads elsewhere.
//! * [`table`]: a table that is read again and again: what is new since the last time.
//! * [`amounts`]: what is new, by second and class; nothing is counted twice.
//! * [`identity`]: who a process says it is.
//! * [`follow`]: all tables of a directory, from their first second to their process's end.
//!
//! Everything is read by `pread` into the agent's own memory, never mapped: a file that its owner cuts short meanwhile would
//! kill a reader of its map.

pub mod amounts;
pub mod directory;
pub mod follow;
pub mod identity;
#[cfg(test)]
pub mod made_up;
pub mod table;
