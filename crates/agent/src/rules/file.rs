//! The file by which the recorders of a directory get the rules, and see that the agent lives.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::AtomicU64;

use ioassay_host::locks;
use ioassay_record::layout::bytes_of;
use ioassay_record::path_rules::{WHOLE_FILE_BYTES, Writer, rate_at, table_begins_at, version_at};
use ioassay_record::read::copy;
use ioassay_record::rules::{
    AGENT_SEEN_AT, Bucket, FILE_BYTES, GENERATION_AT, Half, MAGIC, NAME, RulesHeader, SLOTS, VERSION, bucket_begins_at,
    end_at, half_begins_at, header,
};
use ioassay_record::throttle::MOST_AHEAD_NS;

use crate::clock::monotonic_ns;
use crate::tables::directory::Directory;

/// The file, which this agent has locked.
#[derive(Debug)]
pub struct RulesFile {
    file: File,
    generation: u64,
    /// Of the keys of rules with paths; 0 where the rules in force have no table.
    version: u64,
}

/// What recorders say in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecorderReports {
    /// A process whose address space has no room for the rules, by its own number.
    pub no_room: Option<u64>,
    /// A process whose root directory has no path that is known outside, by its own number.
    pub unknown_root: Option<u64>,
    /// How often a rule with a path could not have a slot.
    pub without_slot: u64,
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
        let sizes = [FILE_BYTES, WHOLE_FILE_BYTES].map(|bytes| bytes as u64);
        if !is_sound || !sizes.contains(&file.metadata()?.size()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file of rules of this version"));
        }
        // It goes with the agent, however that ends.
        locks::lock(&file).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(error.kind(), "another agent watches this job"),
            _ => error,
        })?;
        let mut generation = [0; 8];
        file.read_exact_at(&mut generation, GENERATION_AT)?;
        Ok(Self { file, generation: u64::from_le_bytes(generation), version: 0 })
    }

    /// What recorders say, if the file is whole: one that was cut is not, also when it is as long again.
    pub fn look(&self) -> Option<RecorderReports> {
        let bytes = if self.version == 0 { FILE_BYTES } else { WHOLE_FILE_BYTES };
        let is_long = self.file.metadata().is_ok_and(|about| about.size() >= bytes as u64);
        let mut begin = [0; size_of::<RulesHeader>()];
        self.file.read_exact_at(&mut begin, 0).ok()?;
        let header: RulesHeader = copy(&begin)?;
        let has_table = self.version == 0 || self.word(version_at(self.generation)).ok()? == self.version;
        let has_half = self.generation == 0 || self.word(end_at(self.generation)).ok()? == self.generation;
        let is_whole = is_long && has_half && has_table && header.generation.into_inner() == self.generation;
        let process = |number: AtomicU64| Some(number.into_inner()).filter(|process| *process != 0);
        is_whole.then(|| RecorderReports {
            no_room: process(header.no_room),
            unknown_root: process(header.unknown_root),
            without_slot: header.without_slot.into_inner(),
        })
    }

    fn word(&self, offset: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, offset).map(|()| u64::from_le_bytes(word))
    }

    /// Makes a file that was cut one again, without rules: they are to be written anew.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn restore(&self) -> io::Result<()> {
        if self.file.metadata()?.size() < FILE_BYTES as u64 {
            self.file.set_len(FILE_BYTES as u64)?;
        }
        self.file.write_all_at(&bytes_of(&header())[..GENERATION_AT as usize], 0)?;
        self.say_alive()
    }

    /// Says that the agent is there, for recorders that cannot see its lock.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn say_alive(&self) -> io::Result<()> {
        self.file.write_all_at(&monotonic_ns().to_le_bytes(), AGENT_SEEN_AT)
    }

    /// Puts rules in force, with those of a table where there is one.
    ///
    /// # Errors
    /// If they cannot be written: the file system is full, or files may not be so large.
    pub fn write(&mut self, half: &Half, table: Option<&Writer>) -> io::Result<()> {
        // 0 is none.
        let next = self.generation.wrapping_add(1).max(1);
        let mut version = 0;
        if let Some(table) = table {
            if self.file.metadata()?.size() < WHOLE_FILE_BYTES as u64 {
                self.file.set_len(WHOLE_FILE_BYTES as u64)?;
            }
            version = next.wrapping_mul(2);
            for (offset, bytes) in std::iter::once(table.rules()).chain(table.keys()) {
                self.file.write_all_at(bytes, table_begins_at(next) + offset)?;
            }
            self.file.write_all_at(&version.to_le_bytes(), version_at(next))?;
        }
        self.file.write_all_at(bytes_of(half), half_begins_at(next))?;
        self.file.write_all_at(&next.to_le_bytes(), end_at(next))?;
        self.say_alive()?;
        self.file.write_all_at(&next.to_le_bytes(), GENERATION_AT)?;
        (self.generation, self.version) = (next, version);
        Ok(())
    }

    /// Changes how the rules of the table in force are found. Recorders that look something up meanwhile look again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_keys(&mut self, table: &Writer) -> io::Result<()> {
        let (offset, begin) = (version_at(self.generation), table_begins_at(self.generation));
        self.file.write_all_at(&(self.version + 1).to_le_bytes(), offset)?;
        for (offset, bytes) in table.keys() {
            self.file.write_all_at(bytes, begin + offset)?;
        }
        self.version += 2;
        self.file.write_all_at(&self.version.to_le_bytes(), offset)
    }

    /// Changes the rate with which a rule of the table in force begins when it gets a slot.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_rate_in_table(&self, rule: usize, per_s: u64) -> io::Result<()> {
        self.file.write_all_at(&per_s.max(1).to_le_bytes(), rate_at(self.generation, rule))
    }

    /// Which rules of the table have claimed which slots, as [`Half::claimed_by`].
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn claims(&self) -> io::Result<[u64; SLOTS]> {
        let mut bytes = [0; SLOTS * size_of::<u64>()];
        let offset = half_begins_at(self.generation) + offset_of!(Half, claimed_by) as u64;
        self.file.read_exact_at(&mut bytes, offset)?;
        let word = |slot: usize| bytes[slot * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        Ok(std::array::from_fn(word))
    }

    /// Whether calls have still to wait for what a slot let through.
    pub fn has_debt(&self, slot: usize) -> bool {
        self.word(bucket_begins_at(slot)).is_ok_and(|next| next > monotonic_ns())
    }

    /// Changes the rate of the throttling rule in a slot, of the rules in force. Where it rises, calls that wait already begin as
    /// much earlier as they would have to wait less for it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_rate(&self, slot: usize, before_per_s: u64, per_s: u64) -> io::Result<()> {
        let per_s = per_s.max(1);
        let offset = half_begins_at(self.generation) + (offset_of!(Half, rates_per_s) + slot * size_of::<u64>()) as u64;
        self.file.write_all_at(&per_s.to_le_bytes(), offset)?;
        if per_s > before_per_s { self.shorten_waits(slot, before_per_s, per_s) } else { Ok(()) }
    }

    /// Gives back to the bucket of a slot what its calls do not have to wait at a higher rate. Recorders change it at the same time:
    /// what one of them reserves between the reading and the writing here goes free.
    fn shorten_waits(&self, slot: usize, before_per_s: u64, per_s: u64) -> io::Result<()> {
        let bucket = bucket_begins_at(slot);
        let [next_at, returned_at] =
            [offset_of!(Bucket, next_ns), offset_of!(Bucket, returned_ns)].map(|offset| bucket + offset as u64);
        let next = self.word(next_at)?;
        let ahead = next.saturating_sub(monotonic_ns());
        if ahead == 0 || ahead > MOST_AHEAD_NS {
            return Ok(());
        }
        let at_new_rate = u128::from(ahead) * u128::from(before_per_s) / u128::from(per_s);
        let back = ahead - at_new_rate as u64;
        self.file.write_all_at(&self.word(returned_at)?.wrapping_add(back).to_le_bytes(), returned_at)?;
        self.file.write_all_at(&(next - back).to_le_bytes(), next_at)
    }

    /// Changes the aliases of the rules in force, which `half` has too.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn set_aliases(&self, half: &Half) -> io::Result<()> {
        let (begin, end) = (offset_of!(Half, alias_slots), offset_of!(Half, end));
        self.file.write_all_at(&bytes_of(half)[begin..end], half_begins_at(self.generation) + begin as u64)
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
    use ioassay_record::path_rules::{Claim, NewRule, PathTable};
    use ioassay_record::rules::{self as recorders, AliasBy, OfTable, RuleKind, encode};
    use std::fs;
    use std::sync::atomic::Ordering::Relaxed;

    fn directory(bytes: Vec<u8>) -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(NAME), bytes).unwrap();
        let directory = Directory::of_path(place.path()).unwrap();
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
        file.write(&half, None).unwrap();
        let bytes = fs::read(place.path().join(NAME)).unwrap();
        assert_eq!(bytes.len(), FILE_BYTES);
        assert_eq!(bytes[GENERATION_AT as usize..][..8], 1_u64.to_le_bytes());
        let begin = half_begins_at(1) as usize;
        half.end.store(1, Relaxed);
        assert_eq!(bytes[begin..begin + size_of::<Half>()], *bytes_of(&half));
        file.set_rate(3, 99, 77).unwrap();
        let bytes = fs::read(place.path().join(NAME)).unwrap();
        let rate = begin + offset_of!(Half, rates_per_s) + 3 * 8;
        assert_eq!(bytes[rate..rate + 8], 77_u64.to_le_bytes());
    }

    #[test]
    fn a_file_that_was_cut_is_whole_when_it_was_restored_and_not_when_others_let_it_grow() {
        let (place, directory) = directory(empty());
        let mut file = RulesFile::open(&directory).unwrap();
        let half: Half = zeroed();
        half.throttles.store(5, Relaxed);
        file.write(&half, None).unwrap();
        let others = File::options().write(true).open(place.path().join(NAME)).unwrap();
        for bytes in [0, 16, 4096, FILE_BYTES / 2, end_at(1) as usize] {
            assert!(file.look().is_some());
            others.set_len(bytes as u64).unwrap();
            assert!(file.look().is_none(), "{bytes}");
            others.set_len(FILE_BYTES as u64).unwrap();
            assert_eq!(file.look().is_some(), bytes as u64 > end_at(file.generation), "{bytes}");
            others.set_len(bytes as u64).unwrap();
            file.restore().unwrap();
            file.write(&half, None).unwrap();
            let whole = fs::read(place.path().join(NAME)).unwrap();
            assert_eq!((whole.len(), &whole[..12]), (FILE_BYTES, &bytes_of(&header())[..12]));
            assert_eq!(whole[half_begins_at(file.generation) as usize..][..512], bytes_of(&half)[..512]);
        }
        assert_eq!(file.generation, 6);
    }

    #[test]
    fn a_table_is_written_behind_the_rest_and_its_keys_can_change() {
        let (place, directory) = directory(empty());
        let mut file = RulesFile::open(&directory).unwrap();
        let mut words = vec![0; PathTable::WORDS];
        let mut writer = Writer::new(PathTable::in_words(&mut words).unwrap());
        let rule = recorders::Rule {
            kind: RuleKind::ThrottleBytes,
            operations: 1,
            path: b"/data",
            least_bytes: 0,
            most_bytes: u64::MAX,
            rate_per_s: 5,
            burst_ns: 0,
            number: 9,
        };
        let new = NewRule { rule, beyond_operations: 0, slots: None };
        writer.add(&new, &[AliasBy::Path(b"/real")]).unwrap();
        let half = encode::<&[u8]>(&[None; SLOTS], &[]).unwrap().with_table(OfTable { rules: 1, ..OfTable::default() });
        file.write(&half, Some(&writer)).unwrap();
        file.set_rate_in_table(0, 77).unwrap();
        let slot_of = |path: &str| {
            let bytes = fs::read(place.path().join(NAME)).unwrap();
            assert_eq!(bytes.len(), WHOLE_FILE_BYTES);
            let table = &bytes[table_begins_at(1) as usize..][..PathTable::WORDS * 8];
            let mut words: Vec<_> =
                table.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
            let table = PathTable::in_words(&mut words).unwrap();
            let half = encode::<&[u8]>(&[None; SLOTS], &[]).unwrap().with_table(OfTable::default());
            let buckets = std::array::from_fn(|_| zeroed());
            let rule = table.at_path(0, path.as_bytes()).unwrap().rules().next()?;
            let claim = table.claim(rule, &half, &buckets, |_| ());
            assert_eq!((claim, half.claimed_by[0].load(Relaxed)), (Claim::Slots(1), 9));
            Some(half.rates_per_s[0].load(Relaxed))
        };
        assert_eq!([slot_of("/data"), slot_of("/real/x"), slot_of("/other")], [Some(77), Some(77), None]);
        let mut words = vec![0; PathTable::WORDS];
        let mut writer = Writer::new(PathTable::in_words(&mut words).unwrap());
        writer.add(&new, &[AliasBy::Path(b"/other")]).unwrap();
        file.set_keys(&writer).unwrap();
        assert_eq!([slot_of("/data"), slot_of("/real/x"), slot_of("/other")], [Some(77), None, Some(77)]);
        assert_eq!(file.look(), Some(RecorderReports::default()));
        let whole = File::options().write(true).open(place.path().join(NAME)).unwrap();
        whole.set_len(FILE_BYTES as u64).unwrap();
        whole.set_len(WHOLE_FILE_BYTES as u64).unwrap();
        assert_eq!(file.look(), None);
    }

    #[test]
    fn calls_that_wait_for_a_low_rate_begin_earlier_when_it_rises() {
        let (place, directory) = directory(empty());
        let file = RulesFile::open(&directory).unwrap();
        let word = |offset: u64| {
            let bytes = fs::read(place.path().join(NAME)).unwrap();
            u64::from_le_bytes(bytes[offset as usize..][..8].try_into().unwrap())
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
