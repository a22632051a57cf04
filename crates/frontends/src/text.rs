//! What several originals print alike.

use std::fmt::Display;
use std::path::Path;

/// A name and its value in a line, as IOR and mdtest print them.
pub fn key(name: &str, value: impl Display) -> String {
    format!("{name:<20}: {value}\n")
}

/// A number as C's `%.{digits}e` has it: `1.190436e+04`.
pub fn scientific(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{mantissa}e{sign}{exponent:0>2}")
}

/// What `uname -a` says of this node and its kernel; nothing where it cannot be asked.
pub fn uname() -> String {
    let Ok(about) = nix::sys::utsname::uname() else { return String::new() };
    let parts = [about.sysname(), about.nodename(), about.release(), about.version(), about.machine()];
    parts.map(|part| part.to_string_lossy()).join(" ")
}

/// What a file system says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSystem {
    /// Its size with its unit.
    pub size: String,
    /// Per cent of it that are used.
    pub used_percent: f64,
    /// Inodes, in units of 2^20.
    pub inodes_mi: f64,
    /// Per cent of them that are used.
    pub used_inodes_percent: f64,
}

impl FileSystem {
    /// As IOR and mdtest print it.
    pub fn line(&self) -> String {
        let Self { size, used_percent, inodes_mi, used_inodes_percent } = self;
        let used = format!("{size}   Used FS: {used_percent:2.1}%");
        key("FS", format!("{used}   Inodes: {inodes_mi:.1} Mi   Used Inodes: {used_inodes_percent:2.1}%"))
    }

    /// The file system of `directory`; `None` where it does not say.
    pub fn of(directory: &Path) -> Option<Self> {
        let about = nix::sys::statvfs::statvfs(directory).ok()?;
        let share = |free: f64, all: f64| if all > 0.0 { (1.0 - free / all) * 100.0 } else { 0.0 };
        let gib = about.blocks() as f64 * about.fragment_size() as f64 / f64::from(1 << 30);
        Some(Self {
            size: if gib > 1024.0 { format!("{:.1} TiB", gib / 1024.0) } else { format!("{gib:.1} GiB") },
            used_percent: share(about.blocks_free() as f64, about.blocks() as f64),
            inodes_mi: about.files() as f64 / f64::from(1 << 20),
            used_inodes_percent: share(about.files_free() as f64, about.files() as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_c() {
        assert_eq!(
            [0.001_5, 123_456_789.0].map(|number| scientific(number, 10)),
            ["1.5000000000e-03", "1.2345678900e+08"]
        );
        assert_eq!(scientific(11_904.36, 6), "1.190436e+04");
    }
}
