//! Streams of wide characters. Their bytes are those of UTF-8, which is what nearly every locale has.

use core::ffi::c_int;

use ioassay_record::operation::Operation::{StreamRead, StreamWrite};
use libc::{size_t, wchar_t};

use super::hook;
use super::streams::{
    Stream, formatted, read, read_formatted, standard_input, standard_output, transfer, write_formatted,
};

/// Of a wide character, which is one of Unicode.
const fn bytes_of(character: u32) -> usize {
    match character {
        0..0x80 => 1,
        0x80..0x800 => 2,
        0x800..0x1_0000 => 3,
        _ => 4,
    }
}

/// # Safety
/// The text ends with a zero.
unsafe fn bytes_of_text(mut text: *const wchar_t) -> usize {
    let mut bytes = 0;
    // SAFETY: the caller's.
    unsafe {
        while *text != 0 {
            bytes += bytes_of(*text as u32);
            text = text.add(1);
        }
    }
    bytes
}

#[inline(always)]
fn read_character(stream: *mut Stream, real: impl FnOnce() -> u32) -> u32 {
    transfer(StreamRead, stream, real, |character| {
        read(stream, if character == u32::MAX { 0 } else { bytes_of(character) })
    })
}

#[inline(always)]
fn read_line(stream: *mut Stream, real: impl FnOnce() -> *mut wchar_t) -> *mut wchar_t {
    transfer(StreamRead, stream, real, |line| {
        // SAFETY: the real function has put the zero there.
        read(stream, if line.is_null() { 0 } else { unsafe { bytes_of_text(line) } })
    })
}

#[inline(always)]
fn write_character(stream: *mut Stream, real: impl FnOnce() -> u32) -> u32 {
    transfer(StreamWrite, stream, real, |character| (character != u32::MAX).then(|| bytes_of(character) as u64))
}

#[inline(always)]
fn write_text(stream: *mut Stream, text: *const wchar_t, real: impl FnOnce() -> c_int) -> c_int {
    transfer(StreamWrite, stream, real, |result| {
        // SAFETY: the caller's text, which ends with a zero, or the real function would not have returned.
        (result >= 0).then(|| unsafe { bytes_of_text(text) } as u64)
    })
}

hook! {
    fn fgetwc | fgetwc_unlocked | getwc | getwc_unlocked(stream: *mut Stream) -> u32 |real| {
        read_character(stream, real)
    }
    fn getwchar | getwchar_unlocked() -> u32 |real| { read_character(standard_input(), real) }
    fn fgetws | fgetws_unlocked(line: *mut wchar_t, room: c_int, stream: *mut Stream) -> *mut wchar_t |real| {
        read_line(stream, real)
    }
    fn __fgetws_chk | __fgetws_unlocked_chk(
        line: *mut wchar_t, size: size_t, room: c_int, stream: *mut Stream,
    ) -> *mut wchar_t |real| {
        read_line(stream, real)
    }
    fn fputwc | fputwc_unlocked | putwc | putwc_unlocked(character: wchar_t, stream: *mut Stream) -> u32 |real| {
        write_character(stream, real)
    }
    fn putwchar | putwchar_unlocked(character: wchar_t) -> u32 |real| { write_character(standard_output(), real) }
    fn fputws | fputws_unlocked(text: *const wchar_t, stream: *mut Stream) -> c_int |real| {
        write_text(stream, text, real)
    }
}

// What they print counts a byte for each character.
formatted! {
    fn vwprintf by ioassay_vwprintf and wprintf() write_formatted(standard_output());
    fn __vwprintf_chk by ioassay___vwprintf_chk and __wprintf_chk(strict: c_int) write_formatted(standard_output());
    fn vfwprintf by ioassay_vfwprintf and fwprintf(stream: *mut Stream) write_formatted(stream);
    fn __vfwprintf_chk by ioassay___vfwprintf_chk and __fwprintf_chk
        (stream: *mut Stream, strict: c_int) write_formatted(stream);
    fn vwscanf by ioassay_vwscanf and wscanf() read_formatted(standard_input());
    fn __isoc99_vwscanf by ioassay___isoc99_vwscanf and __isoc99_wscanf() read_formatted(standard_input());
    fn __isoc23_vwscanf by ioassay___isoc23_vwscanf and __isoc23_wscanf() read_formatted(standard_input());
    fn vfwscanf by ioassay_vfwscanf and fwscanf(stream: *mut Stream) read_formatted(stream);
    fn __isoc99_vfwscanf by ioassay___isoc99_vfwscanf and __isoc99_fwscanf(stream: *mut Stream) read_formatted(stream);
    fn __isoc23_vfwscanf by ioassay___isoc23_vfwscanf and __isoc23_fwscanf(stream: *mut Stream) read_formatted(stream);
}
