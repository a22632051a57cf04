//! The requests of S3, each with its answer.

use std::cell::RefCell;
use std::fmt::Write;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::sleep;

use super::fault::{ErrorAnswer, Fault};
use super::http::{Answer, Endpoint, Request};
use super::signature::{Signer, encoded};
use crate::latencies::Latencies;
use crate::storage::RequestCounts;
use crate::storage::memory::Memory;
use crate::workload::random::SplitMix64;

/// The first pause before a request is repeated; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause, whatever the server asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// An S3 server as one rank asks it.
pub struct Requests {
    endpoint: Endpoint,
    /// What keys come after in a path: `/` or `/bucket/`.
    root: String,
    /// `None`: nothing is signed.
    signer: Option<RefCell<Signer>>,
    /// How often a request is repeated before its error counts.
    retries: u32,
    random: RefCell<SplitMix64>,
    counts: RefCell<RequestCounts>,
}

/// What is asked for, beside the body.
#[derive(Clone, Copy)]
struct Call<'a> {
    method: &'static str,
    key: &'a str,
    /// Encoded, its keys ascending.
    query: &'a str,
    /// A header line with its end, or nothing.
    header: &'a str,
}

/// An incomplete multipart upload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Upload {
    /// The key that the object will have.
    pub key: String,
    /// Its ID.
    pub upload_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Initiated {
    upload_id: String,
}

/// A page of incomplete uploads.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Uploads {
    is_truncated: bool,
    next_key_marker: String,
    next_upload_id_marker: String,
    upload: Vec<Upload>,
}

impl Requests {
    /// Requests to `endpoint` for keys below `root`, repeated up to `retries` times. `seed` is of the pauses.
    pub fn new(endpoint: Endpoint, root: String, signer: Option<Signer>, retries: u32, seed: u64) -> Self {
        let (signer, random) = (signer.map(RefCell::new), RefCell::new(SplitMix64::keyed(&[seed])));
        Self { endpoint, root, signer, retries, random, counts: RefCell::default() }
    }

    /// The server's URL.
    pub fn endpoint(&self) -> &str {
        self.endpoint.url()
    }

    /// How often a request is repeated before its error counts.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// What was counted since this was last asked for.
    pub fn take_counts(&self) -> RequestCounts {
        self.counts.take()
    }

    /// Writes an object in one request.
    pub async fn put(&self, key: &str, body: Memory) -> Result<(), Fault> {
        self.again_if_temporary(async || self.text(Call::of("PUT", key), body).await.map(drop)).await
    }

    /// Reads into all of `into` from `offset` on, and returns how many bytes the object had for it.
    pub async fn get(&self, key: &str, offset: u64, into: Memory) -> Result<usize, Fault> {
        let begin = Instant::now();
        let header = format!("range: bytes={offset}-{}\r\n", offset + into.bytes() as u64 - 1);
        let call = Call { header: &header, ..Call::of("GET", key) };
        self.again_if_temporary(async || {
            let answer = self.send(call, Memory::NOTHING).await?;
            match answer.status {
                206 => {}
                200 if offset == 0 => {}
                // The object ends before the range begins.
                416 => return Ok(0),
                200 => return Err(Fault::Unexpected("the server ignores the range of a GET".to_owned())),
                _ => return Err(error_of(answer).await),
            }
            // SAFETY: buffers outlive the connection, and this one is ours until the transfer has ended.
            let (bytes, first) = answer.receive(unsafe { into.slice_mut() }).await.map_err(Fault::Lost)?;
            let first_ns = first.saturating_duration_since(begin).as_nanos() as u64;
            self.counts.borrow_mut().first_byte.get_or_insert_with(Latencies::default).record(first_ns);
            Ok(bytes)
        })
        .await
    }

    /// The size of an object.
    pub async fn head(&self, key: &str) -> Result<u64, Fault> {
        self.again_if_temporary(async || {
            let answer = self.send(Call::of("HEAD", key), Memory::NOTHING).await?;
            let (status, length) = (answer.status, answer.length.unwrap_or(0));
            if status == 200 {
                answer.into_text().await.map_err(Fault::Lost)?;
                return Ok(length);
            }
            Err(error_of(answer).await)
        })
        .await
    }

    /// Deletes an object.
    pub async fn delete(&self, key: &str) -> Result<(), Fault> {
        self.again_if_temporary(async || self.text(Call::of("DELETE", key), Memory::NOTHING).await.map(drop)).await
    }

    /// Begins an object of several parts and returns the upload's ID.
    pub async fn begin_upload(&self, key: &str) -> Result<String, Fault> {
        let call = Call { query: "uploads=", ..Call::of("POST", key) };
        let text = self.again_if_temporary(async || self.text(call, Memory::NOTHING).await).await?;
        let begun: Result<Initiated, _> = quick_xml::de::from_str(&text);
        begun.map(|begun| begun.upload_id).map_err(|_| Fault::Unexpected("the upload has no ID".to_owned()))
    }

    /// Writes a part, the first of which is number 1, and returns its ETag.
    pub async fn part(&self, (key, upload): (&str, &str), number: u32, body: Memory) -> Result<String, Fault> {
        let query = format!("partNumber={number}&uploadId={}", encoded(upload, false));
        let call = Call { query: &query, ..Call::of("PUT", key) };
        self.again_if_temporary(async || {
            let mut answer = self.send(call, body).await?;
            if answer.status != 200 {
                return Err(error_of(answer).await);
            }
            let etag = answer.etag.take();
            answer.into_text().await.map_err(Fault::Lost)?;
            etag.ok_or_else(|| Fault::Unexpected(format!("part {number} has no ETag")))
        })
        .await
    }

    /// Makes an object of `bytes` of the parts with these ETags.
    pub async fn complete(&self, (key, upload): (&str, &str), etags: &[String], bytes: u64) -> Result<(), Fault> {
        let mut body = "<CompleteMultipartUpload>".to_owned();
        for (number, etag) in (1..).zip(etags) {
            let etag = quick_xml::escape::escape(etag.as_str());
            let _ = write!(body, "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        }
        body.push_str("</CompleteMultipartUpload>");
        let query = format!("uploadId={}", encoded(upload, false));
        let call = Call { query: &query, ..Call::of("POST", key) };
        let mut tries = 0;
        let completed = self.again_if_temporary(async || {
            tries += 1;
            let text = self.text(call, Memory::read_from(body.as_bytes())).await?;
            // An error that came up after the server had begun to answer.
            let error = ErrorAnswer::of(200, &text, None);
            if error.code.is_empty() { Ok(()) } else { Err(Fault::Answer(error)) }
        });
        match completed.await {
            // The answer to the request before got lost.
            Err(fault) if fault.is_not_found() && tries > 1 && self.head(key).await.ok() == Some(bytes) => Ok(()),
            completed => completed,
        }
    }

    /// Gives an upload up.
    pub async fn abort(&self, key: &str, upload: &str) -> Result<(), Fault> {
        let query = format!("uploadId={}", encoded(upload, false));
        let call = Call { query: &query, ..Call::of("DELETE", key) };
        match self.again_if_temporary(async || self.text(call, Memory::NOTHING).await).await {
            Err(fault) if !fault.is_not_found() => Err(fault),
            _ => Ok(()),
        }
    }

    /// Incomplete uploads of keys that begin with `prefix`.
    pub async fn uploads(&self, prefix: &str) -> Result<Vec<Upload>, Fault> {
        let (mut incomplete, mut markers) = (Vec::new(), (String::new(), String::new()));
        loop {
            let mut query = String::new();
            if !markers.0.is_empty() {
                let _ = write!(query, "key-marker={}&", encoded(&markers.0, false));
            }
            let _ = write!(query, "prefix={}", encoded(prefix, false));
            if !markers.1.is_empty() {
                let _ = write!(query, "&upload-id-marker={}", encoded(&markers.1, false));
            }
            query.push_str("&uploads=");
            let call = Call { query: &query, ..Call::of("GET", "") };
            let text = self.again_if_temporary(async || self.text(call, Memory::NOTHING).await).await?;
            let page: Uploads = quick_xml::de::from_str(&text)
                .map_err(|_| Fault::Unexpected("the list of incomplete uploads cannot be read".to_owned()))?;
            incomplete.extend(page.upload);
            let next = (page.next_key_marker, page.next_upload_id_marker);
            if !page.is_truncated || next == markers {
                return Ok(incomplete);
            }
            markers = next;
        }
    }

    /// Does `attempt` until it succeeds, fails for good or has been repeated often enough.
    async fn again_if_temporary<T>(&self, mut attempt: impl AsyncFnMut() -> Result<T, Fault>) -> Result<T, Fault> {
        let mut pause = FIRST_PAUSE;
        for _ in 0..self.retries {
            let fault = match attempt().await {
                Err(fault) => fault,
                done => return done,
            };
            let Some(reason) = fault.temporary() else { return Err(fault) };
            *self.counts.borrow_mut().retries.entry(reason).or_default() += 1;
            // Ranks that were refused together do not come back together.
            let share = 0.5 + self.random.borrow_mut().below(500) as f64 / 1000.0;
            let wanted = fault.retry_after().unwrap_or_default().max(pause.mul_f64(share));
            sleep(wanted.min(LONGEST_PAUSE)).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        attempt().await
    }

    /// Sends a request whose answer is a text.
    async fn text(&self, call: Call<'_>, body: Memory) -> Result<String, Fault> {
        let answer = self.send(call, body).await?;
        if (200..300).contains(&answer.status) {
            return answer.into_text().await.map_err(Fault::Lost);
        }
        Err(error_of(answer).await)
    }

    async fn send(&self, call: Call<'_>, body: Memory) -> Result<Answer<'_>, Fault> {
        let head = self.head_of(call, body.bytes());
        // SAFETY: the caller keeps the memory until the request has ended.
        let request = Request { head: &head, body: unsafe { body.slice() } };
        self.endpoint.send(request, call.method == "HEAD").await.map_err(Fault::Lost)
    }

    fn head_of(&self, call: Call<'_>, bytes: usize) -> String {
        let Call { method, key, query, header } = call;
        let path = format!("{}{}", self.root, encoded(key, true));
        let mark = if query.is_empty() { "" } else { "?" };
        let mut head = String::with_capacity(1024);
        let host = self.endpoint.host();
        let _ = write!(head, "{method} {path}{mark}{query} HTTP/1.1\r\nhost: {host}\r\n{header}");
        if let Some(signer) = &self.signer {
            signer.borrow_mut().sign((method, &path, query), Timestamp::now(), &mut head);
        }
        if method != "GET" && method != "HEAD" {
            let _ = write!(head, "content-length: {bytes}\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

impl<'a> Call<'a> {
    fn of(method: &'static str, key: &'a str) -> Self {
        Self { method, key, query: "", header: "" }
    }
}

/// The error that an answer is.
async fn error_of(answer: Answer<'_>) -> Fault {
    let (status, retry_after) = (answer.status, answer.retry_after);
    // Without its text it still has its status.
    let text = answer.into_text().await.unwrap_or_default();
    Fault::Answer(ErrorAnswer::of(status, &text, retry_after))
}
