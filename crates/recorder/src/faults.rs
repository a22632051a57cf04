//! Memory of files that others have cut: where the recorder touches what is no longer there, the kernel would end the
//! process (SIGBUS). The recorder's own function for that signal puts empty memory there instead, and the process goes
//! on without being recorded: its table is incomplete, and the collector reports that. Rules hold again when the agent
//! has restored their file ([`rules::renew`]).
//!
//! The program does not see it. What it asks the kernel about SIGBUS, it asks this module (`hooks/signals.rs`): which function it has for
//! it, which is called for all other faults as if the kernel had done so, and whether it is blocked. The kernel ends a process
//! that faults while the signal is blocked, so it never is; one that others send while the program has it blocked waits until it
//! has not. What programs are started gets what the program has.
//!
//! Not seen is what a program tells the kernel without the C library, and what waits for signals with others blocked meanwhile
//! (`ppoll`): a handler that runs then, and calls what is recorded, is on its own.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::process::{in_vfork_child, system_calls_allowed};
use crate::thread_words::words;
use crate::{process, rules, sys, table, trace};

/// What the kernel does for a signal: its `struct sigaction`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// What is called, or `SIG_DFL` or `SIG_IGN`.
    pub function: usize,
    /// `SA_SIGINFO`, …
    pub flags: u64,
    /// What returns from it.
    pub restorer: usize,
    /// Signals that are blocked meanwhile.
    pub mask: u64,
}

/// SIGBUS in a set of signals.
pub const BUS: u64 = 1 << (libc::SIGBUS - 1);
/// Of the kernel's flags: the C library gives the function that returns.
pub const RESTORER: i32 = 0x0400_0000;
/// Flags of the program's that hold for our function as well: where it runs, and what it interrupts.
const TAKEN: u64 = (libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER) as u32 as u64;

const NONE: Action = Action { function: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };

/// What the program has the kernel do for SIGBUS: the one of the two that is in use.
static PROGRAMS: [[AtomicU64; 4]; 2] = [const { [const { AtomicU64::new(0) }; 4] }; 2];
static IN_USE: AtomicUsize = AtomicUsize::new(0);
/// Our function is called for SIGBUS.
static WATCHES: AtomicBool = AtomicBool::new(false);
/// The table was cut.
static TABLE_IS_CUT: AtomicBool = AtomicBool::new(false);
/// Some thread has blocked SIGBUS, as the program sees it. Threads that begin afterwards may have that from it.
static BLOCKED_BY_SOME: AtomicBool = AtomicBool::new(false);
/// Signals whose functions are to run with SIGBUS blocked.
static BLOCKED_WITH: AtomicU64 = AtomicU64::new(0);

/// Of a thread (`ThreadWords::bus`): whether it has blocked SIGBUS.
const UNBLOCKED: u8 = 1;
const BLOCKED: u8 = 2;

fn programs() -> Action {
    let [function, flags, restorer, mask] =
        PROGRAMS[IN_USE.load(Acquire) % 2].each_ref().map(|word| word.load(Relaxed));
    Action { function: function as usize, flags, restorer: restorer as usize, mask }
}

fn set_programs(action: Action) {
    let next = (IN_USE.load(Relaxed) + 1) % 2;
    let words = [action.function as u64, action.flags, action.restorer as u64, action.mask];
    PROGRAMS[next].iter().zip(words).for_each(|(to, word)| to.store(word, Relaxed));
    IN_USE.store(next, Release);
}

/// Begins to watch: the process is recorded. A forked child watches already.
pub fn begin() {
    TABLE_IS_CUT.store(false, Relaxed);
    if WATCHES.load(Relaxed) {
        return;
    }
    let mut before = NONE;
    if !exchange(Some(&ours(&NONE)), Some(&mut before)) {
        return;
    }
    set_programs(before);
    if before.function != libc::SIG_DFL {
        exchange(Some(&ours(&before)), None);
    }
    WATCHES.store(true, Release);
}

/// Unblocks SIGBUS, which the process that started the program may have blocked.
pub fn unblock() {
    let mut mask = 0;
    set_mask(libc::SIG_BLOCK, &0, &mut mask);
    if mask & BUS != 0 {
        set_mask(libc::SIG_UNBLOCK, &BUS, &mut 0);
        note(true);
    }
}

/// Whether the program does not see what the kernel does for SIGBUS.
#[inline(always)]
pub fn watches() -> bool {
    WATCHES.load(Relaxed) && system_calls_allowed() && !in_vfork_child()
}

/// Whether the table of this process was cut.
pub fn table_is_cut() -> bool {
    TABLE_IS_CUT.load(Relaxed)
}

/// The program asks what is done for SIGBUS, and may change it. What it was.
pub fn change_action(new: Option<Action>) -> Action {
    let before = programs();
    if let Some(new) = new {
        set_programs(new);
        exchange(Some(&ours(&new)), None);
    }
    before
}

/// The program wants a function to run with other signals blocked: those that may be.
pub fn without_bus(signal: i32, mask: u64) -> u64 {
    let bit = bit(signal);
    if mask & BUS != 0 {
        BLOCKED_WITH.fetch_or(bit, Relaxed);
    } else {
        BLOCKED_WITH.fetch_and(!bit, Relaxed);
    }
    mask & !BUS
}

/// Whether the program wants SIGBUS to be blocked while the function of a signal runs.
pub fn is_blocked_with(signal: i32) -> bool {
    BLOCKED_WITH.load(Relaxed) & bit(signal) != 0
}

fn bit(signal: i32) -> u64 {
    if (1..=64).contains(&signal) { 1 << (signal - 1) } else { 0 }
}

/// Whether the program has SIGBUS blocked in the calling thread.
pub fn is_blocked() -> bool {
    match words().bus.load(Relaxed) {
        UNBLOCKED => false,
        BLOCKED => true,
        _ => BLOCKED_BY_SOME.load(Relaxed),
    }
}

/// The program changes whether SIGBUS is blocked in the calling thread.
pub fn note(blocked: bool) {
    words().bus.store(if blocked { BLOCKED } else { UNBLOCKED }, Relaxed);
    if blocked {
        BLOCKED_BY_SOME.store(true, Relaxed);
    }
}

/// Runs what replaces the program or starts another one: that gets what the program has, not what we have.
pub fn as_programs<R>(run: impl FnOnce() -> R) -> R {
    // A child of `vfork` has what it set itself, which its parent must not see.
    if !watches() {
        return run();
    }
    let (ignored, blocked) = (programs().function == libc::SIG_IGN, is_blocked());
    if ignored {
        exchange(Some(&programs()), None);
    }
    if blocked {
        set_mask(libc::SIG_BLOCK, &BUS, &mut 0);
    }
    let result = run();
    if blocked {
        set_mask(libc::SIG_UNBLOCK, &BUS, &mut 0);
    }
    if ignored {
        exchange(Some(&ours(&programs())), None);
    }
    result
}

/// What the kernel is to do instead of what the program wants.
fn ours(programs: &Action) -> Action {
    let has_function = ![libc::SIG_DFL, libc::SIG_IGN].contains(&programs.function);
    let taken = if has_function { programs.flags & TAKEN } else { libc::SA_ONSTACK as u64 };
    let restorer = restorer();
    Action {
        function: on_fault as *const () as usize,
        flags: taken | libc::SA_SIGINFO as u64 | if restorer == 0 { 0 } else { RESTORER as u64 },
        restorer,
        mask: if has_function { programs.mask } else { 0 },
    }
}

#[cfg(target_arch = "x86_64")]
fn restorer() -> usize {
    /// Debuggers know it by these bytes.
    #[unsafe(naked)]
    unsafe extern "C" fn returns() {
        core::arch::naked_asm!("mov rax, 15", "syscall")
    }
    returns as *const () as usize
}

/// The kernel has one of its own.
#[cfg(target_arch = "aarch64")]
fn restorer() -> usize {
    0
}

/// Changes what the kernel does for SIGBUS. Whether it could be.
fn exchange(new: Option<&Action>, before: Option<&mut Action>) -> bool {
    let new = new.map_or(0, |action| &raw const *action as usize);
    let before = before.map_or(0, |action| &raw mut *action as usize);
    let arguments = [libc::SIGBUS as usize, new, before, size_of::<u64>(), 0, 0];
    // SAFETY: both are null or of the kernel's layout, and our function keeps to what the kernel expects of one.
    unsafe { sys::call(libc::SYS_rt_sigaction, arguments) == 0 }
}

fn set_mask(how: i32, set: &u64, before: &mut u64) {
    let (set, before) = (&raw const *set as usize, &raw mut *before as usize);
    // SAFETY: both are as large as the kernel's sets of signals.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, [how as usize, set, before, size_of::<u64>(), 0, 0]) };
}

/// The beginning of the kernel's `siginfo_t`.
#[repr(C)]
struct Information {
    signal: i32,
    errno: i32,
    /// Above 0: the kernel sends it because of what the thread did.
    code: i32,
    padding: i32,
    address: usize,
}

/// What the kernel calls for SIGBUS.
unsafe extern "C" fn on_fault(signal: i32, information: *mut Information, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel's.
    let (code, address) = unsafe { ((*information).code, (*information).address) };
    if code > 0 && heal(address) {
        return;
    }
    let programs = programs();
    let is_sent = code <= 0;
    if is_sent && is_blocked() {
        // Another thread may have it not blocked, or wait for it.
        // SAFETY: the kernel's; it has the mask that holds when this function returns.
        unsafe { *(&raw mut (*context).uc_sigmask).cast::<u64>() |= BUS };
        set_mask(libc::SIG_BLOCK, &BUS, &mut 0);
        // SAFETY: the same information is sent again, to the process.
        unsafe {
            let arguments = [sys::process() as usize, signal as usize, information as usize, 0, 0, 0];
            sys::call(libc::SYS_rt_sigqueueinfo, arguments);
        }
        return;
    }
    match programs.function {
        libc::SIG_IGN if is_sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // The kernel does it when this function returns: what the thread did is done again, or what was sent comes again.
            exchange(Some(&NONE), None);
            if is_sent {
                // SAFETY: the same information is sent again, to the thread.
                unsafe {
                    let [process, thread] = [sys::process(), sys::thread()].map(|number| number as usize);
                    let arguments = [process, thread, signal as usize, information as usize, 0, 0];
                    sys::call(libc::SYS_rt_tgsigqueueinfo, arguments);
                }
            }
        }
        // What is blocked, the kernel has seen to.
        function => {
            if programs.flags & libc::SA_RESETHAND as u32 as u64 != 0 {
                set_programs(NONE);
            }
            // SAFETY: the program's function for the signal. One with a single argument does not look at the others.
            unsafe {
                let function: unsafe extern "C" fn(i32, *mut Information, *mut libc::ucontext_t) =
                    core::mem::transmute(function);
                function(signal, information, context);
            }
        }
    }
}

/// Puts empty memory where the recorder has touched memory of a file that has been cut. Whether that is what happened.
fn heal(address: usize) -> bool {
    if rules::mapped().any(|memory| memory.contains(&address)) {
        return rules::take_out();
    }
    let page = address & !(sys::page_bytes() as usize - 1);
    let of_table = table::mapped().filter(|memory| memory.contains(&address));
    let of_trace = || Some(trace::mapped(words())).filter(|memory| memory.contains(&address));
    let Some(memory) = of_table.clone().or_else(of_trace) else { return false };
    // All that follows is cut as well.
    let end = memory.end.next_multiple_of(sys::page_bytes() as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: it replaces memory of ours that cannot be touched. All zero is valid for each of the files.
    let healed = unsafe { sys::map(page, end - page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) } > 0;
    if healed && of_table.is_some() {
        TABLE_IS_CUT.store(true, Relaxed);
        process::give_up();
    }
    healed
}
