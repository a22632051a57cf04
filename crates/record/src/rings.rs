//! io_uring: what requests and completions in a ring's memory say, and which transfers follow from them.
//!
//! Used by the recorder inside a process and by the tracer outside of it: both map the ring's memory once more, for themselves, so
//! that nothing that the program does to its own map is a danger.
//!
//! A request is read when it is handed over, and counted when its completion is seen, with the bytes that were moved. Where no
//! completion can be matched it is counted with the bytes that it asked for: its `user_data` is that of another one in flight, it
//! asked for none, or the process ends before.
//!
//! Positions in a ring are the kernel's: they only grow, and wrap around. So what was not seen is known exactly, though not what it
//! was. Whatever is in the memory, nothing outside of it is read.

mod flight;
mod follow;
mod geometry;
mod interface;
mod request;

pub use flight::{Entry, SMALLEST_TABLE, table_entries};
pub use follow::{Done, Followed, Host, Seen, Target};
pub use geometry::{Area, Geometry, Mapped, Memory, Places, Unreadable};
pub use interface::{Parameters, Registration, SINGLE_MMAP, enter, register, setup};
pub use request::{Request, Size, Subject, What};
