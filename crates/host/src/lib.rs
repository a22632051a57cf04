//! What a node says of itself: its environment, its clocks, what /proc, /sys and the mounts say.
//!
//! * [`environment`] describes the whole node for a stored run; the modules beside it read one subject each.
//! * [`clock`] times operations; [`process_usage`] and [`counters`] say what the kernel has counted meanwhile.
//! * [`node_view`] reads, once a second, what the kernel and the clients of file systems have counted for the whole node.
//! * [`locks`] shows processes whether another one lives.
//! * [`mounts`] finds the file system under a path, [`mount_users`] the processes that keep one busy.
//!
//! Everything here may be missing on some system; what is missing is left out, never guessed, never an error.
//! Not here: ranks, plans, what a number means for a measurement, printing.

pub mod block_device;
pub mod caches;
mod client;
pub mod clock;
mod control_groups;
pub mod counters;
pub mod direct_io;
pub mod environment;
mod identity;
pub mod locks;
pub mod memory;
pub mod mount_users;
pub mod mounts;
mod network;
pub mod node_view;
pub mod process_usage;
pub mod processors;
pub mod quota;
pub mod room;
pub mod snapshot;
mod text;

pub use self::identity::{boot_id, host_name};
