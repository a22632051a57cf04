//! Orders: what all ranks do next, and that they have done it.

use std::io;
use std::sync::atomic::Ordering;

use ioassay_protocol::events::Done;

use super::super::max_reduce::MaxReduce;
use super::super::message::{JobKey, Message};
use super::super::wire::Wire;
use super::super::work_stealing::WorkStealing;
use super::NodeLeader;
use super::calls::Call;
use super::watch::gone;
use crate::measure::recorder::LANES;
use crate::plan::MOST_JOBS;
use crate::ranks::local::mailbox::Mailbox;

impl<W: Wire> NodeLeader<'_, W> {
    /// As the first node: passes an order on that the engine has written down.
    pub(super) fn give_order(&mut self) -> io::Result<()> {
        let wanted = self.place.leader_channel().wanted_order();
        if !self.is_first() || wanted == self.order {
            return Ok(());
        }
        let text = self.place.mailboxes().get(Mailbox::Order);
        self.tell_below(&Message::Order { number: wanted }, &text)?;
        self.begin_order(wanted);
        Ok(())
    }

    /// An order has come from above.
    pub(super) fn take_order(&mut self, number: u32, text: &[u8]) -> io::Result<()> {
        self.tell_below(&Message::Order { number }, text)?;
        self.place.mailboxes().put(Mailbox::Order, text);
        self.begin_order(number);
        Ok(())
    }

    /// True if the ranks here may be in this job now.
    pub(super) fn runs(&self, key: JobKey) -> bool {
        key.order == self.order && key.step == self.place.step() && (key.job as usize) < MOST_JOBS
    }

    fn begin_order(&mut self, number: u32) {
        // Who looks after a rank that has ended says that it has carried out everything.
        let ended = self.place.counters().iter().any(|rank| rank.carried_out.load(Ordering::SeqCst) == u32::MAX);
        self.order = number;
        self.call = Call::first(self.node, self.nodes);
        self.questions = None;
        self.reduce = MaxReduce::default();
        self.stealing = WorkStealing::default();
        self.told_stop = false;
        self.carried_out.clear();
        self.done.fill(<[Done; LANES]>::default());
        self.place.reset();
        // What was lost before stays lost, and nobody may wait for it.
        if ended {
            self.place.fail(&gone(&format!("a rank on {}", self.names[self.node as usize])));
            self.place.abandon();
        }
        if let Some(&node) = self.lost.first() {
            self.place.fail(&gone(&self.names[node as usize]));
        }
        if self.place.leader_channel().signal.load(Ordering::SeqCst) > 0 {
            self.place.stop();
        }
        self.place.leader_channel().give_order(number);
    }

    /// Says that the ranks here have carried out the order, if they have.
    pub(super) fn say_carried_out(&mut self, carried_out: bool) -> io::Result<()> {
        let number = self.order;
        if carried_out && self.told_carried_out < number {
            self.told_carried_out = number;
            self.tell(0, &Message::CarriedOut { number }, &[])?;
        }
        let all = (0..self.nodes).all(|node| self.carried_out.contains(&node) || self.lost.contains(&node));
        if self.is_first() && number > 0 && all {
            self.place.leader_channel().carried_out.store(number, Ordering::SeqCst);
        }
        Ok(())
    }
}
