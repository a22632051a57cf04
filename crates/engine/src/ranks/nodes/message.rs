//! What leaders say to each other: a line of JSON, and behind it the bytes that it is about.

use ioassay_protocol::events::{Done, Failure};
use ioassay_protocol::plan::RankRange;
use serde::{Deserialize, Serialize};

use crate::measure::recorder::LANES;
use crate::ranks::clocks::Reading;

/// What a call of all ranks is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Wait for all.
    Meet = 1,
    /// Bring what each node has to the first one.
    Gather = 2,
    /// Bring what the first node has to all.
    Broadcast = 3,
    /// Compare all clocks with the first node's, and bring the readings there.
    Clocks = 4,
    /// Agree on an instant to begin a phase.
    Start = 5,
}

impl Kind {
    /// The kind of this number.
    pub fn of(number: u32) -> Option<Self> {
        [Self::Meet, Self::Gather, Self::Broadcast, Self::Clocks, Self::Start]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }

    /// True if a stop takes effect here, for all nodes or for none. The others outlast it.
    pub fn heeds_stop(self) -> bool {
        matches!(self, Self::Meet | Self::Start)
    }
}

/// Which job of which step of which order: what is under way when one ends must not be taken for the next one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobKey {
    /// Number of the order.
    pub order: u32,
    /// Index of the step in the plan.
    pub step: u32,
    /// Number of the job in its phase.
    pub job: u32,
}

/// The messages: which way each goes and what it means is a table of docs/concepts/node-protocol.md. Bytes may follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Down the tree: what all are to do next; it is what follows.
    Order { number: u32 },
    /// To the first node: the ranks here have carried an order out.
    CarriedOut { number: u32 },
    /// Of a call of all ranks.
    Call(CallMessage),
    /// Of a comparison of clocks.
    Clock(ClockMessage),
    /// To and from the first node, all the time: I am here, and this is what has been done.
    Heartbeat { done: [Done; LANES] },
    /// To and from the first node: all ranks are to stop.
    Stop { signal: Option<u32>, failure: Option<Box<Failure>> },
    /// From the first node: ranks are to do no I/O for now.
    Suspend,
    /// From the first node: ranks are to go on.
    Resume,
    /// Of a job that has ranks on several nodes.
    Job(JobKey, JobMessage),
}

/// Of a call of all ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallMessage {
    /// Up the tree: this node and those below it have come to a call; what follows is what they say.
    Up { call: u32, kind: Kind, stop: bool },
    /// Down the tree: the answer to a call; what follows is what the first node says.
    Down { call: u32, go_on: bool, opens_first_ns: u64 },
}

/// Of a comparison of clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ClockMessage {
    /// Down the tree: compare your clock.
    Measure { call: u32 },
    /// To the first node: what time is it there?
    Ping { id: u32 },
    /// From the first node: this.
    Pong { id: u32, first_ns: u64 },
    /// To the first node: how the clock here differs.
    Reading { call: u32, reading: Reading },
}

/// Of a job that has ranks on several nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JobMessage {
    /// To the first node: the ranks of the job that are here have come to agree on the most.
    Max { most: u64, came: u32, of: u32 },
    /// From the first node: that most.
    Agreed { most: u64 },
    /// To the first node: no rank of the job has work here. So many pieces from elsewhere have come so far.
    Hungry { came: u64, members: RankRange },
    /// From the first node: others have none; give a piece away.
    Wanted,
    /// To and from the first node: a piece of work, which follows.
    Piece,
    /// From the first node: there is no work any more.
    NoMore,
}

/// A message with what follows it, for the wire.
pub fn pack(message: &Message, bytes: &[u8]) -> Vec<u8> {
    let line = serde_json::to_vec(message).expect("our own types are JSON");
    [&(line.len() as u32).to_le_bytes(), &line[..], bytes].concat()
}

/// The message of a packet, and what follows it. `None` if it is none.
pub fn unpack(packet: &[u8]) -> Option<(Message, &[u8])> {
    let (length, rest) = packet.split_first_chunk()?;
    let (line, bytes) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(line).ok()?, bytes))
}

/// Adds what `node` says to what several nodes say.
pub fn add_part(parts: &mut Vec<u8>, node: u32, bytes: &[u8]) {
    parts.extend(node.to_le_bytes());
    parts.extend((bytes.len() as u64).to_le_bytes());
    parts.extend(bytes);
}

/// What each node says, in the order of nodes.
pub fn parts(mut all: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while let Some((node, rest)) = all.split_first_chunk() {
        let Some((length, rest)) = rest.split_first_chunk() else { break };
        let Some((bytes, rest)) = rest.split_at_checked(u64::from_le_bytes(*length) as usize) else { break };
        parts.push((u32::from_le_bytes(*node), bytes.to_vec()));
        all = rest;
    }
    parts.sort_by_key(|(node, _)| *node);
    parts.into_iter().map(|(_, bytes)| bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked_and_anything_else_is_no_message(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let message = Message::Call(CallMessage::Up { call: 7, kind: Kind::Gather, stop: true });
            let packet = pack(&message, &bytes);
            prop_assert_eq!(unpack(&packet), Some((message, &bytes[..])));
            prop_assert_eq!(unpack(&bytes), None);
        }

        /// Cut off, or with some byte changed: it is a message or none, and never more than there is.
        #[test]
        fn what_is_broken_is_no_reason_to_panic(cut in 0..80_usize, index in 0..80_usize, byte: u8) {
            let key = JobKey { order: 3, step: 1, job: 2 };
            let mut packet = pack(&Message::Job(key, JobMessage::Max { most: 5, came: 1, of: 2 }), b"behind it");
            let end = packet.len();
            packet[index % end] = byte;
            packet.truncate(end - cut % end);
            if let Some((_, bytes)) = unpack(&packet) {
                prop_assert!(bytes.len() < packet.len());
            }
            let _ = parts(&packet);
        }

        #[test]
        fn parts_come_in_the_order_of_nodes(sent in proptest::collection::vec(any::<Vec<u8>>(), 0..9)) {
            let mut all = Vec::new();
            for (node, bytes) in sent.iter().enumerate().rev() {
                add_part(&mut all, node as u32, bytes);
            }
            prop_assert_eq!(parts(&all), sent);
        }
    }
}
