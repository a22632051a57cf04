//! Forked processes that start together, and when each phase of theirs began and ended.
//!
//! Processes and not threads, as with the engine, IOR and fio: threads share a file table, and each system call
//! pays for that.

use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most ranks times phases.
const SLOTS: usize = 1024;

/// What the ranks share.
struct Shared {
    arrived: AtomicU64,
    slots: [Slot; SLOTS],
}

/// What one rank did in one phase.
struct Slot {
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
    operations: AtomicU64,
}

/// One of the processes.
pub struct Rank {
    shared: &'static Shared,
    /// Its number, from 0.
    pub rank: usize,
    ranks: usize,
    barriers: u64,
    phases: usize,
}

impl Rank {
    /// Waits until all ranks are here.
    pub fn barrier(&mut self) {
        self.barriers += 1;
        self.shared.arrived.fetch_add(1, Ordering::SeqCst);
        while self.shared.arrived.load(Ordering::SeqCst) < self.barriers * self.ranks as u64 {
            std::thread::yield_now();
        }
    }

    /// The next phase: runs `body` on all ranks together. It returns how many operations it did.
    pub fn timed(&mut self, body: impl FnOnce() -> u64) {
        let slot = &self.shared.slots[self.phases * self.ranks + self.rank];
        self.phases += 1;
        self.barrier();
        slot.began_ns.store(now_ns(), Ordering::SeqCst);
        let operations = body();
        slot.ended_ns.store(now_ns(), Ordering::SeqCst);
        slot.operations.store(operations, Ordering::SeqCst);
        self.barrier();
    }
}

/// Runs `body` on so many processes and prints what its phases, which have these names, took.
pub fn run(ranks: usize, phases: &[&str], body: impl Fn(&mut Rank)) {
    assert!(ranks * phases.len() <= SLOTS, "too many ranks");
    let shared = shared();
    for rank in 0..ranks {
        start(shared, rank, ranks, &body);
    }
    if !all_well(ranks) {
        exit(1); // which ends the others: see `start`
    }
    for (phase, name) in phases.iter().enumerate() {
        let slots = &shared.slots[phase * ranks..][..ranks];
        let all = |value: fn(&Slot) -> &AtomicU64| slots.iter().map(move |slot| value(slot).load(Ordering::SeqCst));
        let began = all(|slot| &slot.began_ns).min().expect("there are ranks");
        let ended = all(|slot| &slot.ended_ns).max().expect("there are ranks");
        let operations: u64 = all(|slot| &slot.operations).sum();
        println!(r#"{{"operation":"{name}","operations":{operations},"ns":{}}}"#, ended - began);
    }
}

/// Panics with the system's error where a call failed.
pub fn checked<T: PartialOrd + Default>(result: T) -> T {
    assert!(result >= T::default(), "{}", io::Error::last_os_error());
    result
}

fn start(shared: &'static Shared, rank: usize, ranks: usize, body: &impl Fn(&mut Rank)) {
    // SAFETY: this process has one thread.
    if checked(unsafe { libc::fork() }) == 0 {
        // SAFETY: tells the kernel to end this process with its parent, so that none waits for one that has failed.
        checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) });
        body(&mut Rank { shared, rank, ranks, barriers: 0, phases: 0 });
        exit(0);
    }
}

/// Waits for the children; false as soon as one has failed.
fn all_well(children: usize) -> bool {
    (0..children).all(|_| {
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        checked(unsafe { libc::wait(&mut status) });
        status == 0
    })
}

fn shared() -> &'static Shared {
    let bytes = size_of::<Shared>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: asks for new memory; nothing else is touched.
    let memory =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    // SAFETY: the memory is as large as `Shared`, aligned to a page, zero (valid for atomics), and never unmapped.
    unsafe { &*memory.cast() }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    checked(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) });
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
