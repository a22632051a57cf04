//! The clock of the tables' ticks: the processor's counter, whose rate the agent learns by itself, since a table may claim any.

use std::time::Instant;

/// Converts ticks into nanoseconds.
#[derive(Debug)]
pub struct Ticks {
    began: (u64, Instant),
    now: u64,
    /// Ticks of a nanosecond.
    rate: f64,
}

impl Ticks {
    /// Begins to learn.
    pub fn new() -> Self {
        let mut ticks = Self { began: (counter(), Instant::now()), now: 0, rate: 0.0 };
        // Enough for a first idea: a thousandth of it is 10 us.
        std::thread::sleep(std::time::Duration::from_millis(10));
        ticks.learn();
        ticks
    }

    /// Learns the rate better; to be called at each look.
    pub fn learn(&mut self) {
        self.now = counter();
        let ns = self.began.1.elapsed().as_nanos().max(1) as f64;
        self.rate = self.now.saturating_sub(self.began.0).max(1) as f64 / ns;
    }

    /// So many ticks in nanoseconds. Tables that do not count ticks have nanoseconds.
    pub fn ns(&self, ticks: u64, counts_ticks: bool) -> u64 {
        if counts_ticks { (ticks as f64 / self.rate) as u64 } else { ticks }
    }

    /// How long ago a moment was, in nanoseconds.
    pub fn ago_ns(&self, then: u64, counts_ticks: bool) -> u64 {
        let now = if counts_ticks { self.now } else { monotonic_ns() };
        self.ns(now.saturating_sub(then), counts_ticks)
    }
}

impl Default for Ticks {
    fn default() -> Self {
        Self::new()
    }
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: an instruction that every such processor has, and that nothing forbids this program.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read it.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_a_while_ago_was_about_so_long_ago() {
        let mut ticks = Ticks::new();
        let (then, began) = (counter(), Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(20));
        ticks.learn();
        let real = began.elapsed().as_nanos() as u64;
        let measured = ticks.ago_ns(then, true);
        assert!(measured > 19_000_000 && measured < real + real / 10, "{measured} {real}");
        assert_eq!(ticks.ns(7, false), 7);
    }
}
