//! Operations at a given rate, and pauses between them.

use std::time::Duration;

use ioassay_host::clock::Clock;
use ioassay_protocol::plan::pace::{Rate, Think};
use ioassay_protocol::plan::train::Compute;
use ioassay_protocol::plan::{Job, RankRange};

use crate::ranks::Ranks;

/// How long a wait may overlook a stop.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Turns of a computation that spins, between two looks at whether the case was stopped.
const SPINS: u32 = 1000;

/// Computes for so long, as a rank that trains does, or until the case is stopped.
pub(crate) fn compute(how: Compute, duration_ns: u64, clock: &Clock, ranks: &impl Ranks) {
    let end_ns = clock.now_ns().saturating_add(duration_ns);
    match how {
        Compute::Sleep => drop(sleep_until(end_ns, u64::MAX, clock, ranks)),
        Compute::Spin => {
            while clock.now_ns() < end_ns && !ranks.must_stop() {
                (0..SPINS).for_each(|_| std::hint::spin_loop());
            }
        }
    }
}

/// When the operations of one rank are to begin.
#[derive(Debug)]
pub(crate) struct Pacing {
    /// From one intended start to the next; 0 without a rate. Not whole, so that rounding does not add up.
    interval_ns: f64,
    first_ns: u64,
    begun: u64,
    think: Option<Think>,
}

impl Pacing {
    /// The pacing of a job in which each operation moves `bytes_each`; `None` where it goes as fast as it can.
    pub fn of(job: &Job, members: RankRange, bytes_each: u64, start_ns: u64) -> Option<Self> {
        if job.rate.is_none() && job.think.is_none() {
            return None;
        }
        let per_s = match job.rate {
            None => f64::INFINITY,
            Some(Rate::OperationsPerS(rate)) => rate as f64,
            Some(Rate::BytesPerS(rate)) => rate as f64 / bytes_each.max(1) as f64,
        };
        let interval_ns = 1e9 * f64::from(members.count) / per_s;
        Some(Self { interval_ns, first_ns: start_ns, begun: 0, think: job.think })
    }

    fn intended_ns(&self) -> u64 {
        self.first_ns.saturating_add((self.begun as f64 * self.interval_ns) as u64)
    }

    fn thinks(&self) -> Option<u64> {
        let think = self.think.filter(|think| self.begun > 0 && self.begun.is_multiple_of(think.every_operations))?;
        Some(think.duration_ns)
    }

    /// Waits until the next operation is due and returns the time from which its latency counts: the intended start,
    /// even if that is long gone; without a rate, now. `None` if the stonewall or a stop comes first.
    #[cold]
    pub fn wait(&mut self, now_ns: u64, stonewall_ns: u64, clock: &Clock, ranks: &impl Ranks) -> Option<u64> {
        let mut now_ns = now_ns;
        if let Some(think_ns) = self.thinks() {
            let end_ns = now_ns.saturating_add(think_ns);
            // A think time moves all later starts: an application that computes does not catch up afterwards.
            self.first_ns = self.first_ns.saturating_add(think_ns);
            now_ns = sleep_until(end_ns, stonewall_ns, clock, ranks)?;
        }
        let rated = self.interval_ns > 0.0;
        let intended_ns = if rated { self.intended_ns() } else { now_ns };
        if intended_ns > now_ns {
            sleep_until(intended_ns, stonewall_ns, clock, ranks)?;
        }
        self.begun += 1;
        Some(intended_ns)
    }

    /// The time from which the latency of the next operation counts, if it is due at `now_ns`.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        if self.thinks().is_some() {
            return None;
        }
        let rated = self.interval_ns > 0.0;
        let intended_ns = if rated { self.intended_ns() } else { now_ns };
        (intended_ns <= now_ns).then(|| {
            self.begun += 1;
            intended_ns
        })
    }
}

/// Sleeps until `end_ns` and returns the time then. `None` if the stonewall or a stop comes first.
pub(crate) fn sleep_until(end_ns: u64, stonewall_ns: u64, clock: &Clock, ranks: &impl Ranks) -> Option<u64> {
    loop {
        let now_ns = clock.now_ns();
        if ranks.must_stop() || now_ns >= stonewall_ns {
            return None;
        }
        if now_ns >= end_ns {
            return Some(now_ns);
        }
        let left = Duration::from_nanos(end_ns.min(stonewall_ns) - now_ns);
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::local::MeetingPlace;
    use ioassay_protocol::plan::{Work, metadata::FindWork};

    fn job(rate: Option<Rate>, think: Option<Think>) -> Job {
        let work = Work::Find(FindWork::default());
        Job { rate, think, ..Job::new("j", work) }
    }

    const TWO: RankRange = RankRange { first: 0, count: 2 };

    #[test]
    fn a_job_without_rate_and_think_time_is_not_paced() {
        assert!(Pacing::of(&job(None, None), TWO, 4096, 0).is_none());
    }

    #[test]
    fn intended_starts_are_even_and_do_not_wait_for_a_stall() {
        let clock = Clock::calibrated();
        let place = MeetingPlace::new(1, clock).unwrap();
        let rank = place.rank(0);
        // 8 MiB/s by two ranks in 4 KiB: every rank one operation per 976.5625 µs.
        let long_ago_ns = clock.now_ns() - 1_000_000_000;
        let mut pacing = Pacing::of(&job(Some(Rate::BytesPerS(8 << 20)), None), TWO, 4096, long_ago_ns).unwrap();
        for index in 0..1000_u64 {
            // All of them were due in the last second, so nothing waits, and latency counts from there.
            let begin_ns = pacing.wait(clock.now_ns(), u64::MAX, &clock, &rank).unwrap();
            assert_eq!(begin_ns, long_ago_ns + (index as f64 * 976_562.5) as u64);
        }
    }

    #[test]
    fn think_times_come_between_operations_and_end_with_the_stonewall() {
        let clock = Clock::calibrated();
        let place = MeetingPlace::new(1, clock).unwrap();
        let rank = place.rank(0);
        let think = Think { duration_ns: 2_000_000, every_operations: 2 };
        let begun_ns = clock.now_ns();
        let mut pacing = Pacing::of(&job(None, Some(think)), TWO, 1, begun_ns).unwrap();
        for _ in 0..5 {
            pacing.wait(clock.now_ns(), u64::MAX, &clock, &rank).unwrap();
        }
        // Five operations have two pauses between them.
        assert!(clock.now_ns() - begun_ns >= 4_000_000);
        let endless = Think { duration_ns: u64::MAX, every_operations: 1 };
        let mut pacing = Pacing::of(&job(None, Some(endless)), TWO, 1, begun_ns).unwrap();
        pacing.wait(clock.now_ns(), u64::MAX, &clock, &rank).unwrap();
        assert_eq!(pacing.wait(clock.now_ns(), clock.now_ns() + 1_000_000, &clock, &rank), None);
        place.stop();
        assert_eq!(pacing.wait(clock.now_ns(), u64::MAX, &clock, &rank), None);
    }
}
