//! What went wrong with a request, in the words of the user who must correct it.
//!
//! OpenDAL's own text has the whole request in it, with tokens that stand in URLs, and the response with its headers:
//! only its status and message are reported.

use std::error::Error as _;
use std::io;

use opendal::{Error, ErrorKind};

use super::location::Location;
use super::protocol::Protocol;
use crate::failure::Explained;

/// More than this of what a server says is a page of HTML.
pub(super) const LONGEST_MESSAGE: usize = 300;

/// What OpenDAL says of an answer that is shorter than its range.
const SHORT: &str = "reader got too little data";

/// `error` as an I/O error that knows its remedy.
pub(super) fn explained(error: &Error, location: &Location) -> io::Error {
    let protocol = location.protocol();
    let status = status(error);
    let cause = cause(error);
    if error.message() == SHORT {
        let what = "the server returned fewer bytes than requested: the object ends within the transfer, or the \
                    response was truncated";
        let remedy = "check whether the object was truncated, and read the server's log".to_owned();
        return io::Error::new(io::ErrorKind::UnexpectedEof, Explained { what: what.to_owned(), remedy });
    }
    let what = match (status, &cause) {
        (Some(status), _) => format!("HTTP {status}{}", detail(error)),
        (None, Some(cause)) => format!("{}{}: {cause}", error.message(), to(location)),
        (None, None) => format!("{:?}{}", error.kind(), detail(error)),
    };
    let kind = match error.kind() {
        ErrorKind::NotFound => io::ErrorKind::NotFound,
        ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        ErrorKind::AlreadyExists | ErrorKind::ConditionNotMatch => io::ErrorKind::AlreadyExists,
        _ => io::ErrorKind::Other,
    };
    let what = protocol.without_secrets(&what);
    io::Error::new(kind, Explained { what, remedy: remedy(error.kind(), status, cause.as_deref(), protocol) })
}

/// Where requests go, if it does not stand in the URL anyway.
fn to(location: &Location) -> String {
    location.option("endpoint").map(|endpoint| format!(" to {endpoint}")).unwrap_or_default()
}

/// The status of the response, which OpenDAL has only in its text.
fn status(error: &Error) -> Option<u16> {
    let text = error.to_string();
    let (_, after) = text.split_once("response: Parts { status: ")?;
    after.get(..3)?.parse().ok()
}

/// What the operating system or the library below says, where there was no response.
fn cause(error: &Error) -> Option<String> {
    let mut cause = error.source()?;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Some(cause.to_string())
}

fn detail(error: &Error) -> String {
    let message = error.message().trim();
    let document = field(message, "code").zip(field(message, "message"));
    let message = document.map_or(message.to_owned(), |(code, text)| format!("{code}: {text}"));
    if message.is_empty() {
        return String::new();
    }
    let end = message.char_indices().nth(LONGEST_MESSAGE).map_or(message.len(), |(end, _)| end);
    format!(": {}", &message[..end])
}

/// The value of a field of the server's document, which OpenDAL prints as Rust does (`S3Error { code: "…", … }`).
fn field<'m>(message: &'m str, name: &str) -> Option<&'m str> {
    let (_, after) = message.split_once(&format!(" {name}: \""))?;
    after.split_once('"').map(|(value, _)| value).filter(|value| !value.is_empty())
}

/// What to try next.
///
/// `lost` says why there was no answer.
pub(super) fn remedy(kind: ErrorKind, status: Option<u16>, lost: Option<&str>, protocol: &Protocol) -> String {
    let credentials = protocol.credentials.join(", ");
    match (status, kind) {
        (Some(401 | 403), _) | (_, ErrorKind::PermissionDenied) if credentials.is_empty() => {
            "run as a user with permission for this operation".to_owned()
        }
        (Some(401 | 403), _) | (_, ErrorKind::PermissionDenied) => {
            format!("check the credentials in the environment ({credentials}) and their permissions")
        }
        (Some(404), _) | (_, ErrorKind::NotFound | ErrorKind::ConfigInvalid) => {
            "check that the bucket, container or directory of the target exists, and keep other processes off it"
                .to_owned()
        }
        (Some(429 | 503), _) | (_, ErrorKind::RateLimited) => {
            "the server is overloaded or throttles its clients: use fewer ranks or a rate limit; requests are retried \
             only where `storage: {retries: N}` asks for it, because that would hide it"
                .to_owned()
        }
        (None, _) if lost.is_some_and(|why| why.contains("certificate")) => {
            "name a PEM file with the certificates of the server's authority in the target's URL \
             (ca-file=/etc/ssl/site.pem); tls-verify=no accepts any certificate, with a doubt"
                .to_owned()
        }
        (None, _) if lost.is_some() => {
            "check that the endpoint is correct, that its server runs, and that this node reaches it".to_owned()
        }
        _ => "read the server's log, then run again".to_owned(),
    }
}
