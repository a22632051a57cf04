//! Processes: that they end, fork, and are replaced.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null;

use ioassay_record::table::State;

use super::{hook, jumping};
use crate::files::can_be_text;
use crate::real::Real;
use crate::{environment, faults, finished, process, sys, ticks};

/// `_exit` of the C library.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(code: c_int) -> ! {
    static REAL: Real = Real::new();
    process::end();
    // Other libraries that are preloaded may wait for it too.
    let real = REAL.address(c"_exit");
    if real != 0 {
        // SAFETY: it is the function of that name.
        unsafe { core::mem::transmute::<usize, extern "C" fn(c_int) -> !>(real)(code) }
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

/// The process begins to end.
unsafe fn ends(_: *const u8, _: *const u8) {
    if !process::in_vfork_child() {
        process::begin_end();
    }
}

// What the C library does at the end is its own, and not a call of ours.
jumping! {
    fn exit() by ends;
    fn quick_exit() by ends;
}

static VFORK: Real = Real::new();

/// What [`vfork`] jumps to.
extern "C" fn before_vfork() -> usize {
    process::before_vfork();
    VFORK.address(c"vfork")
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
    if !process::recording() || !can_be_text(path) {
        return real(environment);
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(path) };
    // A shell tries one directory after another.
    if name.to_bytes().contains(&b'/') && !sys::can_execute(name) {
        return real(environment);
    }
    let has_table = process::has_own_table();
    if has_table {
        process::finish(State::Replaced, Some(name));
    } else {
        finished::announce(sys::process(), ticks::moment(), State::Replaced, name);
    }
    // SAFETY: the caller's.
    let result = faults::as_programs(|| unsafe { environment::with_recorder(environment, real) });
    if has_table {
        process::resume_after_failed_exec();
    } else {
        finished::announce(sys::process(), ticks::moment(), State::Stayed, name);
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
    if !process::recording() || !can_be_text(path) {
        return real(number, environment);
    }
    let mut own_number = 0;
    let number = if number.is_null() { &raw mut own_number } else { number };
    let before = ticks::moment();
    // SAFETY: the caller's.
    let result = faults::as_programs(|| unsafe {
        environment::with_recorder(environment, |environment| real(number, environment))
    });
    if result == 0 {
        // SAFETY: the caller's, and the function has filled it.
        unsafe { finished::announce(*number as u32, before, State::Replaced, CStr::from_ptr(path)) };
    }
    result
}

type Texts = *const *const c_char;

hook! {
    fn fork | _Fork() -> libc::pid_t |real| { forked(real()) }
    fn clone(
        start: *const c_void,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        parent: *mut libc::pid_t,
        thread: *mut c_void,
        child: *mut libc::pid_t,
    ) -> c_int |real| {
        // A child that shares all memory and is no thread: as of `vfork`.
        if flags & libc::CLONE_VM != 0 && flags & libc::CLONE_THREAD == 0 {
            process::before_vfork();
        }
        real()
    }
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
        unsafe {
            // As far as it fits, with a zero byte behind it.
            let mut name = [0; 512];
            sys::descriptor_name(file, &mut name[..511]);
            replacing(name.as_ptr().cast(), environment, |environment| replaced(file, arguments, environment))
        }
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

/// What `fork` returned.
#[inline(always)]
fn forked(process: libc::pid_t) -> libc::pid_t {
    if process == 0 {
        process::forked();
    }
    process
}

/// Functions of the C library whose arguments are a list.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Path = 0,
    Search = 1,
    WithEnvironment = 2,
}

/// Arguments that come in registers.
const IN_REGISTERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };
/// Arguments for which there is room on the stack; for more, memory is mapped.
const FEW: usize = 100;

/// Calls that of our hooks which takes the arguments as an array.
///
/// # Safety
/// Where the arguments are: those of a function that is [`Listed`].
unsafe extern "C" fn listed(registers: *const usize, stack: *const usize, function: Listed) -> c_int {
    let argument = |index: usize| -> *const c_char {
        // SAFETY: the caller has all up to the null pointer, and with an environment that.
        let word =
            unsafe { if index < IN_REGISTERS { *registers.add(index) } else { *stack.add(index - IN_REGISTERS) } };
        word as *const c_char
    };
    let path = argument(0);
    let count = (1..).take_while(|&index| !argument(index).is_null()).count();
    let run = |list: &mut [*const c_char]| {
        for (index, entry) in list[..count].iter_mut().enumerate() {
            *entry = argument(index + 1);
        }
        let list = list.as_ptr();
        // SAFETY: the caller's, in a list that ends with a null pointer.
        unsafe {
            match function {
                Listed::Path => execv(path, list),
                Listed::Search => execvp(path, list),
                Listed::WithEnvironment => execve(path, list, argument(count + 2).cast()),
            }
        }
    };
    if count <= FEW {
        return run(&mut [null(); FEW + 1]);
    }
    let bytes = (count + 1) * size_of::<usize>();
    // SAFETY: new memory, all zero, and its own.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let memory = sys::map(0, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if memory < 0 {
            sys::set_errno(libc::ENOMEM);
            return -1;
        }
        let result = run(core::slice::from_raw_parts_mut(memory as *mut *const c_char, count + 1));
        sys::call(libc::SYS_munmap, [memory as usize, bytes, 0, 0, 0, 0]);
        result
    }
}

/// Declares a function that takes a variable number of arguments, which Rust cannot define: it writes those of the registers
/// down and passes on where all are.
macro_rules! listed {
    ($($name:ident => $function:expr),+) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// As for that.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() -> c_int {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "sub rsp, 56",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "lea rsi, [rsp + 64]",
                "mov edx, {function}",
                "call {listed}",
                "add rsp, 56",
                "ret",
                function = const $function as u32,
                listed = sym listed,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "sub sp, sp, #80",
                "stp x0, x1, [sp]",
                "stp x2, x3, [sp, #16]",
                "stp x4, x5, [sp, #32]",
                "stp x6, x7, [sp, #48]",
                "stp x29, x30, [sp, #64]",
                "mov x0, sp",
                "add x1, sp, #80",
                "mov w2, #{function}",
                "bl {listed}",
                "ldp x29, x30, [sp, #64]",
                "add sp, sp, #80",
                "ret",
                function = const $function as u32,
                listed = sym listed,
            );
        }
    )+};
}
listed! { execl => Listed::Path, execlp => Listed::Search, execle => Listed::WithEnvironment }
