//! The time of day as the originals print it.

use std::ffi::CStr;

/// Now, in the local time zone, as `strftime` writes it with `format`.
pub fn now(format: &CStr) -> String {
    let mut text = [0_u8; 128];
    // SAFETY: time may be given null; localtime_r fills `parts`, which is valid with all bytes zero; strftime writes at
    // most as many bytes as `text` has, and `format` ends with a zero byte.
    let length = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        let now = libc::time(std::ptr::null_mut());
        libc::localtime_r(&raw const now, &raw mut parts);
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &raw const parts)
    };
    String::from_utf8_lossy(&text[..length]).into_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_date_has_its_year() {
        assert!(super::now(c"%Y").parse::<u32>().unwrap() > 2000);
    }
}
