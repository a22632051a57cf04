//! The file by which the recorders of a directory get the rules, and see that the agent lives.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};

use ioassay_host::locks;
use ioassay_record::layout::bytes_of;
use ioassay_record::rules::{
    Bucket, FILE_BYTES, GENERATION_AT, Half, MAGIC, NAME, VERSION, bucket_begins_at, half_begins_at,
};
use ioassay_record::throttle::MOST_AHEAD_NS;

use crate::clock::monotonic_ns;
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

    /// Changes the rate of the throttling rule in a slot, of the rules in force. Where it rises, calls that wait already begin as
    /// much earlier as they would have to wait less for it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_rate(&self, slot: usize, before_per_s: u64, per_s: u64) -> io::Result<()> {
        let per_s = per_s.max(1);
        let at = half_begins_at(self.generation) + (offset_of!(Half, rates_per_s) + slot * size_of::<u64>()) as u64;
        self.file.write_all_at(&per_s.to_le_bytes(), at)?;
        if per_s > before_per_s { self.shorten_waits(slot, before_per_s, per_s) } else { Ok(()) }
    }

    /// Gives back to the bucket of a slot what its calls do not have to wait at a higher rate. Recorders change it at the same time:
    /// what one of them reserves between the reading and the writing here goes free.
    fn shorten_waits(&self, slot: usize, before_per_s: u64, per_s: u64) -> io::Result<()> {
        let word = |at: u64| {
            let mut word = [0; 8];
            self.file.read_exact_at(&mut word, at).map(|()| u64::from_le_bytes(word))
        };
        let bucket = bucket_begins_at(slot);
        let [next_at, returned_at] =
            [offset_of!(Bucket, next_ns), offset_of!(Bucket, returned_ns)].map(|offset| bucket + offset as u64);
        let next = word(next_at)?;
        let ahead = next.saturating_sub(monotonic_ns());
        if ahead == 0 || ahead > MOST_AHEAD_NS {
            return Ok(());
        }
        let at_new_rate = u128::from(ahead) * u128::from(before_per_s) / u128::from(per_s);
        let back = ahead - at_new_rate as u64;
        self.file.write_all_at(&word(returned_at)?.wrapping_add(back).to_le_bytes(), returned_at)?;
        self.file.write_all_at(&(next - back).to_le_bytes(), next_at)
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
        file.set_rate(3, 99, 77).unwrap();
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
    fn calls_that_wait_for_a_low_rate_begin_earlier_when_it_rises() {
        let (place, directory) = directory(empty());
        let file = RulesFile::open(&directory).unwrap();
        let word = |at: u64| {
            let bytes = fs::read(place.path().join(NAME)).unwrap();
            u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap())
        };
        let second = 1_000_000_000;
        let bucket = bucket_begins_at(3);
        let reserved = monotonic_ns() + 40 * second;
        file.file.write_all_at(&reserved.to_le_bytes(), bucket).unwrap();
        file.set_rate(3, 200, 100).unwrap();
        assert_eq!((word(bucket), word(bucket + 8)), (reserved, 0));
        file.set_rate(3, 100, 400).unwrap();
        let back = word(bucket + 8);
        assert!((29 * second..=30 * second).contains(&back), "{back}");
        assert_eq!(word(bucket), reserved - back);
        file.empty_bucket(3).unwrap();
        file.set_rate(3, 400, 800).unwrap();
        assert_eq!((word(bucket), word(bucket + 8)), (0, back));
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
