//! HTTP/1.1 to one endpoint: connections that stay open, and bodies that go from and to the caller's memory.
//!
//! A general client copies each body once more and wakes for every piece of it; for reads of a mebibyte that was half of
//! the processor time. Here a body is sent from where it lies, and an answer's body is received where it belongs.
//! Not here: what is asked for, signatures, retries.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use nix::sys::socket::{MsgFlags, recv, setsockopt, sockopt};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Url;

/// A host that does not answer at all is given up after this long.
const CONNECT: Duration = Duration::from_secs(3);

/// A connection whose peer acknowledges nothing for this long is dead.
const SILENCE: Duration = Duration::from_secs(30);

/// The longest head of an answer.
const LONGEST_HEAD: usize = 64 << 10;

/// The longest body that is no object: a listing of a thousand uploads is shorter.
const LONGEST_TEXT: usize = 4 << 20;

/// Header lines of an answer.
const MOST_HEADERS: usize = 100;

/// A wake-up for every piece that arrives costs more than copying it: larger rests are awaited in pieces of this size.
const PIECE: usize = 256 << 10;

/// A server, and the connections to it that no request uses.
pub struct Endpoint {
    url: String,
    /// What the `Host` of requests is.
    host: String,
    addresses: Vec<SocketAddr>,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: RefCell<Vec<Wire>>,
}

/// What is sent: the head, with its empty line, and the body.
pub struct Request<'a> {
    /// From the request line to the empty line.
    pub head: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// An answer whose body is still to come.
pub struct Answer<'a> {
    endpoint: &'a Endpoint,
    wire: Wire,
    /// The status.
    pub status: u16,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Its `Content-Length`.
    pub length: Option<u64>,
    framing: Framing,
    /// The connection can be used again once the body has been read.
    reusable: bool,
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClosed,
}

impl Endpoint {
    /// The server at `url`, whose name is resolved now and never again. `host` is what requests call it.
    pub fn resolve(url: &str, host: &str, tls: impl FnOnce() -> io::Result<ClientConfig>) -> io::Result<Self> {
        let parsed = Url::parse(url).map_err(io::Error::other)?;
        let name = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = parsed.port_or_known_default().unwrap_or(80);
        let addresses: Vec<SocketAddr> = (name.as_str(), port).to_socket_addrs()?.collect();
        let tls = match parsed.scheme() {
            "https" => {
                let name = ServerName::try_from(name).map_err(io::Error::other)?;
                Some((TlsConnector::from(Arc::new(tls()?)), name))
            }
            _ => None,
        };
        Ok(Self { url: url.to_owned(), host: host.to_owned(), addresses, tls, idle: RefCell::default() })
    }

    /// Its URL, as the user wrote it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What requests call it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Sends a request and returns the head of its answer. `answers_head`: the answer has no body.
    pub async fn send(&self, request: Request<'_>, answers_head: bool) -> io::Result<Answer<'_>> {
        let mut wire = match self.idle_wire() {
            Some(wire) => wire,
            None => self.connect().await?,
        };
        let sent = wire.send(request).await;
        // A server that refuses a body before it has read it answers first and then closes.
        let (status, head) = match wire.answer_head().await {
            Ok(answer) => answer,
            Err(error) => return Err(sent.err().unwrap_or(error)),
        };
        let framing = if answers_head || matches!(status, 204 | 304) { Framing::Length(0) } else { head.framing };
        let reusable = matches!(sent, Ok(true)) && head.keeps && framing != Framing::UntilClosed;
        let Head { etag, retry_after, length, .. } = head;
        Ok(Answer { endpoint: self, wire, status, etag, retry_after, length, framing, reusable })
    }

    /// A connection that nobody uses, and that the server has not closed in the meantime.
    fn idle_wire(&self) -> Option<Wire> {
        let mut idle = self.idle.borrow_mut();
        loop {
            let wire = idle.pop()?;
            if wire.is_quiet() {
                return Some(wire);
            }
        }
    }

    async fn connect(&self) -> io::Result<Wire> {
        let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for &address in &self.addresses {
            match timeout(CONNECT, self.connect_to(address)).await {
                Ok(Ok(wire)) => return Ok(wire),
                Ok(Err(error)) => failed = error,
                Err(_) => failed = io::Error::new(io::ErrorKind::TimedOut, "connecting timed out"),
            }
        }
        Err(failed)
    }

    async fn connect_to(&self, address: SocketAddr) -> io::Result<Wire> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        setsockopt(&stream, sockopt::KeepAlive, &true)?;
        let seconds = SILENCE.as_secs() as u32 / 3;
        setsockopt(&stream, sockopt::TcpKeepIdle, &seconds)?;
        setsockopt(&stream, sockopt::TcpKeepInterval, &seconds)?;
        setsockopt(&stream, sockopt::TcpKeepCount, &2)?;
        setsockopt(&stream, sockopt::TcpUserTimeout, &(SILENCE.as_millis() as u32))?;
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some((connector, name)) => Stream::Tls(Box::new(connector.connect(name.clone(), stream).await?)),
        };
        Ok(Wire { stream, ahead: Vec::new() })
    }
}

impl Answer<'_> {
    /// Receives the body into `data` and returns its length, and when its first byte was there. A body that is longer is
    /// an error.
    pub async fn receive(mut self, data: &mut [u8]) -> io::Result<(usize, Instant)> {
        let Framing::Length(length) = self.framing else {
            if self.wire.ahead.is_empty() {
                self.wire.read_ahead().await?;
            }
            let first = Instant::now();
            let body = self.body(data.len()).await?;
            data[..body.len()].copy_from_slice(&body);
            self.give_back();
            return Ok((body.len(), first));
        };
        let length = usize::try_from(length).map_err(|_| too_long())?;
        let data = data.get_mut(..length).ok_or_else(too_long)?;
        let mut received = self.wire.take_ahead(data);
        let mut first = (received > 0).then(Instant::now);
        let mut lowest = 1;
        while received < length {
            // Not before the first byte: its time is measured.
            let piece = if first.is_some() { (length - received).min(PIECE) } else { 1 };
            if piece == PIECE || lowest > piece {
                self.wire.wait_for(piece.max(1), &mut lowest);
            }
            match self.wire.read(&mut data[received..]).await? {
                0 => return Err(cut_off()),
                bytes => received += bytes,
            }
            first.get_or_insert_with(Instant::now);
        }
        self.wire.wait_for(1, &mut lowest);
        self.give_back();
        Ok((length, first.unwrap_or_else(Instant::now)))
    }

    /// Receives the body as a text.
    pub async fn into_text(mut self) -> io::Result<String> {
        let text = self.body(LONGEST_TEXT).await?;
        self.give_back();
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The body, which has at most so many bytes.
    async fn body(&mut self, most: usize) -> io::Result<Vec<u8>> {
        match self.framing {
            Framing::Length(length) => {
                let length = usize::try_from(length).ok().filter(|&length| length <= most);
                self.wire.take(length.ok_or_else(too_long)?).await
            }
            Framing::Chunked => self.wire.chunks(most).await,
            Framing::UntilClosed => self.wire.rest(most).await,
        }
    }

    fn give_back(self) {
        if self.reusable && self.wire.ahead.is_empty() {
            self.endpoint.idle.borrow_mut().push(self.wire);
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the answer is longer than what was asked for")
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed before the end of the answer")
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the server's answer is not valid HTTP/1.1: {what}"))
}

/// What of an answer's head is of interest.
#[derive(Debug)]
struct Head {
    etag: Option<String>,
    retry_after: Option<u64>,
    length: Option<u64>,
    framing: Framing,
    keeps: bool,
}

impl Head {
    fn of(parsed: &httparse::Response<'_, '_>) -> io::Result<Self> {
        let header = |name: &str| {
            let field = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(field.value).ok().map(str::trim)
        };
        let length = header("content-length").map(|length| length.parse().map_err(|_| malformed("its length")));
        let length = length.transpose()?;
        let chunked = header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        let framing = match length {
            _ if chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClosed,
        };
        let keeps = match header("connection") {
            Some(connection) if connection.eq_ignore_ascii_case("close") => false,
            Some(connection) if connection.eq_ignore_ascii_case("keep-alive") => true,
            _ => parsed.version == Some(1),
        };
        let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
        Ok(Self { etag: header("etag").map(str::to_owned), retry_after, length, framing, keeps })
    }
}

/// A connection.
struct Wire {
    stream: Stream,
    /// What has been received and not been taken.
    ahead: Vec<u8>,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>, from: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, from),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, from),
        }
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }
}

impl Wire {
    /// True if the server has neither closed it nor said anything unasked.
    fn is_quiet(&self) -> bool {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        matches!(recv(self.stream.tcp().as_raw_fd(), &mut [0], flags), Err(nix::errno::Errno::EAGAIN))
    }

    /// Sends head and body. False if the server answered before all of it was sent.
    async fn send(&mut self, request: Request<'_>) -> io::Result<bool> {
        let (mut head, mut body) = (request.head.as_bytes(), request.body);
        let stream = &mut self.stream;
        poll_fn(|context| {
            while !head.is_empty() || !body.is_empty() {
                let sent = match stream.poll_write(context, &[IoSlice::new(head), IoSlice::new(body)]) {
                    Poll::Ready(sent) => sent?,
                    Poll::Pending => {
                        // Of TLS something may be there to read that is no answer.
                        let Stream::Plain(plain) = &*stream else { return Poll::Pending };
                        ready!(plain.poll_read_ready(context))?;
                        return Poll::Ready(Ok(false));
                    }
                };
                if sent == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                let of_head = sent.min(head.len());
                (head, body) = (&head[of_head..], &body[sent - of_head..]);
            }
            stream.poll_flush(context).map_ok(|()| true)
        })
        .await
    }

    async fn read(&mut self, data: &mut [u8]) -> io::Result<usize> {
        let mut into = ReadBuf::new(data);
        poll_fn(|context| self.stream.poll_read(context, &mut into)).await?;
        Ok(into.filled().len())
    }

    /// The next read waits for so many bytes, or the end.
    fn wait_for(&self, bytes: usize, now: &mut usize) {
        if bytes != *now && matches!(self.stream, Stream::Plain(_)) {
            // Without it reads return earlier, and that is all.
            let low_water = bytes as libc::c_int;
            // SAFETY: the pointer and the size are those of an integer that lives.
            unsafe {
                libc::setsockopt(
                    self.stream.tcp().as_fd().as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_RCVLOWAT,
                    (&raw const low_water).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                );
            }
            *now = bytes;
        }
    }

    /// Reads more of what is to come into `ahead`.
    async fn read_ahead(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        let bytes = self.read(&mut piece).await?;
        if bytes == 0 {
            return Err(cut_off());
        }
        self.ahead.extend_from_slice(&piece[..bytes]);
        Ok(())
    }

    /// Moves what is `ahead` to `data`, as far as it goes.
    fn take_ahead(&mut self, data: &mut [u8]) -> usize {
        let bytes = self.ahead.len().min(data.len());
        data[..bytes].copy_from_slice(&self.ahead[..bytes]);
        self.ahead.drain(..bytes);
        bytes
    }

    /// The status and the head of the next answer that is a final one.
    async fn answer_head(&mut self) -> io::Result<(u16, Head)> {
        loop {
            if let Some((bytes, status, head)) = parse_head(&self.ahead)? {
                self.ahead.drain(..bytes);
                if status >= 200 {
                    return Ok((status, head));
                }
            } else if self.ahead.len() > LONGEST_HEAD {
                return Err(malformed("its head is too long"));
            } else {
                self.read_ahead().await?;
            }
        }
    }

    async fn take(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        while self.ahead.len() < bytes {
            self.read_ahead().await?;
        }
        let rest = self.ahead.split_off(bytes);
        Ok(std::mem::replace(&mut self.ahead, rest))
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.ahead.iter().position(|&byte| byte == b'\n') {
                let line = self.take(end + 1).await?;
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.ahead.len() > LONGEST_HEAD {
                return Err(malformed("a line is too long"));
            }
            self.read_ahead().await?;
        }
    }

    async fn chunks(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| malformed("the size of a chunk"))?;
            if text.len().saturating_add(size) > most {
                return Err(too_long());
            }
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(text);
            }
            text.extend(self.take(size).await?);
            self.line().await?;
        }
    }

    async fn rest(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut piece = [0; 4096];
        loop {
            match self.read(&mut piece).await? {
                0 => return Ok(std::mem::take(&mut self.ahead)),
                bytes => self.ahead.extend_from_slice(&piece[..bytes]),
            }
            if self.ahead.len() > most {
                return Err(too_long());
            }
        }
    }
}

/// The length of a head, its status and what it says, if it is complete.
fn parse_head(received: &[u8]) -> io::Result<Option<(usize, u16, Head)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut headers);
    match parsed.parse(received).map_err(|error| malformed(&error.to_string()))? {
        httparse::Status::Partial => Ok(None),
        httparse::Status::Complete(bytes) => Ok(Some((bytes, parsed.code.unwrap_or_default(), Head::of(&parsed)?))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// What a request gets from a server that gives these answers, one on each of its connections: status and body.
    fn asked(answers: &'static [&'static str], bytes: usize) -> Vec<io::Result<(u16, String)>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 1000]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ask = async || {
            // Of its own for each: the server ends a connection while the next request may already be on it.
            let endpoint = Endpoint::resolve(&url, "host", || unreachable!()).unwrap();
            let request = Request { head: "GET / HTTP/1.1\r\nhost: host\r\n\r\n", body: b"" };
            let answer = endpoint.send(request, false).await?;
            let (status, mut data) = (answer.status, vec![0; bytes]);
            let (received, _) = answer.receive(&mut data).await?;
            Ok((status, String::from_utf8(data[..received].to_vec()).unwrap()))
        };
        let received = answers.iter().map(|_| runtime.block_on(ask())).collect();
        server.join().unwrap();
        received
    }

    #[test]
    fn a_body_ends_as_its_head_says_and_the_head_may_come_after_another() {
        let received = asked(
            &[
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial\r\ncontent-length: 4\r\n\r\nbody",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nbod\r\n1\r\ny\r\n0\r\ntrailer: x\r\n\r\n",
                "HTTP/1.0 200 OK\r\n\r\nbody",
            ],
            4,
        );
        let received: Vec<_> = received.into_iter().map(Result::unwrap).collect();
        assert_eq!(received, [206, 200, 200].map(|status| (status, "body".to_owned())));
    }

    #[test]
    fn an_answer_that_is_cut_off_too_long_or_no_http_is_an_error() {
        let received = asked(
            &[
                "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbo",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nbo",
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlonge",
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nlonge\r\n0\r\n\r\n",
                "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
                "SSH-2.0-OpenSSH_9.2\r\n",
            ],
            4,
        );
        let kinds = received.into_iter().map(|answer| answer.unwrap_err().kind()).collect::<Vec<_>>();
        let (cut, wrong) = (io::ErrorKind::UnexpectedEof, io::ErrorKind::InvalidData);
        assert_eq!(kinds, [cut, cut, wrong, wrong, wrong, wrong]);
    }
}
