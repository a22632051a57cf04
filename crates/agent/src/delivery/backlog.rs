//! What waits for a sink: a little in memory, the rest in the spool. Payloads leave in the order in which they came.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sinks::Payload;
use crate::spool::{self, Spool};

/// So much waits in memory before the spool is used, in payloads: a store that keeps up needs no disk.
const PAYLOADS: usize = 8;
/// So much waits in memory, in bytes. Beyond it the spool is used; without one the oldest payloads are dropped.
const BYTES: usize = 16 << 20;

/// What waits for a sink.
pub struct Backlog {
    /// Older than what is in the spool.
    memory: VecDeque<Arc<Payload>>,
    memory_bytes: usize,
    spool: Option<Spool>,
    /// The payload that is being sent: it stays until its result is known.
    flight: Option<Flight>,
    /// The last attempt to send failed.
    behind: bool,
    /// Documents that were given up.
    dropped: u64,
    /// Why documents were last given up.
    trouble: Option<String>,
    closed: bool,
}

struct Flight {
    documents: u64,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    /// The first one there.
    Memory,
    Spool(spool::Place),
    /// It was given up for newer ones, and is only in the sender's hands.
    Nowhere,
}

impl Backlog {
    /// With what an agent left in the spool.
    pub fn new(spool: Option<Spool>) -> Self {
        let mut backlog = Self {
            memory: VecDeque::new(),
            memory_bytes: 0,
            spool,
            flight: None,
            behind: false,
            dropped: 0,
            trouble: None,
            closed: false,
        };
        backlog.count_lost("the spool was damaged: what the agent before wrote last is dropped");
        backlog
    }

    /// Documents that wait, and their bytes.
    pub fn waiting(&self) -> (u64, u64) {
        let (documents, bytes) = self.spooled();
        let nowhere = match &self.flight {
            Some(Flight { documents, place: Place::Nowhere }) => *documents,
            _ => 0,
        };
        let memory: u64 = self.memory.iter().map(|payload| payload.documents).sum();
        (documents + memory + nowhere, bytes + self.memory_bytes as u64)
    }

    /// Documents that wait on disk, and their bytes.
    pub fn spooled(&self) -> (u64, u64) {
        self.spool.as_ref().map_or((0, 0), |spool| (spool.documents(), spool.bytes()))
    }

    /// Documents that were given up.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Why documents were given up since this was last asked.
    pub fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Adds a payload. Whatever has no space is dropped and counted.
    pub fn push(&mut self, payload: Payload) {
        if self.closed {
            self.dropped += payload.documents;
            return;
        }
        let is_full =
            self.memory.len() >= PAYLOADS || !self.memory.is_empty() && self.memory_bytes + payload.bytes.len() > BYTES;
        match &mut self.spool {
            Some(spool) if self.behind || !spool.is_empty() || is_full => {
                if let Err(error) = spool.append(&payload) {
                    self.dropped += payload.documents;
                    self.trouble =
                        Some(format!("the spool cannot be written: {error}; documents are dropped: free space there"));
                }
                self.count_lost(FULL);
            }
            _ => {
                self.memory_bytes += payload.bytes.len();
                self.memory.push_back(Arc::new(payload));
                while self.memory_bytes > BYTES && self.memory.len() > 1 {
                    self.drop_oldest();
                }
            }
        }
    }

    /// The payload to send now, which is in flight until it was delivered or lost.
    pub fn take(&mut self) -> Option<Arc<Payload>> {
        let (place, payload) = match self.memory.front() {
            Some(first) => (Place::Memory, Arc::clone(first)),
            None => {
                let front = self.spool.as_mut()?.front();
                self.count_lost("a part of the spool cannot be read any more and is dropped; check its file system");
                let (place, payload) = front?;
                (Place::Spool(place), Arc::new(payload))
            }
        };
        self.flight = Some(Flight { documents: payload.documents, place });
        Some(payload)
    }

    /// The payload in flight is done with; so many of its documents are lost.
    pub fn done(&mut self, lost: u64) {
        let Some(flight) = self.flight.take() else { return };
        self.behind = false;
        self.dropped += lost.min(flight.documents);
        match (flight.place, &mut self.spool) {
            (Place::Memory, _) => {
                if let Some(payload) = self.memory.pop_front() {
                    self.memory_bytes -= payload.bytes.len();
                }
            }
            (Place::Spool(place), Some(spool)) => spool.remove(place),
            (Place::Spool(_), None) | (Place::Nowhere, _) => {}
        }
    }

    /// The payload in flight could not be sent: from now on, what waits is safe on disk.
    pub fn postpone(&mut self) {
        self.behind = true;
        self.spill();
    }

    /// What is in memory goes to the spool; where it cannot, it stays.
    fn spill(&mut self) {
        let Some(spool) = &mut self.spool else { return };
        if self.memory.is_empty() {
            return;
        }
        let Ok(first) = spool.prepend(self.memory.iter().map(|payload| &**payload)) else { return };
        self.memory.clear();
        self.memory_bytes = 0;
        let mut lost = spool.take_lost();
        if let Some(flight) = &mut self.flight
            && matches!(flight.place, Place::Memory)
        {
            flight.place = first.map_or(Place::Nowhere, Place::Spool);
            if first.is_none() {
                lost -= flight.documents;
            }
        }
        self.drop_documents(lost, FULL);
    }

    /// Nothing comes any more. What waits is left on disk; what cannot be is dropped.
    pub fn close(&mut self) {
        self.closed = true;
        self.spill();
        self.dropped += self.memory.iter().map(|payload| payload.documents).sum::<u64>();
        self.memory.clear();
        self.memory_bytes = 0;
        if let Some(Flight { documents, place: Place::Nowhere }) = self.flight.take() {
            self.dropped += documents;
        }
    }

    /// Gives the spool back, so that another agent can use it.
    pub fn release(&mut self) {
        self.spool = None;
    }

    fn drop_oldest(&mut self) {
        let Some(payload) = self.memory.pop_front() else { return };
        self.memory_bytes -= payload.bytes.len();
        match &mut self.flight {
            Some(flight) if matches!(flight.place, Place::Memory) => flight.place = Place::Nowhere,
            _ => self
                .drop_documents(payload.documents, "there is no spool, and the oldest documents are dropped: set one"),
        }
    }

    /// Counts what the spool gave up, but for the payload in flight, of which it is not yet known.
    fn count_lost(&mut self, trouble: &str) {
        let Some(spool) = &mut self.spool else { return };
        let mut lost = spool.take_lost();
        if let Some(Flight { documents, place }) = &mut self.flight
            && let Place::Spool(spooled) = *place
            && !spool.holds(spooled)
        {
            *place = Place::Nowhere;
            lost -= *documents;
        }
        self.drop_documents(lost, trouble);
    }

    fn drop_documents(&mut self, lost: u64, trouble: &str) {
        if lost > 0 {
            self.dropped += lost;
            self.trouble = Some(trouble.to_owned());
        }
    }
}

const FULL: &str = "the spool is full, and the oldest documents in it are dropped; let it take more bytes";

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tempfile::{TempDir, tempdir};

    use super::*;

    /// What happens to a backlog.
    #[derive(Debug, Clone)]
    enum Event {
        Give {
            bytes: usize,
        },
        /// An attempt that succeeds.
        Deliver,
        /// An attempt that fails, and the next one.
        Fail,
        /// While the payload is in flight, others come; then it is delivered.
        Overtake {
            given: usize,
        },
        /// The agent ends and another one begins.
        Restart,
        /// The agent is killed, and the last so many bytes that it wrote are missing.
        Kill {
            cut: u64,
        },
    }

    fn event(kills: bool) -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => (0_usize..2000).prop_map(|bytes| Event::Give { bytes }),
            2 => Just(Event::Deliver),
            2 => Just(Event::Fail),
            1 => (0_usize..20).prop_map(|given| Event::Overtake { given }),
            1 => Just(Event::Restart),
            u32::from(kills) => (0_u64..200).prop_map(|cut| Event::Kill { cut }),
        ]
    }

    struct Watched {
        directory: TempDir,
        most_bytes: u64,
        backlog: Backlog,
        given: u64,
        delivered: Vec<u64>,
        /// Dropped by backlogs before this one.
        dropped: u64,
        /// Not delivered, in memory when the agent was killed.
        killed: u64,
    }

    impl Watched {
        fn new(most_bytes: u64) -> Self {
            let directory = tempdir().unwrap();
            let backlog = Backlog::new(Some(open(&directory, most_bytes)));
            Self { directory, most_bytes, backlog, given: 0, delivered: vec![], dropped: 0, killed: 0 }
        }

        fn give(&mut self, bytes: usize) {
            let mut payload = self.given.to_le_bytes().to_vec();
            payload.resize(8 + bytes, 0);
            self.backlog.push(Payload { documents: 1, bytes: payload });
            self.given += 1;
        }

        fn take(&mut self) -> Option<u64> {
            let payload = self.backlog.take()?;
            Some(u64::from_le_bytes(payload.bytes[..8].try_into().unwrap()))
        }

        fn deliver(&mut self) -> bool {
            let Some(number) = self.take() else { return false };
            self.delivered.push(number);
            self.backlog.done(0);
            true
        }

        fn reopen(&mut self) {
            self.dropped += self.backlog.dropped();
            self.backlog.release();
            self.backlog = Backlog::new(Some(open(&self.directory, self.most_bytes)));
        }

        fn happen(&mut self, event: &Event) {
            match event {
                Event::Give { bytes } => self.give(*bytes),
                Event::Deliver => {
                    self.deliver();
                }
                Event::Fail => {
                    if let Some(number) = self.take() {
                        self.backlog.postpone();
                        self.give(100);
                        self.backlog.postpone();
                        self.delivered.push(number);
                        self.backlog.done(0);
                    }
                }
                Event::Overtake { given } => {
                    let number = self.take();
                    (0..*given).for_each(|_| self.give(500));
                    self.delivered.extend(number);
                    self.backlog.done(0);
                }
                Event::Restart => {
                    self.backlog.close();
                    self.reopen();
                }
                Event::Kill { cut } => {
                    let waiting = self.backlog.waiting().0;
                    self.killed += waiting - self.backlog.spooled().0;
                    self.backlog.release();
                    let last = std::fs::read_dir(self.directory.path().join("spool/s")).unwrap();
                    let last = last.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()).max();
                    if let Some(last) = last {
                        let file = std::fs::OpenOptions::new().write(true).open(last).unwrap();
                        file.set_len(file.metadata().unwrap().len().saturating_sub(*cut)).unwrap();
                    }
                    self.reopen();
                }
            }
        }

        fn finish(mut self) -> Self {
            while self.deliver() {}
            self.dropped += self.backlog.dropped();
            self
        }
    }

    fn open(directory: &TempDir, most_bytes: u64) -> Spool {
        Spool::open(&directory.path().join("spool"), "s", most_bytes).unwrap()
    }

    proptest! {
        // Each is of many files.
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn within_the_bound_nothing_is_lost_or_doubled_or_reordered(events in vec(event(false), 1..120)) {
            let mut watched = Watched::new(1 << 30);
            events.iter().for_each(|event| watched.happen(event));
            let watched = watched.finish();
            prop_assert_eq!(watched.delivered, (0..watched.given).collect::<Vec<_>>());
            prop_assert_eq!(watched.dropped, 0);
        }

        #[test]
        fn beyond_the_bound_what_is_lost_is_counted(events in vec(event(false), 1..120), most_bytes in 0_u64..20_000) {
            let mut watched = Watched::new(most_bytes);
            for event in &events {
                watched.happen(event);
                let size: u64 = std::fs::read_dir(watched.directory.path().join("spool/s")).unwrap()
                    .map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
                prop_assert!(size <= most_bytes);
            }
            let watched = watched.finish();
            prop_assert!(watched.delivered.is_sorted_by(|before, after| before < after));
            prop_assert_eq!(watched.delivered.len() as u64 + watched.dropped, watched.given);
        }

        #[test]
        fn a_killed_agent_loses_what_was_in_memory_and_cut_off(
            events in vec(event(true), 1..120),
            most_bytes in prop_oneof![0_u64..20_000, Just(1 << 30)],
        ) {
            let mut watched = Watched::new(most_bytes);
            events.iter().for_each(|event| watched.happen(event));
            let watched = watched.finish();
            prop_assert!(watched.delivered.is_sorted_by(|before, after| before < after));
            // A cut may have taken several frames, or a header from which their number would be known.
            let cut: u64 = events.iter().map(|event| match event { Event::Kill { cut } => cut / 28, _ => 0 }).sum();
            let known = watched.delivered.len() as u64 + watched.dropped + watched.killed;
            prop_assert!(known <= watched.given && watched.given <= known + cut, "{} of {}", known, watched.given);
        }
    }

    #[test]
    fn large_payloads_that_memory_has_no_space_for_go_to_the_spool() {
        let directory = tempdir().unwrap();
        let mut backlog = Backlog::new(Some(open(&directory, 1 << 30)));
        for number in 0..5 {
            backlog.push(Payload { documents: 1, bytes: vec![number; BYTES / 2] });
        }
        assert_eq!((backlog.dropped(), backlog.waiting().0, backlog.spooled().0), (0, 5, 3));
        for number in 0..5 {
            assert_eq!(backlog.take().unwrap().bytes[0], number);
            backlog.done(0);
        }
    }

    #[test]
    fn without_a_spool_the_oldest_documents_make_room() {
        let mut backlog = Backlog::new(None);
        let payload = |number: u8| Payload { documents: 3, bytes: vec![number; BYTES / 2] };
        backlog.push(payload(0));
        let first = backlog.take().unwrap();
        (1..5).for_each(|number| backlog.push(payload(number)));
        // The one in flight is not lost yet.
        assert_eq!((backlog.dropped(), backlog.waiting().0), (6, 9));
        assert_eq!(first.bytes[0], 0);
        backlog.done(0);
        assert_eq!(backlog.take().unwrap().bytes[0], 3);
        backlog.close();
        assert_eq!(backlog.dropped(), 12);
    }
}
