//! Many documents in the body of one request: packed, halved where they are too many, with the result of each.

use std::io::{self, Read, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use reqwest::StatusCode;

use super::Refusal;
use super::http::{Answer, Store};

/// A store that takes many documents at once, in lines.
pub trait Bulk {
    /// Lines of a document.
    const LINES: usize;

    /// The store.
    fn store(&mut self) -> &mut Store;

    /// Sends lines, which are packed with gzip.
    fn post(&mut self, packed: Vec<u8>) -> Result<Answer, Refusal>;

    /// Adds to `outcome` which of the documents are not stored, as an answer says that is not 413.
    fn sort_out(&self, answer: &Answer, documents: &[&[u8]], outcome: &mut Outcome);
}

/// The documents that are not stored, and why.
#[derive(Default)]
pub struct Outcome {
    rest: Vec<u8>,
    rest_reason: String,
    after: Option<Duration>,
    lost: u64,
    lost_reason: String,
}

impl Outcome {
    /// These lines are not stored.
    pub fn add(&mut self, refusal: Refusal, lines: &[u8]) {
        match refusal {
            Refusal::Never { reason, documents } => {
                self.lost += documents;
                self.lost_reason = reason;
            }
            Refusal::Later { reason, after } | Refusal::Partly { reason, after, .. } => {
                self.rest.extend(lines);
                self.rest_reason = reason;
                self.after = self.after.max(after);
            }
        }
    }

    fn into_result(self) -> Result<(), Refusal> {
        let documents = self.lost;
        if !self.rest.is_empty() {
            let (rest, reason) = (packed(&self.rest), self.rest_reason);
            Err(Refusal::Partly { rest, documents, reason, after: self.after })
        } else if documents > 0 {
            Err(Refusal::Never { reason: self.lost_reason, documents })
        } else {
            Ok(())
        }
    }
}

/// Sends a payload of packed lines.
pub fn send<B: Bulk>(bulk: &mut B, payload: &[u8]) -> Result<(), Refusal> {
    let Ok(lines) = unpacked(payload) else {
        return Err(Refusal::of_another_version());
    };
    let mut outcome = Outcome::default();
    send_documents(bulk, &documents(&lines, B::LINES), payload.to_vec(), &mut outcome);
    outcome.into_result()
}

fn send_documents(bulk: &mut impl Bulk, documents: &[&[u8]], packed_lines: Vec<u8>, outcome: &mut Outcome) {
    match bulk.post(packed_lines) {
        Err(refusal) => outcome.add(refusal, &documents.concat()),
        Ok(answer) if answer.status == StatusCode::PAYLOAD_TOO_LARGE && documents.len() > 1 => {
            for half in documents.chunks(documents.len().div_ceil(2)) {
                send_documents(bulk, half, packed(&half.concat()), outcome);
            }
        }
        Ok(answer) if answer.status == StatusCode::PAYLOAD_TOO_LARGE => {
            outcome.add(bulk.store().refusal(&answer, 1), &documents.concat());
        }
        Ok(answer) => bulk.sort_out(&answer, documents, outcome),
    }
}

/// The lines of each document.
fn documents(lines: &[u8], of_each: usize) -> Vec<&[u8]> {
    let mut documents = Vec::new();
    let mut begin = 0;
    let ends = lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
    for end in ends.skip(of_each - 1).step_by(of_each) {
        documents.push(&lines[begin..end]);
        begin = end;
    }
    documents
}

/// Lines as they are sent, and as they wait.
pub fn packed(lines: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::fast());
    to.write_all(lines).and_then(|()| to.finish()).expect("memory takes everything")
}

/// The lines of a payload.
pub fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut lines)?;
    Ok(lines)
}
