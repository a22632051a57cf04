//! Comparing the clocks of all nodes with the first one's, as a call asks for it.

use std::io;

use super::super::message::{ClockMessage, Message};
use super::super::wire::Wire;
use super::NodeLeader;
use crate::ranks::clocks::{Next, Questions, Reading};
use crate::ranks::local::mailbox::Mailbox;

impl<W: Wire> NodeLeader<'_, W> {
    /// A question, an answer, or what has come of them.
    pub(super) fn take_clock(&mut self, from: u32, message: ClockMessage) -> io::Result<()> {
        match message {
            ClockMessage::Measure { call } if call == self.call.number => {
                self.tell_below(&Message::Clock(ClockMessage::Measure { call }), &[])?;
                let questions = Questions::begin(call, self.now_ns());
                self.tell(0, &Message::Clock(ClockMessage::Ping { id: questions.id() }), &[])?;
                self.questions = Some(questions);
                Ok(())
            }
            ClockMessage::Ping { id } => {
                let pong = ClockMessage::Pong { id, first_ns: self.now_ns() };
                self.tell(from, &Message::Clock(pong), &[])
            }
            ClockMessage::Pong { id, first_ns } => self.answered(id, first_ns),
            ClockMessage::Reading { call, reading } if call == self.call.number => {
                let Some(known) = self.readings.get_mut(from as usize) else { return Ok(()) };
                *known = Some(reading);
                self.report_readings()
            }
            // Of a call that is over.
            ClockMessage::Measure { .. } | ClockMessage::Reading { .. } => Ok(()),
        }
    }

    fn answered(&mut self, id: u32, first_ns: u64) -> io::Result<()> {
        let now_ns = self.now_ns();
        let Some(questions) = &mut self.questions else { return Ok(()) };
        let call = questions.call;
        match questions.answered(id, first_ns, now_ns) {
            Next::Ask(id) => self.tell(0, &Message::Clock(ClockMessage::Ping { id }), &[]),
            Next::Enough(reading) => {
                self.questions = None;
                self.reading = reading;
                self.tell(0, &Message::Clock(ClockMessage::Reading { call, reading }), &[])
            }
            Next::Nothing => Ok(()),
        }
    }

    /// As the first node: ends the comparison of clocks when all have been read.
    pub(super) fn report_readings(&mut self) -> io::Result<()> {
        let Some(readings) = self.readings.iter().copied().collect::<Option<Vec<Reading>>>() else { return Ok(()) };
        let text = serde_json::to_vec(&readings).expect("our own types are JSON");
        self.place.mailboxes().put(Mailbox::Inbox, &text);
        self.end_call(true, 0, &[])
    }
}
