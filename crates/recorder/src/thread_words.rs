//! What a thread has of its own, at a fixed place beside its thread pointer (the initial-exec model): no call, no allocation.
//!
//! Rust has no way to ask for that model, so the words are declared and found in assembly. They take of the small area that
//! the C library keeps for libraries with such variables.

use core::arch::{asm, global_asm};
use core::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, compiler_fence,
};

use ioassay_record::table::{COUNTERS, REGION_DEPTH};

/// The words of a thread; all zero at its beginning.
#[repr(C)]
pub struct ThreadWords {
    /// Address of its `Thread` in the table; 0 before its first call.
    pub thread: AtomicUsize,
    /// Address of the chunk of its trace; 0 where there is none.
    pub chunk: AtomicUsize,
    /// Where its stack is while it counts a call, else 0: a signal handler that is called meanwhile must not count.
    pub busy: AtomicUsize,
    /// Where its stack was when the call in flight began.
    pub in_flight: AtomicUsize,
    /// What the kernel has counted of it that is already in the table: a thread may end, and call something all the same.
    pub kernel: [AtomicU64; COUNTERS],
    /// The process that called `vfork`, if it or its child may be running here.
    pub vforked: AtomicU32,
    /// Whether `own_mask` is known.
    pub mask_known: AtomicU8,
    /// Whether the program has SIGBUS blocked in it (`faults`); 0 is not known.
    pub bus: AtomicU8,
    /// Of the chunk of its trace, in KiB.
    pub chunk_kib: AtomicU16,
    /// Signals that the program has blocked itself (`masks`).
    pub own_mask: AtomicU64,
    /// Where its stack was when it began to wait with other signals blocked; 0 where it does not.
    pub waits_at: AtomicUsize,
    /// Whose each region is in which it is, by depth (`regions::enter`).
    pub region_owners: [AtomicUsize; REGION_DEPTH],
    /// Caliper's attribute to which it gave a string last, and where that string is.
    pub string_attribute: AtomicU64,
    /// 0: it has become a region.
    pub attribute_string: AtomicUsize,
}

const _: () = assert!(size_of::<ThreadWords>() <= 256);

impl ThreadWords {
    /// The thread is busy from here on, until [`Self::leave`]. Before anything is asked: a signal handler that forks from now on
    /// sees that a child must not go on with the table.
    #[inline(always)]
    pub fn enter(&self) {
        self.busy.store(stack(), Relaxed);
        compiler_fence(SeqCst);
    }

    /// It is busy no more.
    #[inline(always)]
    pub fn leave(&self) {
        compiler_fence(SeqCst);
        self.busy.store(0, Relaxed);
    }
}

global_asm!(
    ".pushsection .tbss,\"awT\",%nobits",
    ".globl ioassay_thread_words",
    ".hidden ioassay_thread_words",
    ".type ioassay_thread_words, %object",
    ".size ioassay_thread_words, 256",
    ".p2align 4",
    "ioassay_thread_words:",
    ".zero 256",
    ".popsection",
);

/// Those of the calling thread.
#[inline(always)]
pub fn words() -> &'static ThreadWords {
    let address: *const ThreadWords;
    // SAFETY: the words exist as long as the thread does, and nothing else is read.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "mov {address}, qword ptr [rip + ioassay_thread_words@GOTTPOFF]",
            "add {address}, qword ptr fs:[0]",
            address = out(reg) address,
            options(nostack, pure, readonly),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "mrs {address}, tpidr_el0",
            "adrp {offset}, :gottprel:ioassay_thread_words",
            "ldr {offset}, [{offset}, :gottprel_lo12:ioassay_thread_words]",
            "add {address}, {address}, {offset}",
            address = out(reg) address,
            offset = out(reg) _,
            options(nostack, pure, readonly),
        );
        &*address
    }
}

/// Where the stack is, which grows downwards.
#[inline(always)]
pub fn stack() -> usize {
    let address: usize;
    // SAFETY: it reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) address, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, sp", out(reg) address, options(nomem, nostack, preserves_flags));
    }
    address
}

/// What the kernel puts onto the stack for a signal handler, at least. Functions that a thread calls one after another have
/// their stacks closer to each other than this.
const OF_HANDLER: usize = 1024;

/// Whether a function that runs at `now` can be a signal handler, or be called by one, that interrupted one at `before`. If not,
/// that one was left by `longjmp`.
#[inline(always)]
pub fn beneath(now: usize, before: usize) -> bool {
    now.wrapping_add(OF_HANDLER) <= before
}
