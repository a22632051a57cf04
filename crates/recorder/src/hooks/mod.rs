//! The functions of the C library that are replaced, one file per family.
//!
//! A hook asks [`crate::call`] before, calls the real function, and reports its result after. Where `call` says that
//! nothing is to be counted, it only calls the real function. The macro [`hook!`] declares one.
//!
//! A call that the C library makes inside of another is not seen, and not counted: a hook is for what the program calls.
//! Functions without a hook are listed in `tests/entry_points.rs`, with the reason.
//!
//! Rust cannot define functions with a variable number of arguments. Those of `open` and `fcntl` come in the same registers
//! as named ones on both architectures, so they are declared with all of them; those of `fprintf` need C.
//!
//! How to add one: `docs/development/recorder.md`.

mod asynchronous;
mod attributes;
mod copies;
mod data;
mod descriptors;
mod inlined;
mod list;
mod locks;
mod maps;
mod mpi;
mod open;
mod paths;
mod process;
mod regions;
mod restrictions;
mod signals;
mod sockets;
mod stat;
mod streams;
mod streams_wide;
mod sync;
mod syscall;
mod threads;
mod uring;

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ioassay_record::operation::Operation;

use crate::call::{self, Call, Outcome};
use crate::files::{self, Base};
use crate::sys::{errno, set_errno};

unsafe extern "C" {
    /// As `atexit`, but for a library, whose end calls the function too; for none if that is null.
    fn __cxa_atexit(function: extern "C" fn(*mut c_void), argument: *mut c_void, library: *mut c_void) -> c_int;
}

/// What functions of the C library return, and how they say that they failed.
trait Returned: Copy {
    /// What is returned where no library has the function.
    const FAILED: Self;
    /// Whether this says that it failed.
    fn failed(self) -> bool;
}

macro_rules! returned {
    ($($integer:ty),+) => {
        $(impl Returned for $integer {
            const FAILED: Self = -1;
            #[inline(always)]
            fn failed(self) -> bool {
                self == -1
            }
        })+
    };
}
returned!(i32, i64, isize);

impl Returned for () {
    const FAILED: Self = ();
    fn failed(self) -> bool {
        false
    }
}

impl<T> Returned for *mut T {
    const FAILED: Self = core::ptr::null_mut();
    fn failed(self) -> bool {
        self.is_null()
    }
}

/// Numbers of items: none where it failed, and where there are none.
impl Returned for usize {
    const FAILED: Self = 0;
    fn failed(self) -> bool {
        false
    }
}

/// Wide characters: `WEOF` where it failed, and at the end.
impl Returned for u32 {
    const FAILED: Self = Self::MAX;
    fn failed(self) -> bool {
        self == Self::MAX
    }
}

/// Where no library behind us has a function that the program calls.
#[cold]
fn missing<R: Returned>() -> R {
    set_errno(libc::ENOSYS);
    R::FAILED
}

/// The name of a function, for the dynamic linker.
macro_rules! c_name {
    ($name:ident) => {
        // SAFETY: it ends with the only zero byte.
        const { unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) } }
    };
}
pub(crate) use c_name;

/// Declares hooks: `fn name(arguments) -> result |real| { body }`, in which `real()` calls the function that is replaced. Where
/// that is to get other arguments, `replaced(…)` takes them. Functions with the same arguments that are counted alike are
/// declared together: `fn pread | pread64(…)`.
macro_rules! hook {
    ($(fn $($name:ident)|+ ($($arguments:tt)*) -> $result:ty |$real:ident| $body:block)+) => {
        $($crate::hooks::hook! { @each [$($name)+] ($($arguments)*) $result |$real| $body })+
    };
    (@each [] $arguments:tt $result:ty |$real:ident| $body:block) => {};
    (@each [$name:ident $($more:ident)*] $arguments:tt $result:ty |$real:ident| $body:block) => {
        $crate::hooks::hook! { @single $name $arguments $result |$real| $body }
        $crate::hooks::hook! { @each [$($more)*] $arguments $result |$real| $body }
    };
    (@single $name:ident ($($argument:ident: $kind:ty),* $(,)?) $result:ty |$real:ident| $body:block) => {
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// As for that.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            static REAL: $crate::real::Real = $crate::real::Real::new();
            #[inline(always)]
            unsafe fn replaced($($argument: $kind),*) -> $result {
                match REAL.address($crate::hooks::c_name!($name)) {
                    0 => $crate::hooks::missing(),
                    // SAFETY: it is the function of that name, and the caller's arguments.
                    address => unsafe {
                        let real: unsafe extern "C" fn($($kind),*) -> $result = core::mem::transmute(address);
                        real($($argument),*)
                    },
                }
            }
            // SAFETY: the caller's arguments.
            let $real = || unsafe { replaced($($argument),*) };
            $body
        }
    };
}
pub(crate) use hook;

/// Declares functions that do not return, or not as others do: nothing may come between them and their caller but a jump. They
/// take two words, which `$look` sees.
macro_rules! jumping {
    ($(fn $name:ident() by $look:ident;)+) => {$(
        const _: () = {
            static REAL: $crate::real::Real = $crate::real::Real::new();

            /// What the function jumps to.
            unsafe extern "C" fn before(first: *const u8, second: *const u8) -> usize {
                // SAFETY: the caller's.
                unsafe { $look(first, second) };
                REAL.address($crate::hooks::c_name!($name))
            }

            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                #[cfg(target_arch = "x86_64")]
                core::arch::naked_asm!(
                    "push rdi",
                    "push rsi",
                    "sub rsp, 8",
                    "call {before}",
                    "add rsp, 8",
                    "pop rsi",
                    "pop rdi",
                    "jmp rax",
                    before = sym before,
                );
                #[cfg(target_arch = "aarch64")]
                core::arch::naked_asm!(
                    "stp x29, x30, [sp, #-32]!",
                    "stp x0, x1, [sp, #16]",
                    "bl {before}",
                    "mov x16, x0",
                    "ldp x0, x1, [sp, #16]",
                    "ldp x29, x30, [sp], #32",
                    "br x16",
                    before = sym before,
                );
            }
        };
    )+};
}
pub(crate) use jumping;

/// The result of a call that moves no bytes.
#[inline(always)]
fn outcome<R: Returned>(result: R) -> Outcome {
    if result.failed() { Outcome::Failed(errno()) } else { Outcome::Done }
}

/// Calls the real function, and says that it was done, or how it failed.
#[inline(always)]
fn done<R: Returned>(call: Option<Call>, real: impl FnOnce() -> R) -> R {
    let result = real();
    if let Some(call) = call {
        call::end(call, outcome(result));
    }
    result
}

/// Calls the real function, which returns the number of an error instead of setting `errno`.
#[inline(always)]
fn done_unless(call: Option<Call>, real: impl FnOnce() -> c_int) -> c_int {
    let error = real();
    if let Some(call) = call {
        call::end(call, if error == 0 { Outcome::Done } else { Outcome::Failed(error) });
    }
    error
}

/// A call on a descriptor.
#[inline(always)]
fn on_descriptor<R: Returned>(operation: Operation, descriptor: c_int, real: impl FnOnce() -> R) -> R {
    done(call::on_descriptor(operation, descriptor).map(|(call, _)| call), real)
}

/// A call on a path.
#[inline(always)]
fn on_path<R: Returned>(operation: Operation, path: Path, real: impl FnOnce() -> R) -> R {
    done(path.call(operation, libc::AT_FDCWD), real)
}

/// A call on a path that may be relative to an open directory.
#[inline(always)]
fn on_path_at<R: Returned>(operation: Operation, base: c_int, path: Path, real: impl FnOnce() -> R) -> R {
    done(path.call(operation, base), real)
}

/// A call on no file in particular.
#[inline(always)]
fn on_none<R: Returned>(operation: Operation, real: impl FnOnce() -> R) -> R {
    done(call::on_file(operation, files::others()), real)
}

/// A path as a program gives it: null, or with a zero byte at its end.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Path(*const c_char);

impl Path {
    /// # Safety
    /// It is an argument of a system call that takes a path.
    unsafe fn of_argument(argument: usize) -> Self {
        Self(argument as *const c_char)
    }

    /// The text of it, if it is one.
    fn text<'a>(self) -> Option<&'a core::ffi::CStr> {
        // SAFETY: it is null or ends with a zero byte.
        files::can_be_text(self.0).then(|| unsafe { core::ffi::CStr::from_ptr(self.0) })
    }

    /// A call on it. Where the `…at` functions are given none, they mean what is open.
    #[inline(always)]
    fn call(self, operation: Operation, base: c_int) -> Option<Call> {
        if self.0.is_null() && base >= 0 {
            return call::on_descriptor(operation, base).map(|(call, _)| call);
        }
        // SAFETY: it is null or ends with a zero byte.
        unsafe { call::on_path(operation, Base::of(base), self.0) }
    }

    /// A call on shared memory of that name.
    fn shared_memory_call(self, operation: Operation) -> Option<Call> {
        // SAFETY: it is null or ends with a zero byte.
        let file = call::update(|| unsafe { files::of_shared_memory(self.0) })?;
        call::on_file(operation, file)
    }

    /// Its row.
    fn row(self) -> u32 {
        // SAFETY: it is null or ends with a zero byte.
        unsafe { files::of_path(Base::WorkingDirectory, self.0) }
    }
}

/// Arguments of the library's beginning: the dynamic linker gives each constructor those of `main`.
extern "C" fn starts(count: c_int, arguments: *const *const c_char, _environment: *const c_void) {
    // What is registered before the program begins is called after the ends of all libraries, which may do I/O as well.
    // SAFETY: the function stays where it is: nobody unloads this library.
    let registered = unsafe { __cxa_atexit(ends_last, core::ptr::null_mut(), core::ptr::null_mut()) } == 0;
    ENDS_LAST.store(registered, Relaxed);
    // SAFETY: they are what the dynamic linker says.
    unsafe { crate::process::starts(count, arguments) };
}

/// [`ends_last`] will be called.
static ENDS_LAST: AtomicBool = AtomicBool::new(false);

/// The process ends by `exit`.
extern "C" fn ends_last(_: *mut c_void) {
    end();
}

fn end() {
    inlined::before_all();
    crate::process::end();
}

/// The library ends, before others.
extern "C" fn ends() {
    if !ENDS_LAST.load(Relaxed) {
        end();
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn(c_int, *const *const c_char, *const c_void) = starts;

#[used]
#[unsafe(link_section = ".fini_array")]
static ENDS: extern "C" fn() = ends;
