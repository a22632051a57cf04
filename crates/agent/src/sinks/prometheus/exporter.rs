//! An exporter: Prometheus asks for `/metrics`, on loopback or through a Unix socket. Nothing else is answered.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::setup::SeriesLimits;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::series::{Labels, Meaning, Series};
use crate::sinks::{Encoder, Payload, Refusal, Sink, SinkError, Transport};

/// Longest time that a client may take to ask and to read.
const CONNECTION: Duration = Duration::from_secs(5);
/// Connections at a time.
const CONNECTIONS: usize = 8;
/// In the end, Prometheus has so long to ask for the last values: less than an agent has for its last delivery.
const LAST_SCRAPE: Duration = Duration::from_secs(4);

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text";
const OPEN_METRICS_ANSWER: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The sink, which listens from now on.
pub fn open(listen: &str, limits: SeriesLimits, node: &str) -> Result<Sink, SinkError> {
    let fault = |what: String| {
        SinkError(format!(
            "the exporter cannot listen on {listen}: {what}; name a loopback address with a port (127.0.0.1:9464), or the \
             path of a Unix socket"
        ))
    };
    let (listener, socket) = if listen.starts_with('/') {
        let (socket, listener) = Socket::bind(Path::new(listen)).map_err(fault)?;
        (Listener::Unix(listener), Some(socket))
    } else {
        let address: SocketAddr = listen.parse().map_err(|_| fault("it is no address with a port".to_owned()))?;
        if !address.ip().is_loopback() {
            return Err(fault("others could reach it".to_owned()));
        }
        (Listener::Loopback(TcpListener::bind(address).map_err(|error| fault(error.to_string()))?), None)
    };
    let scraped = Arc::new(Scraped::of(Series::of(node, limits)));
    let stop = serve(listener, Arc::clone(&scraped)).map_err(|error| fault(error.to_string()))?;
    Ok(Sink {
        name: format!("exporter for Prometheus on {listen}"),
        directory: "prometheus-exporter".to_owned(),
        encoder: Box::new(Exporter { scraped, last_scrape: LAST_SCRAPE, _stop: stop, _socket: socket }),
        transport: Box::new(NotScraped),
    })
}

/// What Prometheus asks for.
struct Scraped {
    state: Mutex<ScrapeState>,
    asked: Condvar,
}

struct ScrapeState {
    series: Series,
    /// Documents that came since Prometheus last asked.
    unseen: u64,
}

impl Scraped {
    fn of(series: Series) -> Self {
        Self { state: Mutex::new(ScrapeState { series, unseen: 0 }), asked: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, ScrapeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until Prometheus has asked for all that came. Documents for which it did not.
    fn wait(&self, within: Duration) -> u64 {
        let waited = self.asked.wait_timeout_while(self.lock(), within, |state| state.unseen > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.unseen
    }
}

struct Exporter {
    scraped: Arc<Scraped>,
    last_scrape: Duration,
    /// Dropped, it ends the thread that listens.
    _stop: oneshot::Sender<Infallible>,
    _socket: Option<Socket>,
}

impl Encoder for Exporter {
    fn encode(&mut self, documents: &[Document]) -> Vec<Payload> {
        let mut state = self.scraped.lock();
        for document in documents {
            if state.series.is_beyond(document) {
                state.series.advance(document.second);
            }
            state.series.add(document);
        }
        state.unseen += documents.len() as u64;
        Vec::new()
    }

    /// The values of the last seconds are served as long as this waits.
    fn flush(&mut self) -> Vec<Payload> {
        match self.scraped.wait(self.last_scrape) {
            0 => Vec::new(),
            documents => vec![Payload { documents, bytes: documents.to_le_bytes().to_vec() }],
        }
    }
}

/// An exporter is asked, and sends nothing: a payload says for how many documents nobody asked in time.
struct NotScraped;

impl Transport for NotScraped {
    fn send(&mut self, payload: &[u8]) -> Result<(), Refusal> {
        let Ok(documents) = payload.try_into().map(u64::from_le_bytes) else {
            return Err(Refusal::of_another_version());
        };
        let reason = format!(
            "Prometheus did not scrape within {} s of the end; scrape as often, or keep an agent on the node",
            LAST_SCRAPE.as_secs()
        );
        Err(Refusal::Never { reason, documents })
    }
}

enum Listener {
    Loopback(TcpListener),
    Unix(UnixListener),
}

/// The file of a Unix socket, which goes with the agent.
struct Socket {
    path: PathBuf,
    inode: u64,
}

impl Socket {
    /// Takes the place of a socket that nobody listens on any more.
    fn bind(path: &Path) -> Result<(Self, UnixListener), String> {
        match fs::symlink_metadata(path) {
            Ok(about) if !about.file_type().is_socket() => return Err("there is a file that is no socket".to_owned()),
            Ok(_) if UnixStream::connect(path).is_ok() => return Err("another process listens there".to_owned()),
            _ => {}
        }
        let bound = || -> io::Result<_> {
            // It can be reached only once its permissions restrict it to its owner.
            let new = path.with_added_extension(std::process::id().to_string());
            let _ = fs::remove_file(&new);
            let listener = UnixListener::bind(&new)?;
            fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
            fs::rename(&new, path)?;
            Ok((Self { path: path.to_owned(), inode: fs::symlink_metadata(path)?.ino() }, listener))
        };
        bound().map_err(|error| error.to_string())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|about| about.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Starts the thread that listens, until what is returned is dropped.
fn serve(listener: Listener, scraped: Arc<Scraped>) -> io::Result<oneshot::Sender<Infallible>> {
    let (stop, stopped) = oneshot::channel::<Infallible>();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    {
        // Sockets belong to the runtime that is entered.
        let _entered = runtime.enter();
        runtime.spawn(accept(Accepting::of(listener)?, scraped));
    }
    thread::Builder::new().name("exporter".to_owned()).spawn(move || {
        let _ = runtime.block_on(stopped);
    })?;
    Ok(stop)
}

/// A listener within the runtime.
enum Accepting {
    Loopback(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

impl Accepting {
    fn of(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            Listener::Loopback(listener) => {
                listener.set_nonblocking(true)?;
                Self::Loopback(tokio::net::TcpListener::from_std(listener)?)
            }
            Listener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Self::Unix(tokio::net::UnixListener::from_std(listener)?)
            }
        })
    }

    async fn next(&self) -> io::Result<Box<dyn Connection>> {
        Ok(match self {
            Self::Loopback(listener) => Box::new(listener.accept().await?.0),
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

async fn accept(listener: Accepting, scraped: Arc<Scraped>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(connection) = listener.next().await else {
            // No file is left for it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Beyond the limit it is closed at once.
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else { continue };
        let scraped = Arc::clone(&scraped);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = answer(&request, &scraped);
                async move { Ok::<_, Infallible>(answer) }
            });
            let served = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(connection), service);
            let _ = timeout(CONNECTION, served).await;
            drop(permit);
        });
    }
}

fn answer(request: &Request<Incoming>, scraped: &Scraped) -> Response<Full<Bytes>> {
    let status = |status: StatusCode| {
        let mut answer = Response::new(Full::from(status.canonical_reason().unwrap_or_default()));
        *answer.status_mut() = status;
        answer
    };
    if request.uri().path() != "/metrics" {
        return status(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let is_open_metrics = accepted.into_iter().any(|accepted| accepted.contains(OPEN_METRICS));
    let mut state = scraped.lock();
    let mut answer = Response::new(Full::from(text(&mut state.series, is_open_metrics)));
    state.series.reset_greatest();
    state.unseen = 0;
    drop(state);
    scraped.asked.notify_all();
    let form = if is_open_metrics { OPEN_METRICS_ANSWER } else { TEXT };
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form));
    answer
}

/// All series, as Prometheus reads them.
fn text(series: &mut Series, is_open_metrics: bool) -> String {
    let mut metrics: BTreeMap<String, (&str, Meaning, String)> = BTreeMap::new();
    for (name, about, labels, value) in series.about_names() {
        let entry = metrics.entry(name.to_owned()).or_insert((about, Meaning::Level, String::new()));
        entry.2.push_str(&sample(name, &labels, value));
    }
    for (labels, group) in series.groups() {
        for (metric, slot) in group.slots() {
            let Some(value) = slot.value else { continue };
            let entry = metrics.entry(metric.name.clone()).or_insert((metric.about, metric.meaning, String::new()));
            entry.2.push_str(&sample(&metric.name, labels, value));
        }
    }
    let mut text = String::new();
    for (name, (about, meaning, samples)) in metrics {
        // OpenMetrics leaves the ending of counters to their samples.
        let family = if is_open_metrics { name.trim_end_matches("_total") } else { &name };
        let kind = if meaning == Meaning::Counter { "counter" } else { "gauge" };
        text.push_str(&format!("# HELP {family} {}\n# TYPE {family} {kind}\n{samples}", escaped(about)));
    }
    if is_open_metrics {
        text.push_str("# EOF\n");
    }
    text
}

fn sample(name: &str, labels: &Labels, value: u64) -> String {
    let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    format!("{name}{{{}}} {value}\n", labels.join(","))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use ioassay_protocol::watch::kinds::{Io, Job};
    use proptest::prelude::*;
    use tempfile::tempdir;

    use super::*;

    fn series(job: &str) -> Series {
        let mut series = Series::of("n1", SeriesLimits::default());
        series.advance(10);
        for calls in [3, 4] {
            let (node, job) = ("n1".into(), job.into());
            series.add(&Io { node, job, class: "read".into(), calls, slowest_ns: calls, ..Io::default() }.of(10, 0));
        }
        series.add(&Job { node: "n1".into(), job: "8".into(), processes: 2, ..Job::default() }.of(10, 0));
        series
    }

    #[test]
    fn each_metric_is_declared_once_with_its_kind_before_its_samples() {
        let text = text(&mut series("7"), false);
        let calls = "# HELP ioassay_io_calls_total Calls that ended.\n# TYPE ioassay_io_calls_total counter\n\
                     ioassay_io_calls_total{node=\"n1\",job=\"7\",class=\"read\"} 7\n";
        assert!(text.contains(calls), "{text}");
        assert!(text.contains("# TYPE ioassay_io_slowest_ns_max gauge\n"));
        assert!(text.contains("ioassay_folded_names{node=\"n1\",of=\"job\"} 0\n"));
        assert!(text.contains("ioassay_most_names{node=\"n1\",of=\"device\"} 64\n"));
        assert!(text.contains("ioassay_job_processes{node=\"n1\",job=\"8\"} 2\n"));
    }

    #[test]
    fn open_metrics_has_its_own_names_and_an_end() {
        let text = text(&mut series("7"), true);
        assert!(text.contains("# TYPE ioassay_io_calls counter\nioassay_io_calls_total{"), "{text}");
        assert!(text.ends_with("\n# EOF\n"));
    }

    proptest! {
        #[test]
        fn any_text_in_a_label_can_be_read_back(job in "[^\u{0}]{1,60}") {
            let text = text(&mut series(&job), false);
            let line = text.split('\n').find(|line| line.starts_with("ioassay_io_calls_total{")).unwrap();
            let (_, value) = line.split_once("job=\"").unwrap();
            let (mut read, mut letters) = (String::new(), value.chars());
            while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                read.push(match letter {
                    '\\' => match letters.next().unwrap() { 'n' => '\n', other => other },
                    other => other,
                });
            }
            prop_assert_eq!(read, job);
            prop_assert_eq!(letters.as_str(), ",class=\"read\"} 7");
        }
    }

    fn asked(mut connection: impl Read + Write, request: &str) -> String {
        let mut answer = String::new();
        write!(connection, "{request}\r\n\r\n").unwrap();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A port that is free: the sink says on which address it listens only by the setup.
    fn free() -> String {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
    }

    #[test]
    fn only_metrics_are_answered_and_greatest_values_begin_anew() {
        let address = free();
        let mut sink = open(&address, SeriesLimits::default(), "n1").unwrap();
        let job = Io { class: "read".into(), calls: 3, slowest_ns: 9, ..Io::default() };
        assert!(sink.encoder.encode(&[job.of(10, 0)]).is_empty());
        let ask = |request: &str| asked(TcpStream::connect(&address).unwrap(), request);
        let first = ask("GET /metrics HTTP/1.1\r\nHost: x");
        assert!(first.starts_with("HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4"), "{first}");
        assert!(first.contains("ioassay_io_slowest_ns_max{class=\"read\"} 9\n"));
        let second = ask("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;q=0.5,*/*");
        assert!(second.contains("content-type: application/openmetrics-text; version=1.0.0"));
        assert!(
            second.contains("slowest_ns_max{class=\"read\"} 0\n") && second.contains("calls_total{class=\"read\"} 3\n")
        );
        assert!(ask("GET / HTTP/1.1\r\nHost: x").starts_with("HTTP/1.1 404"));
        assert!(ask("POST /metrics HTTP/1.1\r\nHost: x").starts_with("HTTP/1.1 405"));
        drop(sink);
    }

    #[test]
    fn the_last_values_can_be_had_in_the_end_and_what_nobody_asked_for_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let scraped = Arc::new(Scraped::of(Series::of("n1", SeriesLimits::default())));
        let stop = serve(Listener::Loopback(listener), Arc::clone(&scraped)).unwrap();
        // Longer than any test takes.
        let last_scrape = Duration::from_secs(60);
        let mut exporter = Exporter { scraped, last_scrape, _stop: stop, _socket: None };
        let job = |second| Io { class: "read".into(), calls: 3, ..Io::default() }.of(second, 0);
        exporter.encode(&[job(10)]);
        let asks =
            thread::spawn(move || asked(TcpStream::connect(address).unwrap(), "GET /metrics HTTP/1.1\r\nHost: x"));
        assert_eq!(exporter.flush(), []);
        assert!(asks.join().unwrap().contains("calls_total{class=\"read\"} 3\n"));
        assert_eq!(exporter.flush(), [], "nothing came since then");
        exporter.last_scrape = Duration::ZERO;
        exporter.encode(&[job(10), job(11)]);
        let left = exporter.flush();
        assert_eq!(left[0].documents, 2);
        let refused = NotScraped.send(&left[0].bytes).unwrap_err();
        assert!(matches!(refused, Refusal::Never { documents: 2, reason } if reason.contains("did not scrape")));
    }

    #[test]
    fn connections_beyond_the_limit_are_closed_and_idle_ones_cut_off() {
        let address = free();
        let _sink = open(&address, SeriesLimits::default(), "n1").unwrap();
        let mut idle: Vec<_> = (0..CONNECTIONS + 1).map(|_| TcpStream::connect(&address).unwrap()).collect();
        // The last one at once, the others after a while: all without an answer.
        for connection in idle.iter_mut().rev() {
            let ended = connection.read(&mut [0]);
            assert!(matches!(ended, Ok(0) | Err(_)));
        }
        let answer = asked(TcpStream::connect(&address).unwrap(), "GET /metrics HTTP/1.1\r\nHost: x");
        assert!(answer.starts_with("HTTP/1.1 200 OK"));
    }

    #[test]
    fn only_the_agents_user_can_use_its_socket_which_goes_with_it() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("exporter");
        let listen = path.to_str().unwrap();
        // What an agent that was killed left there is in nobody's way.
        drop(UnixListener::bind(&path).unwrap());
        let sink = open(listen, SeriesLimits::default(), "n1").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let answer = asked(UnixStream::connect(&path).unwrap(), "GET /metrics HTTP/1.1\r\nHost: x");
        assert!(answer.starts_with("HTTP/1.1 200 OK"));
        assert!(open(listen, SeriesLimits::default(), "n1").err().unwrap().0.contains("another process listens there"));
        drop(sink);
        assert!(!path.exists());
        fs::write(&path, "thesis").unwrap();
        assert!(open(listen, SeriesLimits::default(), "n1").err().unwrap().0.contains("no socket"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "thesis");
    }

    #[test]
    fn an_address_that_others_can_reach_is_refused() {
        for listen in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "9464", "localhost"] {
            assert!(
                open(listen, SeriesLimits::default(), "n1").err().unwrap().0.contains("127.0.0.1:9464"),
                "{listen}"
            );
        }
    }
}
