//! Rules for programs that are recorded, given as an agent gives them: by writing into the file beside the tables.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use ioassay_record::layout::bytes_of;
use ioassay_record::operation::Operation;
use ioassay_record::rules::{
    GENERATION_AT, LOCK_AT, NAME, Rule, RuleKind, SLOTS, bit, bucket_begins_at, encode, half_begins_at,
};

use super::process::wait_until;

/// A rule that counts all calls on all files.
pub const ALL: Rule = Rule {
    kind: RuleKind::Monitor,
    operations: u64::MAX,
    path: b"",
    least_bytes: 0,
    most_bytes: u64::MAX,
    rate_per_s: 0,
    burst_ns: 0,
};

/// A rule that holds back what such calls move.
pub const fn throttle(operation: Operation, rate_per_s: u64) -> Rule<'static> {
    Rule { kind: RuleKind::ThrottleBytes, operations: bit(operation), rate_per_s, burst_ns: 50_000_000, ..ALL }
}

/// Who gives the rules. It lives until it is dropped.
pub struct Agent {
    file: File,
    generation: u64,
}

impl Agent {
    /// Of what is recorded with its tables in a new directory in `tables`.
    pub fn of(tables: &Path) -> Self {
        let mut path = None;
        wait_until("there is a file of rules", || {
            let found = fs::read_dir(tables).unwrap().flatten().next();
            path = found.map(|directory| directory.path().join(NAME)).filter(|path| path.exists());
            path.is_some()
        });
        Self::of_file(&path.unwrap())
    }

    /// Of a file of rules.
    pub fn of_file(path: &Path) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        let lock = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: LOCK_AT as libc::off_t,
            l_len: 1,
            l_pid: 0,
        };
        // SAFETY: the kernel reads the structure.
        let locked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
        assert_eq!(locked, 0, "{}", io::Error::last_os_error());
        Self { file, generation: 0 }
    }

    /// Gives these rules, by slots, and no others any more.
    pub fn give(&mut self, rules: &[(usize, Rule)]) {
        let mut all = [None; SLOTS];
        rules.iter().for_each(|(slot, rule)| all[*slot] = Some(*rule));
        self.generation += 1;
        self.file.write_all_at(bytes_of(&encode(&all).unwrap()), half_begins_at(self.generation)).unwrap();
        self.file.write_all_at(&self.generation.to_le_bytes(), GENERATION_AT).unwrap();
        for slot in 0..SLOTS {
            self.file.write_all_at(&[0; 8], bucket_begins_at(slot)).unwrap();
        }
    }
}
