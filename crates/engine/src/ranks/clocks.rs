//! How a node's clock differs from the first node's.
//!
//! A question and its answer bracket a reading of the other clock: it was taken after the question left and before the
//! answer came. The closest of several pairs counts, and half of what it took is how wrong it can be at most (Cristian,
//! "Probabilistic clock synchronization", Distributed Computing 3, 1989).

use serde::{Deserialize, Serialize};

/// How many times a node asks.
const QUESTIONS: u32 = 10;

/// What a node found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reading {
    /// The first node's time line less this one's.
    pub offset_ns: i64,
    /// By how much that may be wrong in either direction.
    pub uncertainty_ns: u64,
}

impl Reading {
    /// An instant of the first node's time line on this one's.
    pub fn here(&self, first_ns: u64) -> u64 {
        first_ns.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

/// A node's questions, one after the other.
#[derive(Debug)]
pub struct Questions {
    /// The call that they belong to.
    pub call: u32,
    asked: u32,
    asked_ns: u64,
    best: Option<Reading>,
}

/// What comes after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask with this number.
    Ask(u32),
    /// Enough is known.
    Enough(Reading),
    /// It answers a question that was not the last one.
    Nothing,
}

impl Questions {
    /// The first question is asked now.
    pub fn begin(call: u32, now_ns: u64) -> Self {
        Self { call, asked: 1, asked_ns: now_ns, best: None }
    }

    /// The number of the last question.
    pub fn id(&self) -> u32 {
        self.call.wrapping_mul(QUESTIONS + 1).wrapping_add(self.asked)
    }

    /// Takes the answer to question `id`, by which it was `first_ns` there. The next question is asked `now_ns` too.
    pub fn answered(&mut self, id: u32, first_ns: u64, now_ns: u64) -> Next {
        if id != self.id() {
            return Next::Nothing;
        }
        let took_ns = now_ns.saturating_sub(self.asked_ns);
        let middle_ns = self.asked_ns + took_ns / 2;
        let reading =
            Reading { offset_ns: first_ns.wrapping_sub(middle_ns).cast_signed(), uncertainty_ns: took_ns.div_ceil(2) };
        let best = self.best.filter(|best| best.uncertainty_ns <= reading.uncertainty_ns).unwrap_or(reading);
        self.best = Some(best);
        if self.asked == QUESTIONS {
            return Next::Enough(best);
        }
        self.asked += 1;
        self.asked_ns = now_ns;
        Next::Ask(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the delays, the true offset lies within the uncertainty.
        #[test]
        fn the_true_offset_is_never_further_away_than_said(
            ahead in -1_000_000_000_000_i64..1_000_000_000_000,
            delays in proptest::collection::vec((1_u64..1_000_000, 1_u64..1_000_000), QUESTIONS as usize),
        ) {
            let mut now_ns = 5_000_000_000_000;
            let mut questions = Questions::begin(3, now_ns);
            let mut best = None;
            for (there, back) in delays {
                let first_ns = (now_ns + there).saturating_add_signed(ahead);
                now_ns += there + back;
                prop_assert_eq!(questions.answered(questions.id() + 1, first_ns, now_ns), Next::Nothing);
                if let Next::Enough(reading) = questions.answered(questions.id(), first_ns, now_ns) {
                    best = Some(reading);
                }
            }
            let reading = best.unwrap();
            prop_assert!(reading.offset_ns.abs_diff(ahead) <= reading.uncertainty_ns);
            let here = reading.here(now_ns.saturating_add_signed(ahead));
            prop_assert!(here.abs_diff(now_ns) <= reading.uncertainty_ns);
        }
    }
}
