//! Why a request has no result, and whether it may have one when it is sent again.

use std::io;
use std::time::Duration;

use opendal::ErrorKind;
use serde::Deserialize;

use crate::failure::Explained;
use crate::storage::object::error::{LONGEST_MESSAGE, remedy};
use crate::storage::object::location::Location;

/// What to try where the server does not find a part that it has taken.
const NO_PARTS: &str = "check that the server keeps parts and their ETags until the upload is complete (versitygw does \
                        not with --nometa), or write objects of one transfer";

/// Why a request has no result.
#[derive(Debug)]
pub enum Fault {
    /// The server answered with an error.
    Answer(ErrorAnswer),
    /// There was no answer, or not all of one.
    Lost(io::Error),
    /// The answer says something else than what was asked.
    Unexpected(String),
}

/// An error as the server reports it.
#[derive(Debug, Clone, Default)]
pub struct ErrorAnswer {
    /// The HTTP status.
    pub status: u16,
    /// S3's name of the error, such as `SlowDown`; may be empty.
    pub code: String,
    /// What the server says of it; may be empty.
    pub message: String,
    /// After how many seconds the server wants to be asked again.
    pub retry_after: Option<u64>,
}

/// The body of an error.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ErrorBody {
    code: String,
    message: String,
}

impl ErrorAnswer {
    /// The error that an answer with `status` and `body` is.
    pub fn of(status: u16, body: &str, retry_after: Option<u64>) -> Self {
        let ErrorBody { code, message } = quick_xml::de::from_str(body).unwrap_or_default();
        Self { status, code, message, retry_after }
    }
}

impl Fault {
    /// Why sending the same request again may help: the server is busy, or the connection was lost.
    pub fn temporary(&self) -> Option<String> {
        match self {
            Self::Answer(ErrorAnswer { status, code, .. }) => {
                let busy = matches!(status, 408 | 429 | 500 | 502 | 503 | 504);
                let busy = busy || matches!(code.as_str(), "SlowDown" | "RequestTimeout" | "InternalError");
                busy.then(|| format!("HTTP {status}{}{code}", if code.is_empty() { "" } else { " " }))
            }
            Self::Lost(error) => match error.kind() {
                io::ErrorKind::TimedOut => Some("timeout".to_owned()),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Some("connection reset".to_owned()),
                io::ErrorKind::UnexpectedEof => Some("connection closed".to_owned()),
                io::ErrorKind::ConnectionRefused => Some("connection refused".to_owned()),
                _ => None,
            },
            Self::Unexpected(_) => None,
        }
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Answer(answer) = self { answer.retry_after.map(Duration::from_secs) } else { None }
    }

    /// True if the object, the bucket or the upload does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Answer(ErrorAnswer { status: 404, .. }))
    }

    /// As an I/O error that knows its remedy. `retries` is how often a request was repeated if that could help.
    #[cold]
    pub fn explain(&self, location: &Location, endpoint: &str, retries: u32) -> io::Error {
        let protocol = location.protocol();
        let (what, kind, status) = match self {
            Self::Answer(ErrorAnswer { status, code, message, .. }) => {
                let message = message.trim().trim_end_matches('.');
                let message: String = message.chars().take(LONGEST_MESSAGE).collect();
                let texts = [code.as_str(), &message].into_iter().filter(|text| !text.is_empty());
                let what = texts.fold(format!("HTTP {status}"), |what, text| format!("{what}: {text}"));
                let kind = match status {
                    404 => ErrorKind::NotFound,
                    401 | 403 => ErrorKind::PermissionDenied,
                    _ => ErrorKind::Unexpected,
                };
                (what, kind, Some(*status))
            }
            Self::Lost(error) => (format!("no answer from {endpoint}: {error}"), ErrorKind::Unexpected, None),
            Self::Unexpected(what) => (what.clone(), ErrorKind::Unexpected, None),
        };
        let what = match self.temporary() {
            Some(_) if retries > 0 => format!("{what} (also when asked again, {retries} times)"),
            _ => what,
        };
        let lost = matches!(self, Self::Lost(_)).then_some(what.as_str());
        let remedy = match self {
            Self::Answer(ErrorAnswer { code, .. }) if code == "InvalidPart" => NO_PARTS.to_owned(),
            _ => remedy(kind, status, lost, protocol),
        };
        let explained = Explained { what: protocol.without_secrets(&what), remedy };
        let kind = match kind {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_whose_parts_the_server_has_lost_is_about_the_server() {
        let body = "<Error><Code>InvalidPart</Code><Message>A part could not be found.</Message></Error>";
        let location = Location::parse("s3://bucket/p?endpoint=http://127.0.0.1:9000").unwrap();
        let error = Fault::Answer(ErrorAnswer::of(400, body, None)).explain(&location, "http://127.0.0.1:9000", 5);
        let explained = error.get_ref().unwrap().downcast_ref::<Explained>().unwrap();
        assert_eq!(explained.what, "HTTP 400: InvalidPart: A part could not be found");
        assert_eq!(explained.remedy, NO_PARTS);
    }

    #[test]
    fn an_error_says_how_often_the_request_was_repeated() {
        let location = Location::parse("s3://bucket/p?endpoint=http://127.0.0.1:9000").unwrap();
        let text = |retries| Fault::Answer(ErrorAnswer::of(503, "", None)).explain(&location, "", retries).to_string();
        assert_eq!(text(0), "HTTP 503");
        assert_eq!(text(5), "HTTP 503 (also when asked again, 5 times)");
    }

    #[test]
    fn a_busy_server_and_a_lost_connection_are_temporary_and_a_refusal_is_not() {
        let answer = |status, body| Fault::Answer(ErrorAnswer::of(status, body, None)).temporary();
        let slow = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Reduce it</Message></Error>";
        assert_eq!(answer(503, slow).unwrap(), "HTTP 503 SlowDown");
        assert_eq!(answer(500, "<html>no XML of S3").unwrap(), "HTTP 500");
        assert_eq!(answer(403, ""), None);
        assert_eq!(answer(404, ""), None);
        let lost = |kind: io::ErrorKind| Fault::Lost(kind.into()).temporary();
        assert_eq!(lost(io::ErrorKind::ConnectionReset).unwrap(), "connection reset");
        assert_eq!(lost(io::ErrorKind::InvalidData), None);
    }
}
