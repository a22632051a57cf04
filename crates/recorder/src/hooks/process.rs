//! Processes: that they end, fork, and are replaced.

use core::ffi::{CStr, c_char, c_int, c_void};

use ioassay_record::table::State;

use super::hook;
use crate::real::Real;
use crate::{environment, process, sys, ticks};

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

/// A program of the process is about to be replaced: what it counted is kept, and the new one is recorded as well.
///
/// # Safety
/// The path is null or ends with a zero byte, and so does each variable of `environment`, a list up to a null pointer.
unsafe fn replacing(
    path: *const c_char,
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    if !process::recording() || path.is_null() {
        return real(environment);
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(path) };
    // A shell tries one directory after another.
    if name.to_bytes().contains(&b'/') && !sys::can_execute(name) {
        return real(environment);
    }
    let has_table = !process::in_vfork_child() && process::attached();
    if has_table {
        process::finish(State::Replaced, Some(name));
    } else {
        process::announce(sys::process(), ticks::moment(), State::Replaced, name);
    }
    // SAFETY: the caller's.
    let result = unsafe { environment::with_recorder(environment, real) };
    if has_table {
        process::goes_on();
    } else {
        process::announce(sys::process(), ticks::moment(), State::Stayed, name);
    }
    result
}

/// Another process is started: it is recorded as well.
///
/// # Safety
/// As for [`replacing`]; `number` is null or takes the number of the process.
unsafe fn spawning(
    number: *mut libc::pid_t,
    path: *const c_char,
    environment: *const *const c_char,
    real: impl FnOnce(*mut libc::pid_t, *const *const c_char) -> c_int,
) -> c_int {
    if !process::recording() || path.is_null() {
        return real(number, environment);
    }
    let mut own = 0;
    let number = if number.is_null() { &raw mut own } else { number };
    let before = ticks::moment();
    // SAFETY: the caller's.
    let result = unsafe { environment::with_recorder(environment, |environment| real(number, environment)) };
    if result == 0 {
        // SAFETY: the caller's, and the function has filled it.
        unsafe { process::announce(*number as u32, before, State::Replaced, CStr::from_ptr(path)) };
    }
    result
}

type Texts = *const *const c_char;

hook! {
    fn execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe { replacing(path, environment, |environment| replaced(path, arguments, environment)) }
    }
    fn execvpe(path: *const c_char, arguments: Texts, environment: Texts) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe { replacing(path, environment, |environment| replaced(path, arguments, environment)) }
    }
    fn fexecve(file: c_int, arguments: Texts, environment: Texts) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe { replacing(c"(a descriptor)".as_ptr(), environment, |environment| replaced(file, arguments, environment)) }
    }
    fn execveat(base: c_int, path: *const c_char, arguments: Texts, environment: Texts, flags: c_int) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe { replacing(path, environment, |environment| replaced(base, path, arguments, environment, flags)) }
    }
    fn posix_spawn(
        number: *mut libc::pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: Texts,
        environment: Texts,
    ) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe {
            spawning(number, path, environment, |number, environment| {
                replaced(number, path, actions, attributes, arguments, environment)
            })
        }
    }
    fn posix_spawnp(
        number: *mut libc::pid_t,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: Texts,
        environment: Texts,
    ) -> c_int |_real| {
        // SAFETY: the caller's.
        unsafe {
            spawning(number, path, environment, |number, environment| {
                replaced(number, path, actions, attributes, arguments, environment)
            })
        }
    }
}

/// `execv` of the C library.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the same, with this process's environment.
    unsafe { execve(path, arguments, environment::of_process()) }
}

/// `execvp` of the C library.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the same, with this process's environment.
    unsafe { execvpe(path, arguments, environment::of_process()) }
}
