//! Sizes as IOR, mdtest and the IO500 read them (`string_to_bytes` in `src/option.c` of hpc/ior at 5fcf0ba).
//!
//! Not here: sizes of studies and of the other front ends, where `512KB` is decimal.

use ioassay_units::Bytes;

/// The size that `text` says. IOR looks at the letter after the number alone, so `512kb` and `512KB` are `512k`; what it
/// would misread (`1.5g`, `100x`) is an error.
pub fn parse(text: &str) -> Result<Bytes, <Bytes as std::str::FromStr>::Err> {
    let letter = |text: &&str| text.ends_with(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']);
    text.strip_suffix(['b', 'B']).filter(letter).unwrap_or(text).parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_binary_whatever_b_follows_it() {
        for (text, bytes) in
            [("512kb", 512 << 10), ("512KB", 512 << 10), ("2Mb", 2 << 20), ("1MiB", 1 << 20), ("1g", 1 << 30), ("8", 8)]
        {
            assert_eq!(parse(text).unwrap(), Bytes(bytes), "{text}");
        }
        for text in ["1.5gb", "100x", "kb", "b", "1kib", "99999999999t"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
