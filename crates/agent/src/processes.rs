//! What the kernel says of the processes of jobs: memory and processor time, from `/proc/PID/stat`.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::tables::identity::Identity;

/// What a process has and has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Resident memory.
    pub resident_bytes: u64,
    /// Virtual memory.
    pub virtual_bytes: u64,
    /// Processor time in the program since it began.
    pub user_ns: u64,
    /// Processor time in the kernel since it began.
    pub system_ns: u64,
    /// Time in which it has waited for block devices since it began; 0 where the kernel keeps no such account.
    pub io_wait_ns: u64,
}

/// A process of this node whose file in `/proc` is open, so that no other process takes its place.
#[derive(Debug)]
pub struct Process {
    stat: File,
    last: Usage,
}

/// What changed since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// What it has now, and processor time since the last look.
    pub usage: Usage,
    /// Whether it still runs.
    pub runs: bool,
}

impl Process {
    /// The process `pid` of this node, if it can be the one of a table that belongs to `owner`: it runs as that user, and began
    /// no later than the table.
    pub fn find(pid: u32, owner: u32, identity: &Identity) -> Option<Self> {
        let stat = File::open(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
        if stat.metadata().ok()?.uid() != owner {
            return None;
        }
        let (usage, began_ns) = read(&stat)?;
        // Ticks of a hundredth of a second, and clocks that are set a little.
        let leeway_ns = 1_000_000_000;
        (began_ns <= identity.begin_ns.saturating_add(leeway_ns)).then_some(Self { stat, last: usage })
    }

    /// What changed.
    pub fn look(&mut self) -> Change {
        let Some((now, _)) = read(&self.stat) else { return Change::default() };
        let before = std::mem::replace(&mut self.last, now);
        let usage = Usage {
            user_ns: now.user_ns.saturating_sub(before.user_ns),
            system_ns: now.system_ns.saturating_sub(before.system_ns),
            io_wait_ns: now.io_wait_ns.saturating_sub(before.io_wait_ns),
            ..now
        };
        Change { usage, runs: true }
    }
}

/// Whether the process of this number runs, as that user.
pub fn runs(pid: u32, user: u32) -> bool {
    let stat = File::open(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| stat.metadata().is_ok_and(|about| about.uid() == user) && read(&stat).is_some())
}

/// Usage, and when the process began, in nanoseconds since 1970. Nothing where it has ended.
fn read(stat: &File) -> Option<(Usage, u64)> {
    let mut text = [0; 1024];
    let count = stat.read_at(&mut text, 0).ok()?;
    parse(&text[..count], ticks_per_second(), page_bytes(), boot_ns())
}

/// The fields of proc_pid_stat(5) by their numbers there.
fn parse(stat: &[u8], ticks_per_second: u64, page_bytes: u64, boot_ns: u64) -> Option<(Usage, u64)> {
    // The second field is a name in brackets, which may have anything in it.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace().collect();
    if ["Z", "X"].contains(fields.first()?) {
        return None;
    }
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ns = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second)) as u64;
    let usage = Usage {
        user_ns: ns(number(14)?),
        system_ns: ns(number(15)?),
        virtual_bytes: number(23)?,
        resident_bytes: number(24)?.saturating_mul(page_bytes),
        io_wait_ns: ns(number(42).unwrap_or_default()),
    };
    Some((usage, boot_ns.saturating_add(ns(number(22)?))))
}

fn ticks_per_second() -> u64 {
    sysconf(SysconfVar::CLK_TCK).ok().flatten().filter(|ticks| *ticks > 0).map_or(100, |ticks| ticks as u64)
}

pub(crate) fn page_bytes() -> u64 {
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |bytes| bytes as u64)
}

/// When this node began, in nanoseconds since 1970.
fn boot_ns() -> u64 {
    let ns = |clock| {
        let time = clock_gettime(clock).map_or((0, 0), |time| (time.tv_sec(), time.tv_nsec()));
        time.0 as u64 * 1_000_000_000 + time.1 as u64
    };
    ns(ClockId::CLOCK_REALTIME).saturating_sub(ns(ClockId::CLOCK_BOOTTIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(begin_ns: u64) -> Identity {
        Identity { begin_ns, ..Identity::default() }
    }

    #[test]
    fn fields_are_found_behind_a_name_that_looks_like_fields() {
        let stat = b"7 (a) R 1 2 (b) S 1 7 7 0 -1 0 10 0 2 0 150 50 0 0 20 0 3 0 1000 8192 5 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 30 0 0";
        let (usage, began_ns) = parse(stat, 100, 4096, 5).unwrap();
        let wanted = Usage {
            resident_bytes: 20_480,
            virtual_bytes: 8192,
            user_ns: 1_500_000_000,
            system_ns: 500_000_000,
            io_wait_ns: 300_000_000,
        };
        assert_eq!((usage, began_ns), (wanted, 10_000_000_005));
        assert_eq!(parse(b"7 (a) Z 1 7 7", 100, 4096, 0), None);
        assert_eq!(parse(b"", 100, 4096, 0), None);
    }

    #[test]
    fn a_process_is_found_if_it_can_be_that_of_the_table() {
        let me = std::process::id();
        let owner = nix::unistd::geteuid().as_raw();
        let mut process = Process::find(me, owner, &identity(u64::MAX)).unwrap();
        let work = (0..20_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
        std::hint::black_box(work);
        let change = process.look();
        assert!(change.runs && change.usage.resident_bytes > 100_000);
        assert!(Process::find(me, owner + 1, &identity(u64::MAX)).is_none());
        assert!(Process::find(me, owner, &identity(0)).is_none());
    }

    #[test]
    fn a_process_that_has_ended_does_not_run() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let owner = nix::unistd::geteuid().as_raw();
        let mut process = Process::find(child.id(), owner, &identity(u64::MAX)).unwrap();
        assert!(process.look().runs);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process.look(), Change::default());
    }
}
