//! Processes: that they end, fork, and are replaced.

use core::ffi::{c_char, c_int};

use ioassay_record::table::State;

use super::hook;
use crate::real::Real;
use crate::{process, sys};

/// `_exit` of the C library.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(code: c_int) -> ! {
    if !process::in_vfork_child() {
        process::end();
    }
    loop {
        // SAFETY: it ends the process.
        unsafe { sys::call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// `_Exit` of the C library.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(code: c_int) -> ! {
    // SAFETY: the same.
    unsafe { _exit(code) }
}

static VFORK: Real = Real::new(c"vfork");

/// What [`vfork`] jumps to.
extern "C" fn before_vfork() -> usize {
    process::vforks();
    VFORK.address()
}

/// `vfork` of the C library: it returns twice to the same caller, so nothing may come between the two but a jump.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn vfork() -> c_int {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "jmp rax",
        before = sym before_vfork,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "br x0",
        before = sym before_vfork,
    );
}

hook! {
    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int |real| {
        // SAFETY: the caller's path.
        unsafe { replaced(path, real) }
    }
}

/// # Safety
/// The path is null or ends with a zero byte.
unsafe fn replaced(path: *const c_char, real: impl FnOnce() -> c_int) -> c_int {
    let executable = libc::AT_FDCWD as usize;
    // SAFETY: the kernel checks the path.
    let fails =
        unsafe { sys::call(libc::SYS_faccessat, [executable, path as usize, libc::X_OK as usize, 0, 0, 0]) } != 0;
    if fails || path.is_null() {
        return real();
    }
    // SAFETY: the caller's, and the kernel could read it.
    let path = unsafe { core::ffi::CStr::from_ptr(path) };
    let has_table = !process::in_vfork_child() && process::attached();
    if has_table {
        process::finish(State::Replaced, Some(path));
    } else {
        process::announce(sys::process(), State::Replaced, path);
    }
    let result = real();
    if has_table {
        process::goes_on();
    } else {
        process::announce(sys::process(), State::Stayed, path);
    }
    result
}
