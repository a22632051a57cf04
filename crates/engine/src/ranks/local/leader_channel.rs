//! Word between the ranks of a node and the leader that speaks for them with other nodes ([`crate::ranks::nodes`]).
//!
//! Not here: the messages. Long texts lie in mailboxes; here are the flags that announce them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ioassay_protocol::events::Done;
use ioassay_shm::doorbell::Doorbell;
use ioassay_shm::futex;

use crate::measure::recorder::LANES;
use crate::ranks::Stopped;

/// In the node's memory. All zero is the valid beginning: there is no message.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LeaderChannel {
    /// Rises whenever the leader has something to do: what it sleeps on.
    pub doorbell: Doorbell,
    /// Calls of this node's ranks to all nodes: the number of the last one, and what it is about.
    pub calls: AtomicU32,
    pub kind: AtomicU32,
    /// The number of the last call that was answered.
    answers: AtomicU32,
    /// The answers to calls of even and of odd numbers. A stop answers the next call for everybody, also while some rank of
    /// this node has yet to look at the answer to this one.
    verdicts: [AtomicU32; 2],
    opens_ns: [AtomicU64; 2],
    /// What the ranks of other nodes have done in the running phase, by lane.
    elsewhere: [[AtomicU64; LANES]; 2],
    /// The number of the last order. Its text is in a mailbox.
    orders: AtomicU32,
    /// The number of the order that is to be given, on the first node.
    wanted_order: AtomicU32,
    /// The number of the last order which the ranks of all nodes have carried out.
    pub carried_out: AtomicU32,
    /// The signal that a process of the run was sent, on any node: it ends everything, also what was not begun when it
    /// came.
    pub signal: AtomicU32,
    /// When the leader last took a turn, on the node's time line.
    pub turned_ns: AtomicU64,
    /// Set by the leader: no other node can be reached any more.
    pub alone: AtomicU32,
}

/// The answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// False if the ranks are to stop.
    pub go_on: bool,
    /// When a phase begins, on this node's time line; 0 where none does.
    pub opens_ns: u64,
}

impl LeaderChannel {
    /// Calls all nodes, as the node's one rank that does, and waits for the answer. What the call says is in the outbox.
    pub fn call(&self, kind: u32, give_up: impl Fn() -> bool) -> Result<Answer, Stopped> {
        let number = self.calls.load(Ordering::SeqCst) + 1;
        self.kind.store(kind, Ordering::SeqCst);
        self.calls.store(number, Ordering::SeqCst);
        self.doorbell.ring();
        loop {
            let answers = self.answers.load(Ordering::SeqCst);
            if answers >= number {
                return Ok(self.answer_to(number));
            }
            if give_up() {
                return Err(Stopped);
            }
            futex::wait(&self.answers, answers);
        }
    }

    /// Answers call number `number`, as the leader.
    pub fn answer_call(&self, number: u32, answer: Answer) {
        let slot = number as usize % 2;
        self.verdicts[slot].store(answer.go_on.into(), Ordering::SeqCst);
        self.opens_ns[slot].store(answer.opens_ns, Ordering::SeqCst);
        self.answers.store(number, Ordering::SeqCst);
        futex::wake_all(&self.answers);
    }

    /// The answer to the last call that this node's ranks have made.
    pub fn answer(&self) -> Answer {
        self.answer_to(self.calls.load(Ordering::SeqCst))
    }

    fn answer_to(&self, number: u32) -> Answer {
        let slot = number as usize % 2;
        Answer {
            go_on: self.verdicts[slot].load(Ordering::SeqCst) == 1,
            opens_ns: self.opens_ns[slot].load(Ordering::SeqCst),
        }
    }

    /// Keeps what the ranks of other nodes have done.
    pub fn note_elsewhere(&self, done: &[Done; LANES]) {
        let [bytes, operations] = &self.elsewhere;
        for (lane, done) in done.iter().enumerate() {
            bytes[lane].store(done.bytes, Ordering::Relaxed);
            operations[lane].store(done.operations, Ordering::Relaxed);
        }
    }

    /// What the ranks of other nodes have done in a lane.
    pub fn done_elsewhere(&self, lane: usize) -> Done {
        let [bytes, operations] = [&self.elsewhere[0], &self.elsewhere[1]].map(|of| of[lane].load(Ordering::Relaxed));
        Done { bytes, operations }
    }

    /// Has the leader of the first node give the order that lies in its mailbox. Its number.
    pub fn want_order(&self) -> u32 {
        let number = self.wanted_order.fetch_add(1, Ordering::SeqCst) + 1;
        self.doorbell.ring();
        number
    }

    /// The number of the last order that is wanted.
    pub fn wanted_order(&self) -> u32 {
        self.wanted_order.load(Ordering::SeqCst)
    }

    /// The number of the last order.
    pub fn last_order(&self) -> u32 {
        self.orders.load(Ordering::SeqCst)
    }

    /// Gives the order that lies in its mailbox. Calls are counted anew.
    pub fn give_order(&self, number: u32) {
        [&self.calls, &self.answers].into_iter().for_each(|word| word.store(0, Ordering::SeqCst));
        self.orders.store(number, Ordering::SeqCst);
        futex::wake_all(&self.orders);
    }

    /// Sleeps a moment, or until there is another order than `last`.
    pub fn wait_for_order(&self, last: u32) {
        futex::wait(&self.orders, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_what_it_was_for_who_looks_late_though_a_stop_has_answered_the_next_call() {
        let channel = LeaderChannel::default();
        let (go, stop) = (Answer { go_on: true, opens_ns: 7 }, Answer { go_on: false, opens_ns: 0 });
        channel.answer_call(1, go);
        assert_eq!(channel.call(0, || false), Ok(go));
        channel.answer_call(2, stop);
        assert_eq!(channel.answer(), go, "of a rank that comes from the first call only now");
        assert_eq!(channel.call(0, || false), Ok(stop));
        assert_eq!(channel.answer(), stop);
    }
}
