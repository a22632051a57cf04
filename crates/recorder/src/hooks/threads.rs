//! Threads: that there is about to be a second one.

use core::ffi::{c_int, c_void};

use super::hook;
use crate::{masks, shared};

hook! {
    fn pthread_create(thread: *mut c_void, attributes: *const c_void, start: *const c_void, argument: *mut c_void)
        -> c_int |real| {
        // Before it can change anything.
        shared::several_threads();
        masks::pass_on();
        real()
    }
}
