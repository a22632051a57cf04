//! What a node says of itself, without a look at any file system that is mounted from elsewhere.

use std::collections::BTreeSet;
use std::fs::File;

use io_uring::IoUring;
use ioassay_host::clock::Clock;
use ioassay_host::environment;
use ioassay_protocol::survey::{Abilities, Limits, SurveyedNode, WallClock};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::unistd::{AccessFlags, Pid, access};

use crate::cache::residency::{self, Instrument};
use crate::ranks::local::MeetingPlace;

/// Number of the capability CAP_SYS_ADMIN, without which nobody mounts anything.
const CAP_SYS_ADMIN: u32 = 21;

/// This node, on which there are `ranks` ranks.
pub fn look(ranks: u32, clock: &Clock) -> SurveyedNode {
    SurveyedNode {
        ranks,
        processors: 0,
        environment: environment::of_this_node(None, clock),
        target: None,
        limits: limits(ranks),
        abilities: abilities(),
        wall_clock: WallClock { synchronized: synchronized(), offset_ns: None },
        clock_uncertainty_ns: None,
    }
}

/// Numbers of the processors that this rank may use: a launcher may have bound each rank to other ones.
pub fn processors() -> BTreeSet<u32> {
    let set = sched_getaffinity(Pid::this()).unwrap_or_default();
    (0..CpuSet::count()).filter(|&number| set.is_set(number).unwrap_or(false)).map(|number| number as u32).collect()
}

fn limits(ranks: u32) -> Limits {
    Limits {
        open_files: limit(Resource::RLIMIT_NOFILE),
        processes: limit(Resource::RLIMIT_NPROC),
        file_bytes: limit(Resource::RLIMIT_FSIZE),
        locked_bytes: limit(Resource::RLIMIT_MEMLOCK),
        core_bytes: limit(Resource::RLIMIT_CORE),
        meeting_bytes: MeetingPlace::file_bytes(ranks),
        shared_memory_bytes: shared_memory_bytes(),
    }
}

fn limit(resource: Resource) -> Option<u64> {
    getrlimit(resource).ok().map(|(soft, _)| soft).filter(|&soft| soft != RLIM_INFINITY)
}

fn shared_memory_bytes() -> Option<u64> {
    let room = nix::sys::statvfs::statvfs("/dev/shm").ok()?;
    Some(room.blocks_available().saturating_mul(room.fragment_size()))
}

fn abilities() -> Abilities {
    let capabilities =
        procfs::process::Process::myself().and_then(|process| process.status()).map_or(0, |process| process.capeff);
    let first_byte = std::iter::once((0, 1));
    let measured = File::open("/proc/self/exe")
        .and_then(|program| residency::count_resident(&program, first_byte, |_begin, _bytes| {}));
    Abilities {
        // Asked and not tried: it would drop everybody's cache.
        drop_caches: access("/proc/sys/vm/drop_caches", AccessFlags::W_OK).is_ok(),
        mount: capabilities & (1 << CAP_SYS_ADMIN) != 0,
        cachestat: matches!(measured, Ok(Instrument::Cachestat)),
        io_uring_refused: IoUring::new(2).err().map(|error| error.to_string()),
    }
}

/// Whether the kernel's clock is synchronized, as the kernel reports it.
fn synchronized() -> Option<bool> {
    // SAFETY: a structure of numbers, for which zeros are valid and ask for nothing to be changed.
    let mut time: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is valid for reading and writing.
    let state = unsafe { libc::adjtimex(&mut time) };
    (state >= 0).then_some(state != libc::TIME_ERROR && time.status & libc::STA_UNSYNC == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_its_limits_and_what_it_may_do() {
        let node = look(4, &Clock::calibrated());
        assert_eq!(node.ranks, 4);
        assert!(node.limits.open_files.is_none_or(|files| files > 0));
        assert!(node.limits.meeting_bytes > 0 && node.environment.processors > 0);
    }
}
