//! Moments as the originals print them: in local time.

use std::ffi::CString;

use ioassay_host::clock;

/// `unix_s` seconds since 1970 in local time, in a format of strftime(3), for example `%a %b %e %H:%M:%S %Y`. Empty where
/// the C library knows no such moment.
pub fn format(unix_s: i64, format: &str) -> String {
    let Ok(format) = CString::new(format) else { return String::new() };
    let mut text = [0_u8; 128];
    // SAFETY: all zero is a valid `tm`; it and the time live until the calls return.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid.
    if unsafe { libc::localtime_r(&raw const unix_s, &raw mut local) }.is_null() {
        return String::new();
    }
    // SAFETY: the buffer is as long as said, the format ends with a zero byte.
    let bytes = unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &raw const local) };
    String::from_utf8_lossy(&text[..bytes]).into_owned()
}

/// Now, as [`format`] has it.
pub fn now(text: &str) -> String {
    format(now_s(), text)
}

/// Now, in seconds since 1970.
pub fn now_s() -> i64 {
    (clock::unix_ns() / 1_000_000_000) as i64
}

/// As ctime(3) has it, without the end of the line.
pub fn ctime(unix_s: i64) -> String {
    format(unix_s, "%a %b %e %H:%M:%S %Y")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_printed_as_ctime_does() {
        let text = ctime(1_700_000_000);
        assert!(text.starts_with("Tue Nov 14 ") || text.starts_with("Wed Nov 15 "), "{text}");
        assert!(text.ends_with(" 2023"), "{text}");
        assert_eq!(format(1_700_000_000, "%Y"), "2023");
    }
}
