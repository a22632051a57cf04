//! What the kernel spends on this process: processor time, context switches, page faults, bytes moved to devices.

use ioassay_contract::events::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::sys::time::TimeValLike;

/// What the kernel has spent on this process since it began. A few microseconds: not within a hot loop.
pub fn so_far() -> Usage {
    let io = procfs::process::Process::myself().and_then(|process| process.io()).ok();
    let device_read_bytes = io.as_ref().map(|io| io.read_bytes);
    let device_write_bytes = io.as_ref().map(|io| io.write_bytes);
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return Usage { device_read_bytes, device_write_bytes, ..Usage::default() };
    };
    let ns = |time: TimeVal| time.num_microseconds() as u64 * 1000;
    Usage {
        user_ns: ns(usage.user_time()),
        system_ns: ns(usage.system_time()),
        voluntary_switches: usage.voluntary_context_switches() as u64,
        involuntary_switches: usage.involuntary_context_switches() as u64,
        minor_faults: usage.minor_page_faults() as u64,
        major_faults: usage.major_page_faults() as u64,
        // Linux counts it in KiB.
        peak_memory_bytes: usage.max_rss() as u64 * 1024,
        device_read_bytes,
        device_write_bytes,
    }
}

/// What was spent from `before` to `after`.
pub fn between(before: &Usage, after: &Usage) -> Usage {
    let device = |count: fn(&Usage) -> Option<u64>| Some(count(after)?.saturating_sub(count(before)?));
    Usage {
        user_ns: after.user_ns - before.user_ns,
        system_ns: after.system_ns - before.system_ns,
        voluntary_switches: after.voluntary_switches - before.voluntary_switches,
        involuntary_switches: after.involuntary_switches - before.involuntary_switches,
        minor_faults: after.minor_faults - before.minor_faults,
        major_faults: after.major_faults - before.major_faults,
        peak_memory_bytes: after.peak_memory_bytes,
        device_read_bytes: device(|usage| usage.device_read_bytes),
        device_write_bytes: device(|usage| usage.device_write_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_processor_time_and_new_memory_costs_page_faults() {
        let before = so_far();
        let mut pages = vec![0_u8; 4 << 20];
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(60) {
            pages.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        }
        std::hint::black_box(&pages);
        let spent = between(&before, &so_far());
        assert!(spent.user_ns + spent.system_ns > 1_000_000, "{spent:?}");
        assert!(spent.minor_faults >= 2, "{spent:?}");
    }
}
