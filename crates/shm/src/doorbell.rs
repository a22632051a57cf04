//! A doorbell: many ring it, one sleeps until it is rung.

use std::time::Duration;

use crate::futex;
use crate::sync::{AtomicU32, Ordering};

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

#[cfg(all(test, feature = "loom"))]
mod models {
    use super::*;
    use crate::sync::AtomicBool;
    use crate::sync::model::{Arc, Sleep, check, thread};

    #[test]
    fn what_was_done_before_a_ring_is_seen_by_who_was_asleep_or_about_to_be() {
        check(Sleep::Woken, || {
            let shared = Arc::new((Doorbell::default(), AtomicBool::new(false)));
            let caller = Arc::clone(&shared);
            let caller = thread::spawn(move || {
                caller.1.store(true, Ordering::Relaxed);
                caller.0.ring();
            });
            let (bell, there) = &*shared;
            loop {
                let rings = bell.rings();
                if there.load(Ordering::Relaxed) {
                    break;
                }
                bell.wait(rings, Duration::from_millis(100));
            }
            caller.join().unwrap();
        });
    }
}
