//! Memory that several processes of a node share, and how they wait for each other in it.
//!
//! * [`memory`] maps it; all zeros is the valid beginning of everything that lies there.
//! * [`futex`] sleeps and wakes on a word of it; [`barrier`], [`gate`] and [`doorbell`] are built of that.
//! * [`mailboxes`] hold bytes of any length, a [`work_list`] pieces of work that are shared, a [`first_text`] what the first of
//!   all has to say.
//! * [`sync`] is what all of these are made of.
//!
//! Not here: what is kept in the memory, what those who share it are to each other, starting or watching processes.

#![warn(missing_docs)]

pub mod barrier;
pub mod doorbell;
pub mod first_text;
pub mod futex;
pub mod gate;
pub mod mailboxes;
pub mod memory;
pub mod sync;
pub mod work_list;
