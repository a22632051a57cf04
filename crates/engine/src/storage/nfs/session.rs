//! One client's mount of an export, its requests, and how long it waits for them.
//!
//! Nothing is repeated and nothing is reconnected: what such a thing would hide is an error. The process that made a
//! session drops it before the process forks. Not here: what is asked for ([`super::operations`]), how libnfs is called
//! ([`super::library`]).

use std::collections::VecDeque;
use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use super::error;
use super::library::{Answer, Context, Handle, Refused, Reply, Request, library};
use super::location::Location;

/// A server that has not mounted the export after this long is not there.
const MOUNT: Duration = Duration::from_secs(10);

/// How often waiting looks at the clock.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// TCP's attempts to connect: the last of them is given up after seven seconds.
const SYN_RETRIES: u32 = 2;

/// How long a server may be silent while it owes an answer. After a third of that it is asked for a sign of life, which
/// one that is only slow gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// As long as it is there: what is measured must not be cut short.
    AsLongAsItTakes,
    /// A few seconds: a user or a rank waits for the answer.
    Seconds,
}

impl Timeout {
    fn silence(self) -> Duration {
        match self {
            Self::AsLongAsItTakes => Duration::from_secs(30),
            Self::Seconds => Duration::from_secs(6),
        }
    }
}

/// Number of the request for a sign of life.
const SIGN: u64 = u64::MAX;

/// Numbers of requests that are awaited one by one begin here; transfers have those below.
const FIRST_CALL: u64 = 1 << 32;

/// A mounted export.
pub struct Session {
    context: Context,
    host: String,
    root: Handle,
    silence: Duration,
    next_call: u64,
    /// Requests that are not answered.
    under_way: usize,
    /// When the server last gave an answer, or began to owe one.
    last_sign: Instant,
    asked_for_sign: bool,
    /// Why nothing is sent or awaited any more.
    broken: Option<String>,
    arrived: VecDeque<Answer>,
    /// Requests for whole files that moved fewer bytes than asked, and whose rest was moved by another one.
    pub(super) short_transfers: u64,
}

impl Session {
    /// Mounts `location`.
    pub fn mounted(location: &Location, timeout: Timeout) -> io::Result<Self> {
        let context = Context::new(library()?, &settings(location)?)?;
        let (host, export) = (location.authority().to_owned(), location.export());
        mount(&context, &host, &export)?;
        Ok(Self {
            root: context.root(),
            context,
            host,
            silence: timeout.silence(),
            next_call: FIRST_CALL,
            under_way: 0,
            last_sign: Instant::now(),
            asked_for_sign: false,
            broken: None,
            arrived: VecDeque::new(),
            short_transfers: 0,
        })
    }

    /// The directory that was mounted.
    pub fn root(&self) -> Handle {
        self.root
    }

    /// Most bytes that one READ, and one WRITE, moves.
    pub(super) fn most_bytes(&self) -> (usize, usize) {
        self.context.most_bytes()
    }

    /// Sends a request and waits for its answer. Answers of transfers that come meanwhile are kept.
    pub(super) fn call(&mut self, request: &Request<'_>) -> io::Result<Reply> {
        let number = self.next_call;
        self.next_call += 1;
        self.send(number, request)?;
        loop {
            self.advance()?;
            if let Some(index) = self.arrived.iter().position(|(arrived, _)| *arrived == number) {
                let answer = self.arrived.remove(index).expect("its place was just found");
                return answer.1.map_err(Refused::into_io);
            }
        }
    }

    /// Hands over a part of transfer number `transfer`, to be sent with the next wait.
    pub(super) fn begin(&mut self, transfer: u32, request: &Request<'_>) -> io::Result<()> {
        self.send(transfer.into(), request)
    }

    /// Sends what was begun.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.usable()?;
        self.context.flush().map_err(|error| self.break_with(error.to_string()))
    }

    /// An answer to a part of a transfer that has come: the number of the transfer, and the part's result.
    pub(super) fn arrived(&mut self) -> Option<(u32, Result<Reply, Refused>)> {
        let (transfer, answer) = self.arrived.pop_front()?;
        Some((transfer as u32, answer))
    }

    /// Sends what was begun and waits for answers, for at most a moment.
    pub(super) fn advance(&mut self) -> io::Result<()> {
        self.flush()?;
        if let Err(error) = self.context.wait(POLL_INTERVAL) {
            return Err(self.break_with(error.to_string()));
        }
        let now = Instant::now();
        let mut answered = false;
        while let Some((number, answer)) = self.context.next_answer() {
            answered = true;
            self.under_way -= 1;
            if number == SIGN {
                self.asked_for_sign = false;
            } else {
                self.arrived.push_back((number, answer));
            }
        }
        if answered {
            self.last_sign = now;
            return Ok(());
        }
        self.demand_sign(now.saturating_duration_since(self.last_sign))
    }

    fn send(&mut self, number: u64, request: &Request<'_>) -> io::Result<()> {
        self.usable()?;
        if self.under_way == 0 {
            self.last_sign = Instant::now();
        }
        self.context.send(number, request)?;
        self.under_way += 1;
        Ok(())
    }

    #[cold]
    fn demand_sign(&mut self, silent: Duration) -> io::Result<()> {
        if silent >= self.silence {
            let what = format!("no reply and no network activity for {} s", self.silence.as_secs());
            return Err(self.break_with(what));
        }
        if silent >= self.silence / 3 && !self.asked_for_sign {
            self.asked_for_sign = true;
            self.send(SIGN, &Request::Null)?;
        }
        Ok(())
    }

    fn usable(&self) -> io::Result<()> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(error::silent(&self.host, why)),
        }
    }

    /// From now on libnfs is not called any more, so that it touches no memory of those who no longer wait.
    #[cold]
    fn break_with(&mut self, why: String) -> io::Error {
        let error = error::silent(&self.host, &why);
        self.broken = Some(why);
        error
    }
}

/// The options of a location, and those that are the same for all, as libnfs takes them.
fn settings(location: &Location) -> io::Result<CString> {
    let options: String = location.options().map(|(key, value)| format!("&{key}={value}")).collect();
    let query = format!("version=3&autoreconnect=0&auto-traverse-mounts=0&tcp-syncnt={SYN_RETRIES}{options}");
    Ok(CString::new(format!("nfs://{}/?{query}", location.authority()))?)
}

fn mount(context: &Context, host: &str, export: &str) -> io::Result<()> {
    let failed = |errno, message: &str| error::cannot_mount(host, export, errno, message);
    let names = (CString::new(host)?, CString::new(export)?);
    context.mount(&names.0, &names.1).map_err(|error| failed(0, &error.to_string()))?;
    let begin = Instant::now();
    loop {
        let waited = context.wait(POLL_INTERVAL);
        match (context.mounted(), waited) {
            (Some(0), _) => return Ok(()),
            (Some(status), _) => return Err(failed(-status, &context.error())),
            (None, Err(error)) => return Err(failed(0, &error.to_string())),
            (None, Ok(())) if begin.elapsed() > MOUNT => {
                return Err(failed(0, &format!("no reply for {} s", MOUNT.as_secs())));
            }
            (None, Ok(())) => {}
        }
    }
}
