//! What is new in tables, by second and class.
//!
//! A thread keeps the totals of its current second to itself and adds them to a row of that second later, at its next call. Both
//! are read every second, so an amount may be seen in the thread first and in the row afterwards. [`Released`] has what was seen
//! and has left its thread since, so that it is not counted again when it comes to a row.

use std::collections::{BTreeMap, HashMap};

use ioassay_record::table::TOTALS;

/// Calls, bytes and ticks; and what the slowest took, in ticks.
pub type Totals = [u64; TOTALS.len()];

/// What is new since the last look, by second and number of the class.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<(u32, u16), Totals>);

impl Amounts {
    /// Adds to a second.
    pub fn add(&mut self, second: u32, class: u16, more: Totals) {
        if more[..3] == [0; 3] {
            return;
        }
        let totals = self.0.entry((second, class)).or_default();
        for (total, more) in totals.iter_mut().zip(&more[..3]) {
            *total = total.saturating_add(*more);
        }
        totals[3] = totals[3].max(more[3]);
    }

    /// All of it, in the order of seconds.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u16, Totals)> {
        self.0.iter().map(|(&(second, class), &totals)| (second, class, totals))
    }

    /// Takes out what is of seconds up to this one.
    pub fn take_until(&mut self, last: u32) -> Self {
        let later = self.0.split_off(&(last.saturating_add(1), 0));
        Self(std::mem::replace(&mut self.0, later))
    }

    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What was counted of threads, has left them, and has not come to rows yet: calls, bytes and ticks by second and class.
#[derive(Debug, Default)]
pub struct Released(HashMap<(u32, u16), [u64; 3]>);

/// More is not remembered. It comes to rows within a second, unless the table is full.
const MOST_RELEASED: usize = 10_000;

impl Released {
    /// A thread does not have any more what was counted of it.
    pub fn release(&mut self, second: u32, class: u16, counted: Totals) {
        if counted[..3] == [0; 3] {
            return;
        }
        if self.0.len() >= MOST_RELEASED {
            self.0.clear();
        }
        let released = self.0.entry((second, class)).or_default();
        for (released, counted) in released.iter_mut().zip(counted) {
            *released = released.saturating_add(counted);
        }
    }

    /// What remains of an amount that is new in a row of `2^width` seconds, after what was counted of threads.
    pub fn settle(&mut self, second: u32, width: u16, class: u16, new: Totals) -> Totals {
        let seconds = 1_u32.checked_shl(width.into()).unwrap_or(u32::MAX);
        let mut left = new;
        if seconds == 1 {
            self.settle_one(second, class, &mut left);
        } else {
            let within = |(of, class_of): &(u32, u16)| *class_of == class && of.wrapping_sub(second) < seconds;
            let of_row: Vec<u32> = self.0.keys().filter(|key| within(key)).map(|(of, _)| *of).collect();
            for second in of_row {
                self.settle_one(second, class, &mut left);
            }
        }
        left
    }

    fn settle_one(&mut self, second: u32, class: u16, left: &mut Totals) {
        let Some(released) = self.0.get_mut(&(second, class)) else { return };
        for (left, released) in left.iter_mut().zip(released.iter_mut()) {
            let settled = (*left).min(*released);
            *left -= settled;
            *released -= settled;
        }
        if *released == [0; 3] {
            self.0.remove(&(second, class));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_counted_of_a_thread_is_not_counted_again_in_its_row() {
        let mut released = Released::default();
        released.release(7, 16, [3, 300, 30, 9]);
        assert_eq!(released.settle(7, 0, 17, [3, 300, 30, 9]), [3, 300, 30, 9]);
        assert_eq!(released.settle(7, 0, 16, [5, 500, 50, 9]), [2, 200, 20, 9]);
        assert_eq!(released.settle(7, 0, 16, [5, 500, 50, 9]), [5, 500, 50, 9]);
    }

    #[test]
    fn a_wide_row_has_the_seconds_that_it_begins_with() {
        let mut released = Released::default();
        released.release(8, 16, [1, 10, 1, 0]);
        released.release(11, 16, [1, 20, 1, 0]);
        released.release(12, 16, [1, 40, 1, 0]);
        assert_eq!(released.settle(8, 2, 16, [4, 100, 9, 5]), [2, 70, 7, 5]);
        assert_eq!(released.settle(12, 0, 16, [1, 40, 1, 0]), [0; 4]);
    }

    proptest! {
        /// Threads count, are read at any time, and add to rows at any time: in the end all is counted, once.
        #[test]
        fn in_the_end_all_is_counted_once(steps in prop::collection::vec((0..4_u8, 0..3_usize, 1..100_u64), 1..200)) {
            let (mut released, mut counted, mut all) = (Released::default(), 0, 0);
            // Of each thread: its second, what it holds, and what was seen of that.
            let mut threads = [(0_u32, 0_u64, 0_u64); 3];
            let mut now = 1;
            let mut rows: HashMap<u32, (u64, u64)> = HashMap::new();
            // A row is what it has and what was seen of that; a thread that has left its second, what was seen of it there.
            let mut look = |threads: &mut [(u32, u64, u64); 3], rows: &mut HashMap<u32, (u64, u64)>, left: &mut Vec<(u32, u64)>| {
                for (second, seen) in left.drain(..) {
                    released.release(second, 16, [0, seen, 0, 0]);
                }
                let mut new = 0;
                for (&second, (has, seen)) in rows.iter_mut() {
                    new += released.settle(second, 0, 16, [0, *has - *seen, 0, 0])[1];
                    *seen = *has;
                }
                for (_, holds, seen) in threads {
                    new += *holds - *seen;
                    *seen = *holds;
                }
                new
            };
            let mut left = Vec::new();
            for (step, thread, bytes) in steps {
                match step {
                    0 => now += 1,
                    1 => counted += look(&mut threads, &mut rows, &mut left),
                    _ => {
                        let (second, holds, seen) = &mut threads[thread];
                        if *second != now {
                            rows.entry(*second).or_default().0 += *holds;
                            left.push((*second, *seen));
                            (*second, *holds, *seen) = (now, 0, 0);
                        }
                        *holds += bytes;
                        all += bytes;
                    }
                }
            }
            counted += look(&mut threads, &mut rows, &mut left);
            prop_assert_eq!(counted, all);
        }
    }
}
