//! The clock: the processor's counter where the kernel trusts it itself, else `CLOCK_MONOTONIC`.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

#[cfg(target_arch = "x86_64")]
use ioassay_record::names;
use ioassay_record::table::Clock;

#[cfg(target_arch = "x86_64")]
use crate::{sys, text::Buffer};

/// Whether the counter is read. An application that forbids it (`PR_SET_TSC`) sees to it that it is not.
static COUNTER: AtomicBool = AtomicBool::new(false);
static CHOSEN: AtomicBool = AtomicBool::new(false);
/// Ticks of a second, as far as is known.
static PER_SECOND: AtomicU64 = AtomicU64::new(NANOSECONDS);
const NANOSECONDS: u64 = 1_000_000_000;
/// The moment at which the clock was chosen, by it and by `CLOCK_MONOTONIC`: its rate is learnt from there on. The time of day
/// may be set meanwhile.
static CHOSEN_AT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// What no processor's counter exceeds: a first guess that lets the first second end too late rather than too early.
const GUESS: u64 = 6 * NANOSECONDS;

/// Now.
#[inline(always)]
pub fn now() -> u64 {
    if COUNTER.load(Relaxed) { counter() } else { nanoseconds(libc::CLOCK_MONOTONIC) }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: an instruction that every such processor has; it is not used where it may be forbidden.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read it.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(target_arch = "x86_64")]
fn counter_per_second() -> u64 {
    GUESS
}

#[cfg(target_arch = "aarch64")]
fn counter_per_second() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read it.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// A clock of the kernel, in nanoseconds: by the vDSO, some 20 ns.
fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it fills the structure. The C library's function is no hook of ours.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * NANOSECONDS + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, which all processes of the node share, unless one is in a time namespace.
pub fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// What the calling thread has used of a processor.
pub fn processor_ns() -> u64 {
    nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// On this one.
    pub ticks: u64,
    /// Since 1970.
    pub ns: u64,
}

/// Now, on both clocks.
pub fn moment() -> Moment {
    Moment { ticks: now(), ns: nanoseconds(libc::CLOCK_REALTIME) }
}

/// Whether there is a clock at all. A process that must not read the counter (`PR_SET_TSC`, which its children inherit) has
/// none: the kernel's own clock in its memory reads it as well.
pub fn is_available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let mut mode = libc::PR_TSC_ENABLE;
        // SAFETY: the kernel writes the mode.
        unsafe { sys::call(libc::SYS_prctl, [libc::PR_GET_TSC as usize, &raw mut mode as usize, 0, 0, 0, 0]) };
        mode == libc::PR_TSC_ENABLE
    }
    #[cfg(not(target_arch = "x86_64"))]
    true
}

/// Chooses the clock, once: a forked child goes on with its parent's. `record` may have said of the node in that directory
/// which one is available.
pub fn choose(directory: &[u8], node: &[u8]) -> Clock {
    if !CHOSEN.swap(true, Relaxed) {
        choose_now(directory, node);
    }
    if COUNTER.load(Relaxed) { Clock::Counter } else { Clock::Nanoseconds }
}

/// Whether the kernel trusts the processor's counter, so that all processors have the same.
#[cfg(target_arch = "x86_64")]
fn is_counter_trusted(directory: &[u8], node: &[u8]) -> bool {
    let link = Buffer::<600>::new();
    let mut text = [0; 80];
    if link.set(&[directory, b"/", names::CLOCK.as_bytes()])
        && let Ok(length) = usize::try_from(sys::read_link(link.as_c_str(), &mut text))
        && text[..length].strip_prefix(names::COUNTER_CLOCK.as_bytes()) == Some(node)
    {
        return true;
    }
    let mut name = [0; 4];
    let file = sys::open(c"/sys/devices/system/clocksource/clocksource0/current_clocksource", libc::O_RDONLY, 0);
    let read = if file < 0 { 0 } else { sys::read(file, &mut name) };
    if file >= 0 {
        sys::close(file);
    }
    read == 4 && name == *b"tsc\n"
}

#[cfg(target_arch = "aarch64")]
fn is_counter_trusted(_directory: &[u8], _node: &[u8]) -> bool {
    true
}

fn choose_now(directory: &[u8], node: &[u8]) {
    let trusted = is_counter_trusted(directory, node);
    COUNTER.store(trusted, Relaxed);
    PER_SECOND.store(if trusted { counter_per_second() } else { NANOSECONDS }, Relaxed);
    CHOSEN_AT[0].store(now(), Relaxed);
    CHOSEN_AT[1].store(nanoseconds(libc::CLOCK_MONOTONIC), Relaxed);
}

/// Learns how many ticks a second has, from the first 10 ms on.
pub fn learn() {
    let later = [now(), nanoseconds(libc::CLOCK_MONOTONIC)];
    let [ticks, ns] = [0, 1].map(|clock: usize| later[clock].saturating_sub(CHOSEN_AT[clock].load(Relaxed)));
    if COUNTER.load(Relaxed) && ns > 10_000_000 {
        let per_second = (u128::from(ticks) * u128::from(NANOSECONDS) / u128::from(ns)) as u64;
        // Callers divide by it.
        PER_SECOND.store(per_second.max(1), Relaxed);
    }
}

/// Ticks of a second.
pub fn per_second() -> u64 {
    PER_SECOND.load(Relaxed)
}

/// Whether [`per_second`] is still a guess.
pub fn guessing() -> bool {
    COUNTER.load(Relaxed) && per_second() == GUESS
}
