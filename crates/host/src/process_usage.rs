//! What the kernel spends on this process: processor time, context switches, page faults, bytes moved to devices.

use std::fs::File;
use std::os::unix::fs::FileExt;

use ioassay_protocol::events::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::sys::time::TimeValLike;

/// Measures what the kernel spends on this process from [`Meter::start`] to [`Meter::stop`].
///
/// The counts of bytes stand in a file of the kernel's, and reading that costs some twenty microseconds. So it is read
/// when the meter is made, before the clock of a phase runs: who then waits for the others moves no bytes. The time in which a
/// process waits for a processor stands in another file, which is kept open so that it is one call: who waits at a barrier is
/// woken by others, and may have to wait for a processor then.
pub struct Meter {
    before: Usage,
    waits: Waits,
}

/// How long a task has waited for a processor, as often as that is asked: one system call.
#[derive(Debug)]
pub struct Waits(Option<File>);

impl Waits {
    /// Those of this process's main thread.
    pub fn of_process() -> Self {
        Self(File::open("/proc/self/schedstat").ok())
    }

    /// Those of the calling thread, whichever thread asks afterwards.
    pub fn of_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds since the task began: the second number of three. `None` where the kernel does not count.
    pub fn so_far_ns(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(text.get(..length)?).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}

impl Meter {
    /// A meter with the bytes so far.
    pub fn prepared() -> Self {
        Self { before: with_device_bytes(Usage::default()), waits: Waits::of_process() }
    }

    /// Starts to measure: two system calls.
    pub fn start(&mut self) {
        let Usage { device_read_bytes, device_write_bytes, .. } = self.before;
        self.before = Usage { device_read_bytes, device_write_bytes, waited_ns: self.waits.so_far_ns(), ..spent() };
    }

    /// What was spent since the start.
    pub fn stop(self) -> Usage {
        let after = Usage { waited_ns: self.waits.so_far_ns(), ..with_device_bytes(spent()) };
        let before = self.before;
        let since = |count: fn(&Usage) -> Option<u64>| Some(count(&after)?.saturating_sub(count(&before)?));
        Usage {
            user_ns: after.user_ns - before.user_ns,
            system_ns: after.system_ns - before.system_ns,
            voluntary_switches: after.voluntary_switches - before.voluntary_switches,
            involuntary_switches: after.involuntary_switches - before.involuntary_switches,
            minor_faults: after.minor_faults - before.minor_faults,
            major_faults: after.major_faults - before.major_faults,
            peak_memory_bytes: after.peak_memory_bytes,
            device_read_bytes: since(|usage| usage.device_read_bytes),
            device_write_bytes: since(|usage| usage.device_write_bytes),
            waited_ns: since(|usage| usage.waited_ns),
        }
    }
}

/// What the process has spent since it began, without the bytes.
fn spent() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Usage::default() };
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
        ..Usage::default()
    }
}

/// `usage` with the bytes that the kernel has moved to and from devices for this process.
fn with_device_bytes(usage: Usage) -> Usage {
    let io = procfs::process::Process::myself().and_then(|process| process.io()).ok();
    let device_read_bytes = io.as_ref().map(|io| io.read_bytes);
    let device_write_bytes = io.as_ref().map(|io| io.write_bytes);
    Usage { device_read_bytes, device_write_bytes, ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_processor_time_and_new_memory_costs_page_faults() {
        let mut meter = Meter::prepared();
        meter.start();
        // More than an allocator keeps of what others have given back (glibc: 32 MiB), so it is new.
        let mut pages = vec![0_u8; 64 << 20];
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(60) {
            pages.iter_mut().step_by(4096).for_each(|byte| *byte = byte.wrapping_add(1));
        }
        std::hint::black_box(&pages);
        let spent = meter.stop();
        assert!(spent.user_ns + spent.system_ns > 1_000_000, "{spent:?}");
        assert!(spent.minor_faults >= 2, "{spent:?}");
    }

    #[test]
    fn what_the_process_did_before_the_start_is_not_counted() {
        let mut meter = Meter::prepared();
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(60) {
            std::hint::black_box(0);
        }
        // What is measured lies between two counts taken around it, however long all that takes.
        let before = spent();
        meter.start();
        let Usage { user_ns, system_ns, .. } = meter.stop();
        let after = spent();
        let most_ns = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        assert!(user_ns + system_ns <= most_ns, "{user_ns} + {system_ns} of at most {most_ns}");
    }
}
