//! The file by which the recorders of a directory get the rules, and see that the agent lives.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};

use ioassay_host::locks;
use ioassay_record::layout::bytes_of;
use ioassay_record::rules::{FILE_BYTES, GENERATION_AT, Half, MAGIC, NAME, VERSION, bucket_begins_at, half_begins_at};

use crate::tables::directory::Directory;

/// The file, which this agent has locked.
#[derive(Debug)]
pub struct RulesFile {
    file: File,
    generation: u64,
}

impl RulesFile {
    /// Opens and locks the file of a directory.
    ///
    /// # Errors
    /// If there is none, it is none, or another agent has it.
    pub fn open(directory: &Directory) -> io::Result<Self> {
        let file = directory.open_to_write(OsStr::new(NAME))?.file;
        let mut begin = [0; 12];
        file.read_exact_at(&mut begin, 0)?;
        let is_sound = begin[..8] == MAGIC && begin[8..] == VERSION.to_le_bytes();
        if !is_sound || file.metadata()?.size() != FILE_BYTES as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file of rules of this version"));
        }
        // It goes with the agent, however that ends.
        locks::lock(&file).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(error.kind(), "another agent watches this job"),
            _ => error,
        })?;
        let mut generation = [0; 8];
        file.read_exact_at(&mut generation, GENERATION_AT)?;
        Ok(Self { file, generation: u64::from_le_bytes(generation) })
    }

    /// Whether recorders still have all of it in memory: of one that was cut they have nothing any more, also when it is as long again.
    pub fn is_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.size() >= FILE_BYTES as u64) && self.has_generation()
    }

    fn has_generation(&self) -> bool {
        let mut generation = [0; 8];
        let read = self.file.read_exact_at(&mut generation, GENERATION_AT);
        read.is_ok() && u64::from_le_bytes(generation) == self.generation
    }

    /// Puts rules in force.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, half: &Half) -> io::Result<()> {
        // 0 is none.
        let next = self.generation.wrapping_add(1).max(1);
        self.file.write_all_at(bytes_of(half), half_begins_at(next))?;
        self.file.write_all_at(&next.to_le_bytes(), GENERATION_AT)?;
        self.generation = next;
        Ok(())
    }

    /// Changes the rate of the throttling rule in a slot, of the rules in force.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_rate(&self, slot: usize, per_s: u64) -> io::Result<()> {
        let at = half_begins_at(self.generation) + (offset_of!(Half, rates_per_s) + slot * size_of::<u64>()) as u64;
        self.file.write_all_at(&per_s.max(1).to_le_bytes(), at)
    }

    /// Changes the aliases of the rules in force, which `half` has too.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn set_aliases(&self, half: &Half) -> io::Result<()> {
        let begin = offset_of!(Half, alias_slots);
        self.file.write_all_at(&bytes_of(half)[begin..], half_begins_at(self.generation) + begin as u64)
    }

    /// Forgives what calls that a slot holds back have still to wait for: its rate has changed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn empty_bucket(&self, slot: usize) -> io::Result<()> {
        self.file.write_all_at(&[0; 8], bucket_begins_at(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ioassay_record::layout::zeroed;
    use ioassay_record::rules::header;
    use std::fs;
    use std::sync::atomic::Ordering::Relaxed;

    fn directory(bytes: Vec<u8>) -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(NAME), bytes).unwrap();
        let directory = Directory::at(place.path()).unwrap();
        (place, directory)
    }

    fn empty() -> Vec<u8> {
        let mut bytes = bytes_of(&header()).to_vec();
        bytes.resize(FILE_BYTES, 0);
        bytes
    }

    #[test]
    fn a_generation_is_written_into_the_half_that_is_not_in_use() {
        let (place, directory) = directory(empty());
        let mut file = RulesFile::open(&directory).unwrap();
        let half: Half = zeroed();
        half.throttles.store(5, Relaxed);
        file.write(&half).unwrap();
        let bytes = fs::read(place.path().join(NAME)).unwrap();
        assert_eq!(bytes.len(), FILE_BYTES);
        assert_eq!(bytes[GENERATION_AT as usize..][..8], 1_u64.to_le_bytes());
        let begin = half_begins_at(1) as usize;
        assert_eq!(bytes[begin..begin + size_of::<Half>()], *bytes_of(&half));
        file.set_rate(3, 77).unwrap();
        let bytes = fs::read(place.path().join(NAME)).unwrap();
        let rate = begin + offset_of!(Half, rates_per_s) + 3 * 8;
        assert_eq!(bytes[rate..rate + 8], 77_u64.to_le_bytes());
    }

    #[test]
    fn a_file_that_was_cut_is_not_whole_when_it_has_grown_again() {
        let (place, directory) = directory(empty());
        let mut file = RulesFile::open(&directory).unwrap();
        let half: Half = zeroed();
        file.write(&half).unwrap();
        assert!(file.is_whole());
        let others = File::options().write(true).open(place.path().join(NAME)).unwrap();
        others.set_len(FILE_BYTES as u64 / 2).unwrap();
        assert!(!file.is_whole());
        others.set_len(0).unwrap();
        others.set_len(FILE_BYTES as u64).unwrap();
        assert!(!file.is_whole());
    }

    #[test]
    fn what_is_no_file_of_rules_is_refused_and_stays_as_it_is() {
        for bytes in [vec![], vec![0; FILE_BYTES], empty()[..FILE_BYTES - 1].to_vec()] {
            let (place, directory) = directory(bytes.clone());
            assert!(RulesFile::open(&directory).is_err());
            assert!(fs::read(place.path().join(NAME)).unwrap() == bytes);
        }
    }

    #[test]
    fn a_second_agent_is_refused_until_the_first_has_gone() {
        let (_place, directory) = directory(empty());
        let first = RulesFile::open(&directory).unwrap();
        assert!(RulesFile::open(&directory).unwrap_err().to_string().contains("another agent"));
        drop(first);
        assert!(RulesFile::open(&directory).is_ok());
    }
}
