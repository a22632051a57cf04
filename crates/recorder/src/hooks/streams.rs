//! Streams of the C library: `fopen` to `fclose`, as the calls that the program makes.
//!
//! What the library itself reads and writes when a buffer is empty or full does not come by here. A stream has its
//! position in the slot of its descriptor, which nobody else moves meanwhile.
//!
//! A call for a few bytes that are in the buffer, or fit into it, reaches no kernel: it is counted with its bytes, but
//! without a time, because the clock would take longer than the call.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;

use ioassay_record::operation::Operation;
use ioassay_record::operation::Operation::{Close, Open, StreamFlush, StreamRead, StreamSeek, StreamWrite, Write};
use ioassay_record::table::FileKind;
use libc::{off64_t, size_t, ssize_t};

use super::descriptors::close_as;
use super::open::{open_nameless_with, opened};
use super::{done, errno, hook, inlined};
use crate::call::{self, Call, Outcome};
use crate::descriptors::{self, Slot};
use crate::files::{self, Base};
use crate::real::{OfCLibrary, Real};
use crate::ticks;

/// The beginning of a `FILE`, as `<bits/types/struct_FILE.h>` has it. Macros that are compiled into programs rely on
/// it.
#[repr(C)]
pub struct Stream {
    pub flags: c_int,
    pub read_next: *const u8,
    read_end: *const u8,
    pub read_begin: *const u8,
    pub write_begin: *const u8,
    pub write_next: *const u8,
    write_end: *const u8,
    buffer_begin: *const u8,
    buffer_end: *const u8,
    for_backing_up: [*const u8; 3],
    markers: *const c_void,
    next: *const c_void,
    pub descriptor: c_int,
    rest: [u32; 19],
    /// Above 0: of wide characters.
    pub orientation: c_int,
}

const _: () = assert!(core::mem::offset_of!(Stream, descriptor) == 112);
const _: () = assert!(core::mem::offset_of!(Stream, orientation) == 192);

/// Of [`Stream::flags`]: it failed. And: it is of a descriptor, not of memory or of the program's own functions.
const FAILED: c_int = 0x20;
const OF_DESCRIPTOR: c_int = 0x2000;

unsafe extern "C" {
    #[link_name = "stdin"]
    static STANDARD_INPUT: *mut Stream;
    #[link_name = "stdout"]
    static STANDARD_OUTPUT: *mut Stream;
}

pub fn standard_input() -> *mut Stream {
    // SAFETY: the C library's variable.
    unsafe { STANDARD_INPUT }
}

pub fn standard_output() -> *mut Stream {
    // SAFETY: the C library's variable.
    unsafe { STANDARD_OUTPUT }
}

/// A field of a stream that other threads may be changing.
macro_rules! field {
    ($stream:expr, $name:ident) => {
        // SAFETY: the caller's stream.
        unsafe { (&raw const (*$stream).$name).read_volatile() }
    };
}
pub(super) use field;

/// The descriptor of a stream; -1 where it has none.
#[inline(always)]
fn descriptor(stream: *mut Stream) -> c_int {
    if stream.is_null() || field!(stream, flags) & OF_DESCRIPTOR == 0 { -1 } else { field!(stream, descriptor) }
}

/// What a read returned that moved so many bytes: none may be the end of the file, or a failure.
pub fn read(stream: *mut Stream, bytes: usize) -> Option<u64> {
    if bytes == 0 && field!(stream, flags) & FAILED != 0 { None } else { Some(bytes as u64) }
}

/// The bytes that items have; `None` where there should have been some, and there was a failure.
fn written(items: size_t, size: size_t, wanted: size_t) -> Option<u64> {
    if items == 0 && size != 0 && wanted != 0 { None } else { Some(items as u64 * size as u64) }
}

#[inline(never)]
fn begin(operation: Operation, stream: *mut Stream, most: size_t) -> Option<(Call, &'static Slot)> {
    match descriptor(stream) {
        ..0 => None,
        descriptor => {
            let (call, slot) = call::transfer_on(operation, descriptor, most)?;
            inlined::before(stream, slot);
            Some((call, slot))
        }
    }
}

/// A transfer of a stream has ended.
#[inline(never)]
fn end_on(stream: *mut Stream, call: Call, slot: &'static Slot, bytes: Option<u64>) {
    end(call, slot, bytes);
    inlined::after(stream, slot);
}

#[inline(always)]
fn end(call: Call, slot: &'static Slot, bytes: Option<u64>) {
    let outcome = match bytes {
        None => Outcome::Failed(errno()),
        Some(bytes) => {
            Outcome::Moved { bytes, offset: Some(slot.advance(bytes)), block_bytes: slot.block_bytes.load(Relaxed) }
        }
    };
    call::end(call, outcome);
}

/// A transfer whose size is known only afterwards. `bytes` says how many a result means; nothing where it failed.
#[inline(always)]
pub fn transfer<R: Copy>(
    operation: Operation,
    stream: *mut Stream,
    real: impl FnOnce() -> R,
    bytes: impl FnOnce(R) -> Option<u64>,
) -> R {
    transfer_most(operation, stream, 0, real, bytes)
}

/// A transfer of so many bytes at most.
#[inline(always)]
fn transfer_most<R: Copy>(
    operation: Operation,
    stream: *mut Stream,
    most: size_t,
    real: impl FnOnce() -> R,
    bytes: impl FnOnce(R) -> Option<u64>,
) -> R {
    let call = begin(operation, stream, most);
    let result = real();
    if let Some((call, slot)) = call {
        end_on(stream, call, slot, bytes(result));
    }
    result
}

/// Longer ones are worth the clock.
const FEW: size_t = 64;

/// A read of so many bytes at most.
#[inline(always)]
fn read_some<R: Copy>(
    stream: *mut Stream,
    most: size_t,
    real: impl FnOnce() -> R,
    bytes: impl FnOnce(R) -> Option<u64>,
) -> R {
    let ready = (field!(stream, read_end) as usize).saturating_sub(field!(stream, read_next) as usize);
    transfer_some(StreamRead, stream, most, ready, real, bytes)
}

/// A write of so many bytes.
#[inline(always)]
fn write_some<R: Copy>(
    stream: *mut Stream,
    count: size_t,
    real: impl FnOnce() -> R,
    bytes: impl FnOnce(R) -> Option<u64>,
) -> R {
    // Of a stream that is flushed at the end of each line, nothing is free.
    let free = (field!(stream, write_end) as usize).saturating_sub(field!(stream, write_next) as usize);
    transfer_some(StreamWrite, stream, count, free, real, bytes)
}

/// A transfer of so many bytes at most, of which the buffer has `within` or has room for them.
#[inline(always)]
fn transfer_some<R: Copy>(
    operation: Operation,
    stream: *mut Stream,
    most: size_t,
    within: size_t,
    real: impl FnOnce() -> R,
    bytes: impl FnOnce(R) -> Option<u64>,
) -> R {
    if most > FEW || most > within {
        return transfer_most(operation, stream, most, real, bytes);
    }
    let result = real();
    if let Some(bytes) = bytes(result)
        && let descriptor @ 0.. = descriptor(stream)
    {
        call::at_once(operation, descriptor, bytes, None);
    }
    result
}

#[inline(always)]
fn read_byte(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    read_some(stream, 1, real, |byte| read(stream, (byte >= 0).into()))
}

#[inline(always)]
fn write_byte(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    write_some(stream, 1, real, |byte| (byte >= 0).then_some(1))
}

#[inline(always)]
fn read_items(stream: *mut Stream, size: size_t, items: size_t, real: impl FnOnce() -> size_t) -> size_t {
    read_some(stream, size.saturating_mul(items), real, |items| read(stream, items * size))
}

#[inline(always)]
fn write_items(stream: *mut Stream, size: size_t, items: size_t, real: impl FnOnce() -> size_t) -> size_t {
    write_some(stream, size.saturating_mul(items), real, |done| written(done, size, items))
}

/// A line that is read to memory, with a zero byte behind it.
#[inline(always)]
fn read_line(stream: *mut Stream, real: impl FnOnce() -> *mut c_char) -> *mut c_char {
    transfer(StreamRead, stream, real, |line| {
        // SAFETY: the real function has put the zero byte there.
        let bytes = if line.is_null() { 0 } else { unsafe { CStr::from_ptr(line) }.count_bytes() };
        read(stream, bytes)
    })
}

#[inline(always)]
fn read_delimited(stream: *mut Stream, real: impl FnOnce() -> ssize_t) -> ssize_t {
    transfer(StreamRead, stream, real, |bytes| read(stream, bytes.max(0) as usize))
}

/// Reads what a format wants. How far the stream has moved is asked before and after.
#[inline(always)]
pub fn read_formatted(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    let begin = position(stream);
    transfer(StreamRead, stream, real, |items| {
        let moved = position(stream).wrapping_sub(begin);
        let moved = usize::try_from(moved).unwrap_or(0);
        if items < 0 { read(stream, moved) } else { Some(moved as u64) }
    })
}

/// A text, and so many bytes that follow it.
#[inline(always)]
fn write_text(stream: *mut Stream, text: *const c_char, more: size_t, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's text, which ends with a zero byte.
    let bytes = unsafe { CStr::from_ptr(text) }.count_bytes() + more;
    write_some(stream, bytes, real, |result| (result >= 0).then_some(bytes as u64))
}

#[inline(always)]
pub fn write_formatted(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    transfer(StreamWrite, stream, real, |bytes| u64::try_from(bytes).ok())
}

#[inline(always)]
fn write_to_descriptor(descriptor: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let call = call::on_descriptor(Write, descriptor);
    let result = real();
    if let Some((call, slot)) = call {
        end(call, slot, u64::try_from(result).ok());
    }
    result
}

/// Where a stream is. Asked of the C library, which asks the kernel at most once after each seek; of a stream that has
/// no position, 0.
fn position(stream: *mut Stream) -> off64_t {
    static TELL: Real = Real::new();
    // Pipes and terminals have none, and it would be an error to ask.
    let kind = call::update(|| slot(stream).map(|slot| files::kind(files::row(slot.file()))));
    let address = TELL.address(c"ftello64");
    if !matches!(kind.flatten(), Some(FileKind::Regular | FileKind::Kernel | FileKind::Memory)) || address == 0 {
        return 0;
    }
    // SAFETY: the function of that name, and the caller's stream.
    unsafe {
        let before = errno();
        let tell: unsafe extern "C" fn(*mut Stream) -> off64_t = core::mem::transmute(address);
        let position = tell(stream);
        super::set_errno(before);
        position.max(0)
    }
}

fn slot(stream: *mut Stream) -> Option<&'static Slot> {
    descriptors::slot(descriptor(stream))
}

/// # Safety
/// Path and mode end with a zero byte; the path may be null.
#[inline(always)]
unsafe fn open(path: *const c_char, mode: *const c_char, real: impl FnOnce() -> *mut Stream) -> *mut Stream {
    // SAFETY: the caller's.
    let call = unsafe { call::on_path(Open, Base::WorkingDirectory, path) };
    let stream = real();
    // SAFETY: the caller's.
    unsafe { was_opened(call, mode, stream) };
    stream
}

/// # Safety
/// The mode ends with a zero byte.
unsafe fn was_opened(call: Option<Call>, mode: *const c_char, stream: *mut Stream) {
    let Some(call) = call else { return };
    if stream.is_null() {
        call::end(call, Outcome::Failed(errno()));
        return;
    }
    // SAFETY: the caller's, and the real function has read it.
    let flags = flags(unsafe { CStr::from_ptr(mode) }.to_bytes());
    call::end_and(call, Outcome::Done, |_| opened(call.file, descriptor(stream), flags));
}

/// What a mode means: `w+e`.
fn flags(mode: &[u8]) -> c_int {
    let mut flags = match mode.first() {
        Some(b'w') => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        Some(b'a') => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
        _ => libc::O_RDONLY,
    };
    // Behind a comma there is the name of a character set.
    for more in mode.iter().skip(1).take_while(|&&letter| letter != b',') {
        flags |= match more {
            b'x' => libc::O_EXCL,
            b'e' => libc::O_CLOEXEC,
            _ => 0,
        };
        if *more == b'+' {
            flags = flags & !libc::O_ACCMODE | libc::O_RDWR;
        }
    }
    flags
}

/// Opens another file with a stream, or without a path the same one in another way.
///
/// # Safety
/// As for [`open`].
#[inline(always)]
unsafe fn open_again(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut Stream,
    real: impl FnOnce() -> *mut Stream,
) -> *mut Stream {
    inlined::before_end(stream, descriptor(stream));
    let old = call::update(|| {
        let old = descriptors::forget(descriptor(stream))?;
        files::closed(old, ticks::now());
        Some(old)
    });
    let old = old.flatten();
    let call = if path.is_null() {
        old.and_then(|file| call::on_file(Open, file))
    } else {
        // SAFETY: the caller's.
        unsafe { call::on_path(Open, Base::WorkingDirectory, path) }
    };
    let stream = real();
    // SAFETY: the caller's.
    unsafe { was_opened(call, mode, stream) };
    stream
}

/// # Safety
/// It is a stream that a seek may be made of.
#[inline(always)]
fn seek(stream: *mut Stream, offset: off64_t, whence: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some((call, slot)) = begin(StreamSeek, stream, 0) else { return real() };
    let result = done(Some(call), real);
    if result == 0 {
        let begin = match whence {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => slot.position.load(Relaxed) as off64_t,
            _ => position(stream).wrapping_sub(offset),
        };
        slot.position.store(begin.wrapping_add(offset) as u64, Relaxed);
    }
    inlined::after(stream, slot);
    result
}

#[inline(always)]
fn flush(stream: *mut Stream, real: impl FnOnce() -> c_int) -> c_int {
    if stream.is_null() {
        inlined::before_all();
        return done(call::on_file(StreamFlush, files::others()), real);
    }
    let begun = begin(StreamFlush, stream, 0);
    let result = done(begun.map(|(call, _)| call), real);
    if let Some((_, slot)) = begun {
        inlined::after(stream, slot);
    }
    result
}

hook! {
    fn fopen | fopen64(path: *const c_char, mode: *const c_char) -> *mut Stream |real| {
        // SAFETY: the caller's.
        unsafe { open(path, mode, real) }
    }
    fn freopen | freopen64(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream |real| {
        // SAFETY: the caller's.
        unsafe { open_again(path, mode, stream, real) }
    }
    fn tmpfile | tmpfile64() -> *mut Stream |real| { open_nameless_with(descriptor, real) }
    fn popen(command: *const c_char, kind: *const c_char) -> *mut Stream |real| {
        let stream = real();
        if !stream.is_null() {
            call::update(|| descriptors::forget(descriptor(stream)));
        }
        stream
    }
    fn pclose(stream: *mut Stream) -> c_int |real| {
        // Before it is closed: afterwards another thread may have the descriptor again.
        inlined::before_end(stream, descriptor(stream));
        call::update(|| descriptors::forget(descriptor(stream)));
        real()
    }
    fn fclose(stream: *mut Stream) -> c_int |real| {
        inlined::before_end(stream, descriptor(stream));
        close_as(Close, descriptor(stream), real)
    }
    fn fcloseall() -> c_int |real| { flush(core::ptr::null_mut(), real) }
    fn fflush | fflush_unlocked(stream: *mut Stream) -> c_int |real| { flush(stream, real) }
    fn fseek(stream: *mut Stream, offset: c_long, whence: c_int) -> c_int |real| {
        seek(stream, offset, whence, real)
    }
    fn fseeko | fseeko64(stream: *mut Stream, offset: off64_t, whence: c_int) -> c_int |real| {
        seek(stream, offset, whence, real)
    }
    fn fsetpos(stream: *mut Stream, place: *const off64_t) -> c_int |real| {
        // SAFETY: an `fpos_t` begins with the offset.
        seek(stream, unsafe { *place }, libc::SEEK_SET, real)
    }
    fn fsetpos64(stream: *mut Stream, place: *const off64_t) -> c_int |real| {
        // SAFETY: the same.
        seek(stream, unsafe { *place }, libc::SEEK_SET, real)
    }
    fn rewind(stream: *mut Stream) -> () |real| {
        seek(stream, 0, libc::SEEK_SET, || {
            real();
            0
        });
    }
    fn ungetc(byte: c_int, stream: *mut Stream) -> c_int |real| {
        let result = real();
        if result >= 0 {
            call::update(|| slot(stream).map(|slot| slot.advance(u64::MAX)));
        }
        result
    }

    fn fread | fread_unlocked(bytes: *mut c_void, size: size_t, items: size_t, stream: *mut Stream) -> size_t |real| {
        read_items(stream, size, items, real)
    }
    fn __fread_chk | __fread_unlocked_chk(
        bytes: *mut c_void,
        room: size_t,
        size: size_t,
        items: size_t,
        stream: *mut Stream,
    ) -> size_t |real| {
        read_items(stream, size, items, real)
    }
    fn fgets | fgets_unlocked(line: *mut c_char, room: c_int, stream: *mut Stream) -> *mut c_char |real| {
        read_line(stream, real)
    }
    fn __fgets_chk | __fgets_unlocked_chk(
        line: *mut c_char, size: size_t, room: c_int, stream: *mut Stream,
    ) -> *mut c_char |real| {
        read_line(stream, real)
    }
    fn gets(line: *mut c_char) -> *mut c_char |real| { read_line(standard_input(), real) }
    fn __gets_chk(line: *mut c_char, size: size_t) -> *mut c_char |real| { read_line(standard_input(), real) }
    fn fgetc | fgetc_unlocked | getc | getc_unlocked | _IO_getc(stream: *mut Stream) -> c_int |real| {
        read_byte(stream, real)
    }
    fn getchar | getchar_unlocked() -> c_int |real| { read_byte(standard_input(), real) }
    // What macros call where the buffer is empty, or full.
    fn __uflow(stream: *mut Stream) -> c_int |real| { read_byte(stream, real) }
    fn getw(stream: *mut Stream) -> c_int |real| {
        static GETW: OfCLibrary = OfCLibrary::new();
        if !GETW.is_next(c"getw") {
            return real();
        }
        transfer(StreamRead, stream, real, |word| read(stream, if word == -1 { 0 } else { 4 }))
    }
    fn getline(line: *mut *mut c_char, room: *mut size_t, stream: *mut Stream) -> ssize_t |real| {
        static GETLINE: OfCLibrary = OfCLibrary::new();
        if !GETLINE.is_next(c"getline") {
            return real();
        }
        read_delimited(stream, real)
    }
    fn getdelim | __getdelim(
        line: *mut *mut c_char, room: *mut size_t, delimiter: c_int, stream: *mut Stream,
    ) -> ssize_t |real| {
        read_delimited(stream, real)
    }

    fn fwrite | fwrite_unlocked(
        bytes: *const c_void, size: size_t, items: size_t, stream: *mut Stream,
    ) -> size_t |real| {
        write_items(stream, size, items, real)
    }
    fn fputs | fputs_unlocked(text: *const c_char, stream: *mut Stream) -> c_int |real| {
        write_text(stream, text, 0, real)
    }
    fn puts(text: *const c_char) -> c_int |real| { write_text(standard_output(), text, 1, real) }
    fn fputc | fputc_unlocked | putc | putc_unlocked | _IO_putc(byte: c_int, stream: *mut Stream) -> c_int |real| {
        write_byte(stream, real)
    }
    fn putchar | putchar_unlocked(byte: c_int) -> c_int |real| { write_byte(standard_output(), real) }
    fn __overflow(stream: *mut Stream, byte: c_int) -> c_int |real| { write_byte(stream, real) }
    fn putw(word: c_int, stream: *mut Stream) -> c_int |real| {
        static PUTW: OfCLibrary = OfCLibrary::new();
        if !PUTW.is_next(c"putw") {
            return real();
        }
        write_some(stream, 4, real, |result| (result == 0).then_some(4))
    }
}

/// Declares hooks of functions that take a list of arguments, and exports those that take the arguments themselves: C
/// makes them into a list, and calls the former by the name given here (`streams_formatted.c`).
macro_rules! formatted {
    ($(
        fn $listed:ident by $forward:ident $(and $variadic:ident)?
        ($($argument:ident: $kind:ty),* $(,)?) $with:ident($($of:expr),*);
    )+) => {$(
        $crate::hooks::hook! {
            // A list is an array on one architecture and a structure on the other, and comes as a pointer on both.
            fn $listed(
                $($argument: $kind,)*
                format: *const core::ffi::c_void,
                arguments: *mut core::ffi::c_void,
            ) -> core::ffi::c_int |real| { $with($($of,)* real) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $forward(
            $($argument: $kind,)*
            format: *const core::ffi::c_void,
            arguments: *mut core::ffi::c_void,
        ) -> core::ffi::c_int {
            // SAFETY: the caller's arguments.
            unsafe { $listed($($argument,)* format, arguments) }
        }

        $(#[doc = concat!("`", stringify!($variadic), "` of the C library.")]
        ///
        /// # Safety
        /// As for that.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $variadic() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(concat!("jmp ioassay_", stringify!($variadic)));
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(concat!("b ioassay_", stringify!($variadic)));
        }
        )?
    )+};
}
pub(super) use formatted;

formatted! {
    fn vprintf by ioassay_vprintf and printf() write_formatted(standard_output());
    fn __vprintf_chk by ioassay___vprintf_chk and __printf_chk(strict: c_int) write_formatted(standard_output());
    fn vfprintf by ioassay_vfprintf and fprintf(stream: *mut Stream) write_formatted(stream);
    fn __vfprintf_chk by ioassay___vfprintf_chk and __fprintf_chk
        (stream: *mut Stream, strict: c_int) write_formatted(stream);
    fn vdprintf by ioassay_vdprintf (descriptor: c_int) write_to_descriptor(descriptor);
    fn __vdprintf_chk by ioassay___vdprintf_chk and __dprintf_chk
        (descriptor: c_int, strict: c_int) write_to_descriptor(descriptor);
    fn vscanf by ioassay_vscanf and scanf() read_formatted(standard_input());
    fn __isoc99_vscanf by ioassay___isoc99_vscanf and __isoc99_scanf() read_formatted(standard_input());
    fn __isoc23_vscanf by ioassay___isoc23_vscanf and __isoc23_scanf() read_formatted(standard_input());
    fn vfscanf by ioassay_vfscanf and fscanf(stream: *mut Stream) read_formatted(stream);
    fn __isoc99_vfscanf by ioassay___isoc99_vfscanf and __isoc99_fscanf(stream: *mut Stream) read_formatted(stream);
    fn __isoc23_vfscanf by ioassay___isoc23_vfscanf and __isoc23_fscanf(stream: *mut Stream) read_formatted(stream);
}

static DPRINTF: OfCLibrary = OfCLibrary::new();

unsafe extern "C" {
    fn ioassay_dprintf();
}

/// What [`dprintf`] jumps to.
extern "C" fn chosen_dprintf() -> usize {
    if DPRINTF.is_next(c"dprintf") { ioassay_dprintf as *const () as usize } else { DPRINTF.address(c"dprintf") }
}

/// `dprintf` of the C library, or of a library that has another. All registers that may have arguments are kept.
///
/// # Safety
/// As for that.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dprintf() {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "sub rsp, 128",
        "movups [rsp], xmm0",
        "movups [rsp + 16], xmm1",
        "movups [rsp + 32], xmm2",
        "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4",
        "movups [rsp + 80], xmm5",
        "movups [rsp + 96], xmm6",
        "movups [rsp + 112], xmm7",
        "call {chosen}",
        "mov r11, rax",
        "movups xmm0, [rsp]",
        "movups xmm1, [rsp + 16]",
        "movups xmm2, [rsp + 32]",
        "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]",
        "movups xmm5, [rsp + 80]",
        "movups xmm6, [rsp + 96]",
        "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp r11",
        chosen = sym chosen_dprintf,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "bl {chosen}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]",
        "ldp q2, q3, [sp, #128]",
        "ldp q4, q5, [sp, #160]",
        "ldp q6, q7, [sp, #192]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        chosen = sym chosen_dprintf,
    );
}
