//! A small S3 server in the test's own process that fails as the test wants: real gateways cannot be asked to.
//!
//! It keeps objects in memory, checks no signature, and asks the test what to do with each request before it does it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What happens to a request.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// It is served.
    Served,
    /// It is served, and the first byte of the answer's body comes so much after its head.
    SlowBody(Duration),
    /// It takes so long until it is served.
    Slow(Duration),
    /// It gets this status, before its body is read.
    Status(u16),
    /// Its connection is reset.
    Reset,
    /// Its answer is cut off in the middle of the body.
    Cut,
}

/// A request, as the test sees it: method, path without the bucket, and query.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub method: String,
    pub key: String,
    pub query: String,
}

impl ReceivedRequest {
    /// True for a part of an upload.
    pub fn is_part(&self) -> bool {
        self.method == "PUT" && self.query.contains("partNumber=")
    }
}

type Decide = Box<dyn FnMut(&ReceivedRequest) -> Fate + Send>;

/// What is in the bucket.
#[derive(Default)]
pub struct Bucket {
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Incomplete uploads by their IDs: key, and parts by number.
    pub uploads: BTreeMap<String, (String, BTreeMap<u32, Vec<u8>>)>,
    /// All requests.
    pub requests: Vec<ReceivedRequest>,
    /// Requests in service now, by what the test counts together, and the most that ever were.
    now: usize,
    /// As of some servers: a prefix that is not all of a key finds no upload.
    pub lists_whole_keys_alone: bool,
    pub most_parts_at_once: usize,
    pub most_reads_at_once: usize,
    begun: u32,
}

/// The server; it serves as long as the test's process lives.
pub struct ObjectServer {
    pub port: u16,
    pub bucket: Arc<Mutex<Bucket>>,
}

impl ObjectServer {
    /// Serves, and lets `decide` say the fate of each request.
    pub fn start(decide: impl FnMut(&ReceivedRequest) -> Fate + Send + 'static) -> Self {
        Self::serving(decide, None)
    }

    /// Serves everything over TLS, with the key and the certificate of these PEM files.
    pub fn secured(key: &Path, certificate: &Path) -> Self {
        let certificates = CertificateDer::pem_file_iter(certificate).unwrap().map(Result::unwrap).collect();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, PrivateKeyDer::from_pem_file(key).unwrap())
            .unwrap();
        Self::serving(|_| Fate::Served, Some(Arc::new(tls)))
    }

    fn serving(decide: impl FnMut(&ReceivedRequest) -> Fate + Send + 'static, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bucket = Arc::new(Mutex::new(Bucket::default()));
        let decide: Arc<Mutex<Decide>> = Arc::new(Mutex::new(Box::new(decide)));
        let served = Arc::clone(&bucket);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (bucket, decide) = (Arc::clone(&served), Arc::clone(&decide));
                let tls = tls.clone().map(|tls| ServerConnection::new(tls).unwrap());
                thread::spawn(move || {
                    let tcp = stream.try_clone().unwrap();
                    match tls {
                        None => serve_all(&mut BufReader::new(stream), &tcp, &bucket, &decide),
                        Some(tls) => {
                            serve_all(&mut BufReader::new(StreamOwned::new(tls, stream)), &tcp, &bucket, &decide);
                        }
                    }
                });
            }
        });
        Self { port, bucket }
    }

    /// Where it is.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A target on it.
    pub fn url(&self) -> String {
        format!("s3://bucket/some?endpoint={}", self.endpoint())
    }

    /// Keys of all objects.
    pub fn keys(&self) -> BTreeSet<String> {
        self.bucket.lock().unwrap().objects.keys().cloned().collect()
    }
}

fn serve_all<S: Read + Write>(
    stream: &mut BufReader<S>,
    tcp: &TcpStream,
    bucket: &Mutex<Bucket>,
    decide: &Mutex<Decide>,
) {
    while serve(stream, tcp, bucket, decide).is_some() {}
}

/// Serves one request; `None` where the connection is over.
fn serve<S: Read + Write>(
    reader: &mut BufReader<S>,
    tcp: &TcpStream,
    bucket: &Mutex<Bucket>,
    decide: &Mutex<Decide>,
) -> Option<()> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let key = path.trim_start_matches("/bucket").trim_start_matches('/').to_owned();
    let (mut length, mut range) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if let Some((from, to)) = header.strip_prefix("range: bytes=").and_then(|value| value.split_once('-')) {
            range = Some((from.parse().ok()?, to.parse().ok()?));
        }
    }
    let asked = ReceivedRequest { method, key, query: query.to_owned() };
    let fate = decide.lock().unwrap()(&asked);
    let counted = asked.is_part() || range.is_some();
    {
        let mut bucket = bucket.lock().unwrap();
        bucket.requests.push(asked.clone());
        bucket.now += usize::from(counted);
        let now = bucket.now;
        let most = if asked.is_part() { &mut bucket.most_parts_at_once } else { &mut bucket.most_reads_at_once };
        *most = now.max(*most);
    }
    if let Fate::Slow(time) = fate {
        thread::sleep(time);
    }
    let answer = match fate {
        Fate::Reset | Fate::Status(_) => None,
        _ => {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            Some(answer(&asked, &body, range, &mut bucket.lock().unwrap()))
        }
    };
    bucket.lock().unwrap().now -= usize::from(counted);
    let stream = reader.get_mut();
    match (fate, answer) {
        (Fate::Reset, _) => {
            // With data that nobody has read, closing is a reset.
            nix::sys::socket::setsockopt(
                &tcp,
                nix::sys::socket::sockopt::Linger,
                &libc::linger { l_onoff: 1, l_linger: 0 },
            )
            .unwrap();
            None
        }
        (Fate::Status(status), _) => {
            let code = if status == 503 { "SlowDown" } else { "AccessDenied" };
            let body = format!("<Error><Code>{code}</Code><Message>As the test wants it.</Message></Error>");
            let _ = write!(
                stream,
                "HTTP/1.1 {status} Busy\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // So that the answer is read although the request was not.
            let _ = tcp.shutdown(Shutdown::Write);
            let _ = std::io::copy(stream, &mut std::io::sink());
            None
        }
        (_, Some((status, headers, body))) => {
            write!(stream, "HTTP/1.1 {status} Status\r\n{headers}").ok()?;
            if !headers.contains("content-length") {
                write!(stream, "content-length: {}\r\n", body.len()).ok()?;
            }
            stream.write_all(b"\r\n").ok()?;
            match fate {
                Fate::SlowBody(time) => thread::sleep(time),
                Fate::Cut => {
                    stream.write_all(&body[..body.len() / 2]).ok()?;
                    tcp.shutdown(Shutdown::Both).ok()?;
                    return None;
                }
                _ => {}
            }
            stream.write_all(&body).ok()
        }
        _ => None,
    }
}

fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn unescaped(text: &str) -> String {
    text.replace("%2F", "/")
}

/// The status, further headers and the body of an answer.
fn answer(
    asked: &ReceivedRequest,
    body: &[u8],
    range: Option<(usize, usize)>,
    bucket: &mut Bucket,
) -> (u16, String, Vec<u8>) {
    let ReceivedRequest { method, key, query } = asked;
    let none = String::new();
    let upload = value(query, "uploadId").map(str::to_owned);
    match (method.as_str(), upload) {
        ("PUT", Some(upload)) => {
            let number: u32 = value(query, "partNumber").unwrap().parse().unwrap();
            let Some((_, parts)) = bucket.uploads.get_mut(&upload) else { return (404, none, Vec::new()) };
            parts.insert(number, body.to_vec());
            (200, format!("ETag: \"{number}\"\r\n"), Vec::new())
        }
        ("POST", Some(upload)) => {
            let Some((key, parts)) = bucket.uploads.remove(&upload) else {
                return (404, none, b"<Error><Code>NoSuchUpload</Code></Error>".to_vec());
            };
            let named = String::from_utf8_lossy(body).matches("<PartNumber>").count();
            assert_eq!(named, parts.len(), "every part is named, and none twice");
            bucket.objects.insert(key, parts.into_values().flatten().collect());
            (200, none, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>".to_vec())
        }
        ("DELETE", Some(upload)) => {
            let status = if bucket.uploads.remove(&upload).is_some() { 204 } else { 404 };
            (status, none, Vec::new())
        }
        ("POST", None) if query.contains("uploads") => {
            bucket.begun += 1;
            let id = format!("upload-{}", bucket.begun);
            bucket.uploads.insert(id.clone(), (key.clone(), BTreeMap::new()));
            let body =
                format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>");
            (200, none, body.into_bytes())
        }
        ("POST", None) => {
            let text = String::from_utf8_lossy(body);
            for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>")) {
                bucket.objects.remove(key.0);
            }
            (200, none, b"<DeleteResult></DeleteResult>".to_vec())
        }
        ("PUT", None) => {
            bucket.objects.insert(key.clone(), body.to_vec());
            (200, "ETag: \"whole\"\r\n".to_owned(), Vec::new())
        }
        ("DELETE", None) => {
            bucket.objects.remove(key);
            (204, none, Vec::new())
        }
        ("HEAD", None) => match bucket.objects.get(key) {
            Some(object) => (200, format!("content-length: {}\r\n", object.len()), Vec::new()),
            None => (404, none, Vec::new()),
        },
        ("GET", None) if key.is_empty() => {
            let prefix = unescaped(value(query, "prefix").unwrap_or_default());
            if query.split('&').any(|pair| pair.starts_with("uploads")) {
                let mut list = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>".to_owned();
                let whole = bucket.lists_whole_keys_alone;
                let is_listed = |key: &str| if whole { key == prefix } else { key.starts_with(&prefix) };
                for (id, (key, _)) in bucket.uploads.iter().filter(|(_, (key, _))| is_listed(key)) {
                    list += &format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload>");
                }
                return (200, none, (list + "</ListMultipartUploadsResult>").into_bytes());
            }
            let mut list = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_owned();
            for (key, object) in bucket.objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
                list += &format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>e</ETag>\
                     <Size>{}</Size></Contents>",
                    object.len()
                );
            }
            (200, none, (list + "</ListBucketResult>").into_bytes())
        }
        ("GET", None) => match (bucket.objects.get(key), range) {
            (None, _) => (404, none, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            (Some(object), None) => (200, none, object.clone()),
            (Some(object), Some((from, _))) if from >= object.len() => (416, none, Vec::new()),
            (Some(object), Some((from, to))) => (206, none, object[from..object.len().min(to + 1)].to_vec()),
        },
        _ => (501, none, Vec::new()),
    }
}
