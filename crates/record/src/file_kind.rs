//! What follows from the kind of a file.

use crate::table::FileKind;

impl FileKind {
    /// The kind with that number, as a table has it.
    #[inline(always)]
    pub const fn of(number: u16) -> Self {
        match number {
            1 => Self::Kernel,
            2 => Self::Regular,
            3 => Self::Directory,
            4 => Self::BlockDevice,
            5 => Self::CharacterDevice,
            6 => Self::Pipe,
            7 => Self::Socket,
            8 => Self::Anonymous,
            9 => Self::Others,
            10 => Self::Memory,
            _ => Self::Unknown,
        }
    }

    /// The kind by `st_mode`, which says neither [`Self::Kernel`] nor [`Self::Memory`].
    pub const fn of_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::Regular,
            0o040_000 => Self::Directory,
            0o060_000 => Self::BlockDevice,
            0o020_000 => Self::CharacterDevice,
            0o010_000 => Self::Pipe,
            0o140_000 => Self::Socket,
            _ => Self::Anonymous,
        }
    }

    /// The kind of a file before it is opened: [`Self::Kernel`] and [`Self::Memory`] by its name, [`Self::Unknown`] otherwise.
    pub fn of_name(name: &[u8]) -> Self {
        let is_in = |directory: &[u8]| {
            name.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        // What the kernel calls memory that has no place in the file system.
        let is_nameless = || {
            name.strip_suffix(b" (deleted)").is_some_and(|name| name.starts_with(b"/memfd:") || name == b"/secretmem")
        };
        if is_in(b"/proc") || is_in(b"/sys") {
            Self::Kernel
        } else if is_in(b"/dev/shm") || is_in(b"/dev/hugepages") || is_nameless() {
            Self::Memory
        } else {
            Self::Unknown
        }
    }

    /// The kind of a file that was of this kind by its name and is of that one by its `st_mode`.
    pub const fn opened_as(self, by_mode: Self) -> Self {
        if matches!(self, Self::Kernel | Self::Memory) { self } else { by_mode }
    }

    /// What all files without a name of their own are called.
    pub const fn nameless(self) -> Option<&'static str> {
        match self {
            Self::Pipe => Some("pipe"),
            Self::Socket => Some("socket"),
            Self::Anonymous => Some("anonymous"),
            _ => None,
        }
    }

    /// Offsets that are no multiple of it are misaligned, by `st_blksize`: a power of two; 0 where that makes no sense.
    pub const fn alignment(self, block_bytes: u32) -> u32 {
        let has_blocks = matches!(self, Self::Regular | Self::BlockDevice);
        if has_blocks && block_bytes.is_power_of_two() { block_bytes } else { 0 }
    }

    /// Whether the kind with that number is on storage, as far as is known.
    #[inline(always)]
    pub const fn is_on_storage(number: u16) -> bool {
        const ON_STORAGE: u32 = 1 << FileKind::Unknown as u32
            | 1 << FileKind::Regular as u32
            | 1 << FileKind::Directory as u32
            | 1 << FileKind::BlockDevice as u32
            | 1 << FileKind::Others as u32;
        ON_STORAGE >> (number % 32) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_number() {
        for number in 0..11 {
            assert_eq!(FileKind::of(number) as u16, number);
        }
        assert_eq!(FileKind::of(11), FileKind::Unknown);
    }

    #[test]
    fn what_a_name_says_stays_so_when_it_is_opened() {
        for (name, mode, kind) in [
            ("/proc/self/maps", 0o100_444, FileKind::Kernel),
            ("/sys/class", 0o040_755, FileKind::Kernel),
            ("/proc", 0o040_555, FileKind::Kernel),
            ("/process", 0o100_644, FileKind::Regular),
            ("/dev/shm/sem.lock", 0o100_600, FileKind::Memory),
            ("/dev/shm", 0o041_777, FileKind::Memory),
            ("/memfd:a name (deleted)", 0o100_777, FileKind::Memory),
            ("/memfd: (deleted)", 0o100_777, FileKind::Memory),
            ("/secretmem (deleted)", 0o100_600, FileKind::Memory),
            ("/memfd:no memory", 0o100_644, FileKind::Regular),
            ("/tmp/in tmpfs", 0o100_644, FileKind::Regular),
            ("/dev/null", 0o020_666, FileKind::CharacterDevice),
        ] {
            let by_mode = FileKind::of_mode(mode);
            assert_eq!(FileKind::of_name(name.as_bytes()).opened_as(by_mode), kind, "{name}");
        }
    }

    #[test]
    fn only_regular_files_and_block_devices_have_blocks_to_be_aligned_to() {
        for (mode, block_bytes, alignment) in [
            (0o100_644, 4096, 4096),
            (0o060_660, 512, 512),
            (0o100_644, 3 * 4096, 0),
            (0o100_644, 0, 0),
            (0o010_600, 4096, 0),
            (0o020_620, 1024, 0),
        ] {
            assert_eq!(FileKind::of_mode(mode).alignment(block_bytes), alignment, "{mode:o}");
        }
    }
}
