//! A doorbell: many ring it, one sleeps until it is rung.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::futex;

/// Counts how often it was rung, so that no ring is lost between looking for work and falling asleep.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Doorbell(AtomicU32);

impl Doorbell {
    /// Wakes the sleeper.
    pub fn ring(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        futex::wake_all(&self.0);
    }

    /// How often it was rung: to be asked before one looks what there is to do.
    pub fn rings(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// Sleeps until it has been rung other than `rings` times, at most for `limit`, which is less than a second.
    pub fn wait(&self, rings: u32, limit: Duration) {
        futex::wait_for(&self.0, rings, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_came_before_the_sleep_wakes_at_once() {
        let (bell, begin) = (Doorbell::default(), std::time::Instant::now());
        let rings = bell.rings();
        bell.ring();
        bell.wait(rings, Duration::from_millis(900));
        assert!(begin.elapsed() < Duration::from_millis(900));
    }
}
