//! What a node does while a phase runs, for whomever: what its device moves, what its processors do, what waits to be
//! written back.
//!
//! Not here: what the kernel spends on one rank ([`ioassay_host::process_usage`]), and what all that means ([`super::doubts`]).

use ioassay_host::counters::{Counters, dirty_bytes};
use ioassay_protocol::events::{NodeRecord, Usage};

/// Measures what a node does from when it is made to [`NodeMeter::stop`].
///
/// One rank of each node has one. It reads some files of the kernel's, which takes about a millisecond, so that it is made before
/// the clock of a phase runs.
#[derive(Debug)]
pub struct NodeMeter {
    device: Option<String>,
    dirty_bytes: Option<u64>,
    before: Counters,
}

impl NodeMeter {
    /// A meter of this node, whose target lies on the block device `device`.
    pub fn prepared(device: Option<&str>) -> Self {
        let before = Counters::now(device);
        Self { device: device.map(str::to_owned), dirty_bytes: dirty_bytes(), before }
    }

    /// What was done since then, `of_ranks` among it.
    pub fn stop(&self, of_ranks: &[Usage]) -> NodeRecord {
        let Self { device, dirty_bytes, before } = self;
        let after = Counters::now(device.as_deref());
        let since = |count: fn(&Counters) -> Option<u64>| Some(count(&after)?.saturating_sub(count(before)?));
        let sum = |count: fn(&Usage) -> Option<u64>| of_ranks.iter().map(count).sum();
        // Of several groups the one that held the job back most. A job that is moved meanwhile has others, with other counts.
        let throttled = before.quotas.iter().zip(&after.quotas);
        let throttled = throttled.map(|(before, after)| {
            (after.throttled.saturating_sub(before.throttled), after.periods.saturating_sub(before.periods))
        });
        let (throttled_periods, quota_periods) = throttled.max_by_key(|&(throttled, _)| throttled).unzip();
        NodeRecord {
            dirty_bytes: *dirty_bytes,
            device_read_bytes: since(|counts| counts.device.map(|[read, _]| read)),
            device_write_bytes: since(|counts| counts.device.map(|[_, written]| written)),
            ranks_read_bytes: sum(|usage| usage.device_read_bytes),
            ranks_write_bytes: sum(|usage| usage.device_write_bytes),
            user_ns: since(|counts| counts.user_ns),
            ranks_user_ns: of_ranks.iter().map(|usage| usage.user_ns).sum(),
            ranks_waited_ns: sum(|usage| usage.waited_ns),
            steal_ns: since(|counts| counts.steal_ns),
            quota_periods,
            throttled_periods,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_goes_to_the_device_and_what_runs_takes_time_of_processors() {
        let directory = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let device = ioassay_host::block_device::under(directory.path()).map(|device| device.name);
        let meter = NodeMeter::prepared(device.as_deref());
        let file = std::fs::File::create(directory.path().join("file")).unwrap();
        std::io::Write::write_all(&mut &file, &vec![1; 8 << 20]).unwrap();
        file.sync_all().unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_millis(60) {
            std::hint::black_box(0);
        }
        let of_rank = Usage { user_ns: 7, device_write_bytes: Some(3), ..Usage::default() };
        let record = meter.stop(&[of_rank, of_rank]);
        assert_eq!(record.device_write_bytes.is_some(), device.is_some());
        assert!(record.device_write_bytes.is_none_or(|bytes| bytes >= 8 << 20), "{record:?}");
        assert!(record.user_ns.unwrap() >= 20_000_000, "{record:?}");
        assert_eq!((record.ranks_user_ns, record.ranks_write_bytes), (14, Some(6)));
        assert_eq!(record.ranks_read_bytes, None, "a rank does not report them");
    }
}
