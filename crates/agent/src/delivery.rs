//! Brings documents to sinks without ever holding up the agent: each sink has a queue and two threads, one that makes payloads
//! of documents, one that sends them. What a sink cannot take waits, in memory and in the spool, within bounds; what has no
//! space is dropped and counted.
//!
//! Not here: what is sent ([`crate::sinks`]), how it lies on disk ([`crate::spool`]).

mod backlog;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::setup;

use self::backlog::Backlog;
use crate::sinks::{self, Encoder, Refusal, Sink, SinkError, Transport};
use crate::spool::{Spool, SpoolError};

/// Documents of a payload at most.
const BATCH: usize = 2000;
/// Documents that wait to be made payloads of at most.
const QUEUE: usize = 50_000;
/// The first and the longest wait between attempts to send.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A store that asks to be left alone longer than this is asked again all the same.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// In the end, what waits in memory is written to the spool within this time.
const GRACE: Duration = Duration::from_secs(2);

/// Why deliveries cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A sink cannot be set up.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The spool cannot be used.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The system has no thread left.
    #[error("no thread can be started for a sink: {0}; raise the limit of processes (ulimit -u)")]
    Thread(std::io::Error),
}

/// The state of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkState {
    /// What people know it by.
    pub name: String,
    /// Documents that wait, in memory and on disk.
    pub waiting_documents: u64,
    /// Bytes of those that wait and are no documents any more.
    pub waiting_bytes: u64,
    /// Documents that were given up since the agent began: a spool was full, a store refused them.
    pub dropped_documents: u64,
    /// Why nothing can be delivered at present, and what to do.
    pub problem: Option<String>,
    /// Why documents were last given up.
    pub refusal: Option<String>,
}

/// What a sink was left with in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remainder {
    /// What people know it by.
    pub name: String,
    /// Documents that wait in the spool for the next agent.
    pub spooled_documents: u64,
    /// Their bytes.
    pub spooled_bytes: u64,
    /// Documents that were given up, all in all.
    pub dropped_documents: u64,
    /// Why they were not delivered.
    pub problem: Option<String>,
}

impl Remainder {
    /// What was not delivered, in a sentence; `None`: everything was.
    pub fn in_words(&self) -> Option<String> {
        let count = |documents: u64, singular: &str, many: &str| match documents {
            0 => None,
            1 => Some(format!("1 document {singular}")),
            _ => Some(format!("{documents} documents {many}")),
        };
        let waiting = "in the spool for the next agent";
        let spooled = count(self.spooled_documents, &format!("waits {waiting}"), &format!("wait {waiting}"));
        let dropped = count(self.dropped_documents, "was given up", "were given up");
        let parts: Vec<String> = [spooled, dropped].into_iter().flatten().collect();
        if parts.is_empty() {
            return None;
        }
        let why = self.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
        Some(format!("{}: {}{why}", self.name, parts.join(", ")))
    }
}

/// The sinks of an agent, at work.
pub struct Deliveries {
    lanes: Vec<SinkWorker>,
}

impl Deliveries {
    /// Starts the sinks of `setup`. What an agent left in the spool goes first.
    pub fn start(setup: &[setup::Sink], spool: Option<&setup::Spool>, node: &str) -> Result<Self, StartError> {
        let sinks = setup.iter().map(|sink| sinks::open(sink, node)).collect::<Result<Vec<_>, _>>()?;
        Self::with(sinks, spool, PAUSES)
    }

    fn with(sinks: Vec<Sink>, spool: Option<&setup::Spool>, pauses: (Duration, Duration)) -> Result<Self, StartError> {
        let mut opened = Vec::new();
        for sink in sinks {
            let spool =
                spool.map(|spool| Spool::open(&spool.directory, &sink.directory, spool.most_bytes)).transpose()?;
            opened.push((sink, Backlog::new(spool)));
        }
        let lanes = opened
            .into_iter()
            .map(|(sink, backlog)| SinkWorker::start(sink, backlog, pauses))
            .collect::<Result<_, _>>()?;
        Ok(Self { lanes })
    }

    /// Gives documents to all sinks. It never waits and never fails: what a sink has no space for is counted as dropped.
    pub fn give(&self, documents: &[Document]) {
        for batch in documents.chunks(BATCH) {
            let batch: Arc<[Document]> = batch.into();
            for lane in &self.lanes {
                lane.give(Arc::clone(&batch));
            }
        }
    }

    /// How the sinks fare. It never waits.
    pub fn state(&self) -> Vec<SinkState> {
        self.lanes.iter().map(SinkWorker::state).collect()
    }

    /// Delivers what it can within this time, leaves the rest in the spool, and says how much that is.
    pub fn finish(self, within: Duration) -> Vec<Remainder> {
        let deadline = Instant::now() + within;
        let (ended, ends) = mpsc::channel();
        for (place, lane) in self.lanes.iter().enumerate() {
            let (ended, shared) = (ended.clone(), Arc::clone(&lane.shared));
            // A disk that does not answer must not keep the agent.
            let _ = thread::Builder::new().spawn(move || {
                shared.close(deadline);
                ended.send((place, shared.finish(deadline)))
            });
        }
        drop(ended);
        let mut left: Vec<_> = self.lanes.iter().map(SinkWorker::stuck).collect();
        while let Ok((place, Remains { spooled, dropped })) = ends.recv_timeout(left_until(deadline) + GRACE) {
            let lane = &self.lanes[place];
            left[place] = Remainder {
                name: lane.name.clone(),
                spooled_documents: spooled.0,
                spooled_bytes: spooled.1,
                dropped_documents: dropped,
                problem: lock(&lane.shared.words).last(),
            };
        }
        left
    }
}

/// A sink at work.
struct SinkWorker {
    name: String,
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    queue_changed: Condvar,
    waiting: Mutex<Waiting>,
    waiting_changed: Condvar,
    words: Mutex<LastErrors>,
    /// What [`Waiting`] last came to: it may be held by a thread that waits for a disk.
    documents: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
    /// Documents that the queue had no space for.
    not_queued: AtomicU64,
}

/// What is given and no payload yet. Held for moments only.
#[derive(Default)]
struct Queue {
    batches: VecDeque<Arc<[Document]>>,
    documents: usize,
    closed: bool,
}

struct Waiting {
    backlog: Backlog,
    /// Nothing comes any more.
    encoded: bool,
    /// Until when to go on trying, once the agent ends.
    deadline: Option<Instant>,
    /// The sender has ended.
    ended: bool,
}

#[derive(Default)]
struct LastErrors {
    problem: Option<String>,
    refusal: Option<String>,
}

impl LastErrors {
    /// Why documents wait, or were given up.
    fn last(&self) -> Option<String> {
        self.problem.clone().or_else(|| self.refusal.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A sink that panicked must not take the agent with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SinkWorker {
    fn start(sink: Sink, backlog: Backlog, pauses: (Duration, Duration)) -> Result<Self, StartError> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            queue_changed: Condvar::new(),
            waiting: Mutex::new(Waiting { backlog, encoded: false, deadline: None, ended: false }),
            waiting_changed: Condvar::new(),
            words: Mutex::default(),
            documents: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            not_queued: AtomicU64::new(0),
        });
        shared.publish(&mut lock(&shared.waiting));
        let Sink { name, directory, encoder, mut transport } = sink;
        let encoding = Arc::clone(&shared);
        let sending = Arc::clone(&shared);
        let named = |what: &str| thread::Builder::new().name(format!("{what} {directory}"));
        named("encode").spawn(move || encoding.encode(encoder)).map_err(StartError::Thread)?;
        let send = move || {
            sending.send(&mut *transport, pauses);
            // A plug-in is shut down before the agent ends.
            drop(transport);
            sending.sender_ended();
        };
        named("send").spawn(send).map_err(StartError::Thread)?;
        Ok(Self { name, shared })
    }

    fn give(&self, batch: Arc<[Document]>) {
        let mut queue = lock(&self.shared.queue);
        if queue.documents + batch.len() > QUEUE {
            self.shared.not_queued.fetch_add(batch.len() as u64, Relaxed);
            return;
        }
        queue.documents += batch.len();
        queue.batches.push_back(batch);
        self.shared.queue_changed.notify_one();
    }

    fn state(&self) -> SinkState {
        let shared = &self.shared;
        let words = lock(&shared.words);
        SinkState {
            name: self.name.clone(),
            waiting_documents: lock(&shared.queue).documents as u64 + shared.documents.load(Relaxed),
            waiting_bytes: shared.bytes.load(Relaxed),
            dropped_documents: shared.not_queued.load(Relaxed) + shared.dropped.load(Relaxed),
            problem: words.problem.clone(),
            refusal: words.refusal.clone(),
        }
    }

    /// What is left where the disk of the spool does not answer.
    fn stuck(&self) -> Remainder {
        let SinkState { name, waiting_documents, dropped_documents, .. } = self.state();
        let problem = "its spool does not answer, and what waits is given up; check the disk".to_owned();
        Remainder {
            name,
            spooled_documents: 0,
            spooled_bytes: 0,
            dropped_documents: dropped_documents + waiting_documents,
            problem: Some(problem),
        }
    }
}

/// Documents and bytes that are left in the spool, and documents that were dropped all in all.
struct Remains {
    spooled: (u64, u64),
    dropped: u64,
}

fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl Shared {
    fn close(&self, deadline: Instant) {
        lock(&self.queue).closed = true;
        self.queue_changed.notify_all();
        lock(&self.waiting).deadline = Some(deadline);
        self.waiting_changed.notify_all();
    }

    fn finish(&self, deadline: Instant) -> Remains {
        let waiting = lock(&self.waiting);
        let ended = self.waiting_changed.wait_timeout_while(waiting, left_until(deadline), |waiting| !waiting.ended);
        let (mut waiting, _) = ended.unwrap_or_else(PoisonError::into_inner);
        waiting.backlog.close();
        let spooled = waiting.backlog.spooled();
        waiting.backlog.release();
        let not_encoded = lock(&self.queue).documents as u64;
        Remains { spooled, dropped: waiting.backlog.dropped() + self.not_queued.load(Relaxed) + not_encoded }
    }

    /// The thread that makes payloads of documents.
    fn encode(&self, encoder: Box<dyn Encoder>) {
        let mut encoder = Some(encoder);
        while let Some(at_work) = &mut encoder {
            let queue = lock(&self.queue);
            let waited = self.queue_changed.wait_while(queue, |queue| queue.batches.is_empty() && !queue.closed);
            let batch = waited.unwrap_or_else(PoisonError::into_inner).batches.front().cloned();
            let payloads = match &batch {
                Some(batch) => at_work.encode(batch),
                None => at_work.flush(),
            };
            if batch.is_none() {
                // What it holds is dropped before its end is reported.
                encoder = None;
            }
            let mut waiting = lock(&self.waiting);
            for payload in payloads {
                waiting.backlog.push(payload);
            }
            waiting.encoded = batch.is_none();
            self.publish(&mut waiting);
            if let Some(batch) = batch {
                // Still under the lock of what waits: the end must not count them twice.
                let mut queue = lock(&self.queue);
                queue.batches.pop_front();
                queue.documents -= batch.len();
            }
            drop(waiting);
            self.waiting_changed.notify_all();
        }
    }

    /// The thread that sends payloads.
    fn send(&self, transport: &mut dyn Transport, pauses: (Duration, Duration)) {
        let jitter = RandomState::new();
        let mut pause = pauses.0;
        while let Some(first) = self.next() {
            let mut rest: Option<Vec<u8>> = None;
            let mut lost = 0;
            loop {
                let (reason, after) = match transport.send(rest.as_ref().unwrap_or(&first.bytes)) {
                    Ok(()) => {
                        lock(&self.words).problem = None;
                        break;
                    }
                    Err(Refusal::Never { reason, documents }) => {
                        lost += documents;
                        *lock(&self.words) = LastErrors { problem: None, refusal: Some(reason) };
                        break;
                    }
                    Err(Refusal::Later { reason, after }) => (reason, after),
                    Err(Refusal::Partly { rest: part, documents, reason, after }) => {
                        lost += documents;
                        rest = Some(part);
                        (reason, after)
                    }
                };
                lock(&self.words).problem = Some(reason);
                // Sinks that lost the same store do not come back at the same moment.
                let longest = after.map_or(pause, |after| after.clamp(pause, LONGEST_PAUSE));
                let wait = longest
                    - longest.mul_f64(f64::from(jitter.hash_one(Instant::now()) as u16) / f64::from(u16::MAX) / 4.0);
                pause = (pause * 2).min(pauses.1);
                if !self.wait(wait) {
                    return;
                }
            }
            pause = pauses.0;
            let mut waiting = lock(&self.waiting);
            waiting.backlog.done(lost);
            self.publish(&mut waiting);
        }
    }

    /// The payload to send now; `None`: the sender's work is done.
    fn next(&self) -> Option<Arc<sinks::Payload>> {
        let mut waiting = lock(&self.waiting);
        loop {
            let is_late = waiting.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let first = if is_late { None } else { waiting.backlog.take() };
            if first.is_some() {
                return first;
            }
            if is_late || waiting.encoded {
                return None;
            }
            waiting = self.waiting_changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the next attempt, and says whether there is one.
    fn wait(&self, pause: Duration) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.backlog.postpone();
        self.publish(&mut waiting);
        let was_closing = waiting.deadline.is_some();
        let waited = self.waiting_changed.wait_timeout_while(waiting, pause, |waiting| {
            // An agent that ends tries once more at once.
            waiting.deadline.is_some() == was_closing
        });
        let (waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    fn sender_ended(&self) {
        lock(&self.waiting).ended = true;
        self.waiting_changed.notify_all();
    }

    fn publish(&self, waiting: &mut Waiting) {
        if let Some(trouble) = waiting.backlog.take_trouble() {
            lock(&self.words).refusal = Some(trouble);
        }
        let (documents, bytes) = waiting.backlog.waiting();
        self.documents.store(documents, Relaxed);
        self.bytes.store(bytes, Relaxed);
        self.dropped.store(waiting.backlog.dropped(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::watch::kinds::Io;
    use tempfile::tempdir;

    use super::*;
    use crate::sinks::Payload;

    const SOON: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(2));
    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(60);

    fn documents(seconds: std::ops::Range<u64>) -> Vec<Document> {
        seconds.map(|second| Io::default().of(second, 0)).collect()
    }

    struct Seconds;

    impl Encoder for Seconds {
        fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
            let bytes = documents.iter().flat_map(|document| document.second.to_le_bytes()).collect();
            vec![Payload { documents: documents.len() as u64, bytes }]
        }
    }

    /// A store that does what the test says with each attempt.
    struct Store<F>(F);

    impl<F: FnMut(Vec<u64>) -> Result<(), Refusal> + Send> Transport for Store<F> {
        fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
            (self.0)(payload.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap())).collect())
        }
    }

    fn start(
        spool: Option<&setup::Spool>,
        store: impl FnMut(Vec<u64>) -> Result<(), Refusal> + Send + 'static,
    ) -> Deliveries {
        let sink = Sink {
            name: "a store".to_owned(),
            directory: "store".to_owned(),
            encoder: Box::new(Seconds),
            transport: Box::new(Store(store)),
        };
        Deliveries::with(vec![sink], spool, SOON).unwrap()
    }

    #[test]
    fn only_what_is_left_in_the_end_is_reported() {
        let words = |spooled_documents, dropped_documents, problem: Option<&str>| {
            let (name, problem) = ("a store".to_owned(), problem.map(str::to_owned));
            Remainder { name, spooled_documents, spooled_bytes: 0, dropped_documents, problem }.in_words()
        };
        assert_eq!(words(0, 0, Some("it was down")), None);
        assert_eq!(words(0, 6, None).unwrap(), "a store: 6 documents were given up");
        assert_eq!(
            words(1, 0, Some("it is down")).unwrap(),
            "a store: 1 document waits in the spool for the next agent: it is down"
        );
        assert_eq!(
            words(2, 1, None).unwrap(),
            "a store: 2 documents wait in the spool for the next agent, 1 document was given up"
        );
    }

    fn later() -> Refusal {
        Refusal::Later { reason: "it is down".to_owned(), after: None }
    }

    #[test]
    fn what_is_given_arrives_once_in_order_however_often_the_store_fails() {
        let (arrived, arrives) = mpsc::channel();
        let mut attempts = 0;
        let deliveries = start(None, move |seconds| {
            attempts += 1;
            if attempts % 3 != 0 {
                return Err(later());
            }
            arrived.send(seconds).unwrap();
            Ok(())
        });
        (0..20).for_each(|second| deliveries.give(&documents(10 * second..10 * second + 10)));
        let left = deliveries.finish(LONG).remove(0);
        assert_eq!((left.spooled_documents, left.dropped_documents, left.problem), (0, 0, None));
        assert_eq!(arrives.iter().flatten().collect::<Vec<_>>(), (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn what_an_agent_could_not_deliver_the_next_one_delivers_first() {
        let above = tempdir().unwrap();
        let spool = setup::Spool { directory: above.path().join("spool"), most_bytes: 1 << 20 };
        let down = start(Some(&spool), |_| Err(later()));
        down.give(&documents(0..5000));
        let is_ready = |state: &SinkState| state.problem.is_some() && state.waiting_bytes >= 5000 * 8;
        while !is_ready(&down.state()[0]) {
            thread::sleep(Duration::from_millis(1));
        }
        let left = down.finish(Duration::from_millis(100)).remove(0);
        assert_eq!((left.spooled_documents, left.dropped_documents), (5000, 0));
        assert_eq!(left.problem.as_deref(), Some("it is down"));
        let (arrived, arrives) = mpsc::channel();
        let up = start(Some(&spool), move |seconds| {
            arrived.send(seconds).unwrap();
            Ok(())
        });
        up.give(&documents(5000..5010));
        assert_eq!(up.finish(LONG)[0].spooled_documents, 0);
        assert_eq!(arrives.iter().flatten().collect::<Vec<_>>(), (0..5010).collect::<Vec<_>>());
    }

    #[test]
    fn only_the_rest_of_a_payload_is_sent_again_and_what_is_refused_is_counted() {
        let (arrived, arrives) = mpsc::channel();
        let deliveries = start(None, move |seconds| {
            arrived.send(seconds.clone()).unwrap();
            match seconds.len() {
                4 => Err(Refusal::Partly {
                    rest: [2_u64, 3].iter().flat_map(|second| second.to_le_bytes()).collect(),
                    documents: 1,
                    reason: "busy".to_owned(),
                    after: Some(Duration::from_millis(1)),
                }),
                2 => Err(Refusal::Never { reason: "no such field".to_owned(), documents: 1 }),
                _ => Ok(()),
            }
        });
        deliveries.give(&documents(0..4));
        deliveries.give(&documents(4..5));
        assert_eq!(arrives.iter().take(3).collect::<Vec<_>>(), [vec![0, 1, 2, 3], vec![2, 3], vec![4]]);
        assert_eq!(deliveries.state()[0].refusal.as_deref(), Some("no such field"));
        assert_eq!(deliveries.finish(LONG)[0].dropped_documents, 2);
    }

    #[test]
    fn a_store_that_never_answers_holds_up_neither_giving_nor_the_end() {
        let above = tempdir().unwrap();
        let spool = setup::Spool { directory: above.path().join("spool"), most_bytes: 1 << 30 };
        let (asked, asks) = mpsc::channel();
        // The store is never let go: if anything waited for it, the test would not end.
        let (_never, nothing) = mpsc::channel::<()>();
        let deliveries = start(Some(&spool), move |_| {
            asked.send(()).unwrap();
            nothing.recv().map_err(|_| later())
        });
        deliveries.give(&documents(0..10));
        asks.recv().unwrap();
        (1..100).for_each(|second| deliveries.give(&documents(10 * second..10 * second + 10)));
        assert_eq!(deliveries.state()[0].dropped_documents, 0);
        let left = deliveries.finish(Duration::from_millis(500)).remove(0);
        assert_eq!(left.spooled_documents + left.dropped_documents, 1000);
        assert!(left.spooled_documents > 0);
    }

    #[test]
    fn what_the_queue_has_no_space_for_is_dropped_and_counted() {
        let (_never, nothing) = mpsc::channel::<()>();
        struct Stuck(mpsc::Receiver<()>);
        impl Encoder for Stuck {
            fn encode(&mut self, _: &[Document]) -> Vec<Payload> {
                let _ = self.0.recv();
                vec![]
            }
        }
        let sink = Sink {
            name: "stuck".to_owned(),
            directory: "stuck".to_owned(),
            encoder: Box::new(Stuck(nothing)),
            transport: Box::new(Store(|_| Ok(()))),
        };
        let deliveries = Deliveries::with(vec![sink], None, SOON).unwrap();
        deliveries.give(&documents(0..QUEUE as u64 + 10));
        let state = deliveries.state().remove(0);
        assert_eq!((state.waiting_documents, state.dropped_documents), (QUEUE as u64, 10));
        assert_eq!(deliveries.finish(Duration::ZERO)[0].dropped_documents, QUEUE as u64 + 10);
    }

    #[test]
    fn a_transport_is_shut_down_before_the_agent_ends() {
        struct Slow(mpsc::Sender<()>);
        impl Transport for Slow {
            fn send(&mut self, _: &[u8]) -> Result<(), Refusal> {
                Ok(())
            }
        }
        impl Drop for Slow {
            fn drop(&mut self) {
                thread::sleep(Duration::from_millis(100));
                let _ = self.0.send(());
            }
        }
        let (shut_down, is_shut_down) = mpsc::channel();
        let sink = Sink {
            name: "slow".to_owned(),
            directory: "slow".to_owned(),
            encoder: Box::new(Seconds),
            transport: Box::new(Slow(shut_down)),
        };
        Deliveries::with(vec![sink], None, SOON).unwrap().finish(LONG);
        assert_eq!(is_shut_down.try_recv(), Ok(()));
    }

    #[test]
    fn what_an_encoder_holds_is_let_go_before_the_agent_ends() {
        let (release, is_let_go) = mpsc::channel::<()>();
        struct Holding(mpsc::Sender<()>);
        impl Encoder for Holding {
            fn encode(&mut self, _: &[Document]) -> Vec<Payload> {
                let _ = &self.0;
                vec![]
            }
        }
        let sink = Sink {
            name: "holding".to_owned(),
            directory: "holding".to_owned(),
            encoder: Box::new(Holding(release)),
            transport: Box::new(Store(|_| Ok(()))),
        };
        Deliveries::with(vec![sink], None, SOON).unwrap().finish(LONG);
        assert_eq!(is_let_go.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    #[test]
    fn what_is_larger_than_the_spool_is_dropped_and_counted() {
        let above = tempdir().unwrap();
        let spool = setup::Spool { directory: above.path().join("spool"), most_bytes: 100 };
        let deliveries = start(Some(&spool), |_| Err(later()));
        deliveries.give(&documents(0..1000));
        let left = deliveries.finish(Duration::from_millis(50)).remove(0);
        assert_eq!((left.spooled_documents, left.dropped_documents), (0, 1000));
    }
}
