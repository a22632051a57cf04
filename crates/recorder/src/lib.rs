//! The library that `LD_PRELOAD` brings into an application: it counts the application's I/O in a table of `crates/record`.
//!
//! From the outside in:
//! * [`hooks`]: the functions of the C library that are replaced, one file per family. Each asks [`call`] before and after.
//! * [`call`]: what happens before and after each call, and when nothing does: in a signal handler that interrupted the
//!   recorder, in a child of `vfork`, in a process that has no table.
//! * [`trace`]: every call, where that is asked for. [`shared`]: numbers that all threads change. [`descriptors`], [`files`], [`transfers`], [`threads`], [`seconds`], [`errors`]: what is counted, and where.
//! * [`maps`]: which files are in memory, and [`resident`] how much of them.
//! * [`rings`]: those of io_uring, whose requests no function shows.
//! * [`rules`]: what an agent wants counted as well, on which files ([`real_files`], by [`mounts`] and the
//!   directory that is [`root`]), and [`throttle`] held back; [`masks`] says when
//!   that must not be.
//! * [`regions`]: steps that the application names.
//! * [`stacks`]: where calls come from, where that is asked for; [`python`] reads the interpreter's.
//! * [`faults`]: others cut a file that is in memory.
//! * [`process`]: a process gets its table, and gives it back; [`table`] is the memory of it, [`identity`] what it says of the
//!   process, [`finished`] the file that it ends in.
//! * [`real`]: the functions that the hooks replace. [`ticks`]: the clock. [`thread_words`]: what a thread has of its own.
//!   [`environment`]: that of programs which the process starts. [`sys`]: system calls without the C library. [`text`]: paths and numbers without an allocator.
//!
//! It lives inside of other people's processes, so:
//! * A counted call takes no lock, allocates nothing, calls no kernel, and shares no cache line that is written to. A call that a
//!   rule holds back does both, before it begins.
//! * What is rare (a new file, a new thread, a full table) may call the kernel, but past the C library: no `errno` is
//!   touched, no hook is called.
//! * No descriptor stays open, no thread is started, nothing is printed. One signal has a handler, which the program does not see
//!   ([`faults`]).
//! * In doubt it counts nothing and lets the call through.
//!
//! Not here: policy, formatting, anything that can end the process.

#![cfg_attr(feature = "library", no_std)]

pub mod call;
pub mod descriptors;
pub mod environment;
pub mod errors;
pub mod faults;
pub mod files;
pub mod finished;
#[cfg(feature = "library")]
pub mod hooks;
pub mod identity;
pub mod maps;
pub mod masks;
pub mod mounts;
pub mod process;
pub mod python;
pub mod real;
pub mod real_files;
pub mod regions;
pub mod resident;
pub mod rings;
pub mod root;
pub mod rules;
pub mod seconds;
pub mod shared;
pub mod stacks;
pub mod sys;
pub mod table;
pub mod text;
pub mod thread_words;
pub mod threads;
pub mod throttle;
pub mod ticks;
pub mod trace;
pub mod transfers;

/// Nothing in here panics on purpose. If it does all the same, the process would go on with a recorder in an unknown state.
#[cfg(feature = "library")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    sys::abort()
}

// Precompiled parts of `core` name the function that would run clean-up code while unwinding. None of ours has any, so this one
// says `_URC_CONTINUE_UNWIND`. Hidden, because Rust programs have one of that name.
#[cfg(all(feature = "library", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    "rust_eh_personality:",
    "mov w0, #8",
    "ret",
);
