//! Which file it is, whatever its names are.

/// What no two files have in common, as far as their file system says.
///
/// Inode numbers are used again: on ext4 and XFS a new file most often has that of the one that was removed last, and both
/// may have been born in the same tick of the kernel's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileIdentity {
    /// Of the file system.
    pub device: u64,
    /// Within it.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not keep it.
    pub birth_ns: u64,
    /// Which use of the inode number it is; 0 where the file system has no such number, or was not asked.
    pub generation: u32,
}

impl FileIdentity {
    /// A number that other files hardly ever have.
    pub const fn digest(&self) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let words = [self.device, self.inode, self.birth_ns, self.generation as u64];
        let (mut digest, mut index) = (0_u64, 0);
        while index < words.len() {
            digest = (digest.rotate_left(23) ^ words[index]).wrapping_mul(FACTOR);
            index += 1;
        }
        digest ^ digest >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_any_other_number_has_another_digest() {
        let file = FileIdentity { device: 5, inode: 17, birth_ns: 1_795_844_854_000_000_000, generation: 3 };
        let others = [
            FileIdentity { device: 6, ..file },
            FileIdentity { inode: 18, ..file },
            FileIdentity { birth_ns: file.birth_ns + 4_000_000, ..file },
            FileIdentity { generation: 4, ..file },
            FileIdentity { inode: 16, generation: 4, ..file },
        ];
        assert!(others.iter().all(|other| other.digest() != file.digest()));
    }
}
