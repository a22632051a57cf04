//! Signatures of requests: AWS Signature Version 4, of everything but the payload.
//!
//! The key is derived once a day, not once a request. Payloads are sent as `UNSIGNED-PAYLOAD`: hashing them would cost
//! more processor time than sending them, and TLS or the server's own checksums protect them better.

use std::fmt::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, Tag, sign};

/// Who signs.
#[derive(Clone)]
pub struct Credentials {
    /// The access key.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
    /// The session token of temporary keys.
    pub session_token: Option<String>,
}

/// What signs the requests to one host.
pub struct Signer {
    credentials: Credentials,
    region: String,
    host: String,
    /// The day that the key is for, and the key.
    key: (String, Key),
}

impl Signer {
    /// Signs requests to `host` in `region`.
    pub fn new(credentials: Credentials, region: String, host: String) -> Self {
        Self { credentials, region, host, key: (String::new(), Key::new(HMAC_SHA256, b"")) }
    }

    /// Appends the header lines that sign `method` on `path` with `query`, both encoded, sent `sent`.
    pub fn sign(&mut self, (method, path, query): (&str, &str, &str), sent: Timestamp, head: &mut String) {
        let time = sent.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = &time[..8];
        let Credentials { access_key, session_token, .. } = &self.credentials;
        let (token_line, token_name) = match session_token {
            Some(token) => (format!("x-amz-security-token:{token}\n"), ";x-amz-security-token"),
            None => (String::new(), ""),
        };
        let signed = format!("host;x-amz-content-sha256;x-amz-date{token_name}");
        let request = format!(
            "{method}\n{path}\n{query}\nhost:{}\nx-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:{time}\n\
             {token_line}\n{signed}\nUNSIGNED-PAYLOAD",
            self.host
        );
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let hash = hex(digest(&SHA256, request.as_bytes()).as_ref());
        if self.key.0 != day {
            self.key = (day.to_owned(), key_of_day(&self.credentials.secret_key, day, &self.region));
        }
        let signature = sign(&self.key.1, format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hash}").as_bytes());
        let _ = write!(
            head,
            "x-amz-content-sha256: UNSIGNED-PAYLOAD\r\nx-amz-date: {time}\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential={access_key}/{scope}, SignedHeaders={signed}, Signature={}\r\n",
            hex(signature.as_ref())
        );
        if let Some(token) = session_token {
            let _ = write!(head, "x-amz-security-token: {token}\r\n");
        }
    }
}

/// The key that signs for one day.
fn key_of_day(secret: &str, day: &str, region: &str) -> Key {
    let next = |key: &[u8], what: &str| -> Tag { sign(&Key::new(HMAC_SHA256, key), what.as_bytes()) };
    let of_day = next(format!("AWS4{secret}").as_bytes(), day);
    let of_service = next(next(of_day.as_ref(), region).as_ref(), "s3");
    Key::new(HMAC_SHA256, next(of_service.as_ref(), "aws4_request").as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// `text` as it stands in a path or, without `slashes`, in a value of a query.
pub fn encoded(text: &str, slashes: bool) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (slashes && byte == b'/') {
            encoded.push(byte.into());
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with botocore 1.44.8 (`S3SigV4Auth`, payload signing off), for the same request at the same time.
    #[test]
    fn a_request_is_signed_as_botocore_signs_it() {
        let credentials = |session_token: Option<&str>| Credentials {
            access_key: "AKIDEXAMPLE".to_owned(),
            secret_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: session_token.map(str::to_owned),
        };
        let sent: Timestamp = "2013-05-24T00:00:00Z".parse().unwrap();
        let sign = |token| {
            let mut head = String::new();
            let mut signer = Signer::new(credentials(token), "us-east-1".to_owned(), "127.0.0.1:7070".to_owned());
            signer.sign(("PUT", "/lab/a/b%20c", "partNumber=1&uploadId=x%2Fy"), sent, &mut head);
            head
        };
        assert!(
            sign(None).contains("Signature=3608619e5ef894f3d52db0592270bd4bd551b151f9dbd500a9ed8fcf7b506765\r\n"),
            "{}",
            sign(None)
        );
        let with_token = sign(Some("token/+="));
        assert!(
            with_token.contains("Signature=7e3662ab9f8b46f01a9e0054ac70fa5ff1e98d41cd302652c9b0a9456e57232e\r\n"),
            "{with_token}"
        );
        assert!(with_token.ends_with("x-amz-security-token: token/+=\r\n"), "{with_token}");
    }

    #[test]
    fn keys_are_encoded_as_signatures_want_it() {
        assert_eq!(encoded("a/b c~é+", true), "a/b%20c~%C3%A9%2B");
        assert_eq!(encoded("a/b", false), "a%2Fb");
    }
}
