//! A blocking client of an object store: an operator, and the one thread that runs its requests.
//!
//! The runtime is this thread's own and runs only while a caller waits. When a client is dropped nothing is
//! left: no thread, no connection. So a process may use one, drop it, and fork.
//! Not here: what is asked for.

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::time::Duration;

use opendal::{HttpTransporter, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;
use tokio::runtime::Runtime;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep};

use super::error;
use super::location::Location;
use super::{protocol, tls};
use crate::failure::Explained;

/// A host that does not answer at all is given up after this long.
const CONNECT: Duration = Duration::from_secs(3);

/// A connection whose peer acknowledges nothing for this long is dead.
const SILENCE: Duration = Duration::from_secs(30);

/// The small requests of a workspace take no longer than this.
pub(super) const HOUSEKEEPING: Duration = Duration::from_secs(10);

/// The pause before a small request of a workspace is repeated; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How often such a request is repeated.
pub const HOUSEKEEPING_RETRIES: u32 = 4;

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// As long as the server is there: what is measured must not be cut short.
    AsLongAsItTakes,
    /// A few seconds: a user or a rank waits for the answer.
    Seconds,
}

/// A client of an object store.
pub struct Client {
    location: Location,
    // Before the runtime, so that connections are closed while there is one.
    operator: Operator,
    runtime: Runtime,
}

impl Client {
    /// A client for `location`. Nothing is sent yet.
    pub fn new(location: Location, timeout: Timeout) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let operator = location.protocol().operator(&location).map_err(Explained::into_io)?;
        let transport = ReqwestTransport::new(http(&location, timeout)?);
        let transport = HttpTransporter::new(transport);
        let operator = operator.with_context(OperationContext::new().with_http_transport(transport));
        Ok(Self { location, operator, runtime })
    }

    /// Where it works.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What makes requests; they run in [`Client::wait`] and [`Client::run`].
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Waits for a request.
    pub fn wait<T>(&self, request: impl Future<Output = opendal::Result<T>>) -> io::Result<T> {
        self.run(request).map_err(|error| self.explain(&error))
    }

    /// Waits for a small request of a workspace, and repeats it as [`repeated`] does.
    pub fn settle<T, F: Future<Output = opendal::Result<T>>>(&self, request: impl FnMut() -> F) -> io::Result<T> {
        self.wait(repeated(request))
    }

    /// Runs whatever needs the runtime.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        run_on(&self.runtime, work)
    }

    /// A failed request, as the user reads it.
    #[cold]
    pub fn explain(&self, error: &opendal::Error) -> io::Error {
        error::explained(error, &self.location)
    }
}

/// Makes a small request of a workspace, again while the server is busy or the connection gets lost, but not for long.
///
/// None of these requests is measured, and a server that throttles would else keep what the run has written.
pub async fn repeated<T, F: Future<Output = opendal::Result<T>>>(mut request: impl FnMut() -> F) -> opendal::Result<T> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    for _ in 0..HOUSEKEEPING_RETRIES {
        let done = request().await;
        let busy = done.as_ref().is_err_and(opendal::Error::is_temporary);
        if !busy || begin.elapsed() + pause > HOUSEKEEPING {
            return done;
        }
        sleep(pause).await;
        pause *= 2;
    }
    request().await
}

/// Runs `work` on a runtime that runs only meanwhile.
///
/// Without tokio's budget: what has used it up is woken when the runtime parks, and never if it ends before. A request
/// that is still in flight then would hang for ever.
pub(super) fn run_on<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    runtime.block_on(unconstrained(work))
}

/// HTTP without anything that would repeat a request or lead it elsewhere: no retries and no proxy.
fn http(location: &Location, timeout: Timeout) -> io::Result<reqwest::Client> {
    // The first one in a process decides; it is always the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut http = reqwest::Client::builder();
    if protocol::has_tls(location) {
        http = http.tls_backend_preconfigured(tls::configuration(location)?);
    }
    let mut http = http
        .retry(reqwest::retry::never())
        .no_proxy()
        .connect_timeout(CONNECT)
        .tcp_keepalive(SILENCE / 3)
        .tcp_user_timeout(SILENCE);
    if timeout == Timeout::Seconds {
        http = http.timeout(HOUSEKEEPING);
    }
    http.build().map_err(cannot_begin)
}

fn cannot_begin(error: impl Display) -> io::Error {
    let remedy = "check that the system's certificates are installed and readable (ca-certificates)".to_owned();
    Explained { what: format!("the HTTP client cannot be set up: {error}"), remedy }.into_io()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use opendal::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_small_request_is_repeated_while_the_server_is_busy_and_not_when_it_refuses() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = Cell::new(0);
        let ask = async |error: fn() -> Error| {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Err(error()) } else { Ok(asked.get()) }
        };
        let busy = || Error::new(ErrorKind::Unexpected, "503").set_temporary();
        assert_eq!(run_on(&runtime, repeated(|| ask(busy))).unwrap(), 3);
        asked.set(0);
        let refused = || Error::new(ErrorKind::PermissionDenied, "403");
        assert!(run_on(&runtime, repeated(|| ask(refused))).is_err());
        assert_eq!(asked.get(), 1);
    }
}
