//! Requests to stores, and messages about those that fail: which store, what happened, what to try.
//!
//! Not here: what is asked.

use std::error::Error;
use std::fs;
use std::io;
use std::time::Duration;

use ioassay_protocol::watch::setup::Server;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Certificate, Client, Identity, Method, Response, StatusCode, redirect, retry};
use rustls::{AlertDescription, CertificateError};
use tokio::runtime::{self, Runtime};
use url::Url;

use super::credentials::{Credentials, private_file};
use super::{Refusal, SinkError};

const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);
/// No store answers more than this, in bytes.
const ANSWER_BYTES: usize = 32 << 20;
/// So much of what a store says is repeated, in letters.
const EXCERPT: usize = 300;

/// A store that is reached over HTTP.
pub struct Store {
    /// What it is: `InfluxDB`.
    kind: &'static str,
    address: Url,
    client: Client,
    runtime: Runtime,
    credentials: Option<Credentials>,
}

/// What a store answered.
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Vec<u8>,
    /// How long the store asks to be left alone.
    pub after: Option<Duration>,
    location: Option<String>,
}

impl Store {
    /// The store at `server`. Tokens are sent after the word `token_scheme`.
    pub fn open(kind: &'static str, server: &Server, token_scheme: &'static str) -> Result<Self, SinkError> {
        let address = address(kind, &server.url)?;
        let credentials =
            server.credentials.as_deref().map(|path| Credentials::read(path, token_scheme)).transpose()?;
        // The first one in a process decides; it is always the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .user_agent(concat!("ioassay-agent/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .connect_timeout(CONNECT)
            .timeout(ANSWER);
        if address.scheme() == "http" {
            // Nothing needs the system's certificates, which a node may lack.
            client = client.tls_certs_only([]);
        } else if let Some(path) = &server.authorities {
            let text = fs::read(path).map_err(|error| {
                SinkError(format!("authorities {} cannot be read: {error}; check the path", path.display()))
            })?;
            let authorities = Certificate::from_pem_bundle(&text).unwrap_or_default();
            if authorities.is_empty() {
                return Err(SinkError(format!("authorities {} holds no certificate in PEM form", path.display())));
            }
            client = client.tls_certs_merge(authorities);
        }
        if let Some(path) = &server.certificate {
            let hint = "it must hold a certificate and its key in PEM form";
            let identity = Identity::from_pem(private_file(path, "certificate", hint)?.as_bytes())
                .map_err(|_| SinkError(format!("certificate {}: {hint}", path.display())))?;
            client = client.identity(identity);
        }
        let client = client.build().map_err(|error| {
            SinkError(format!(
                "the HTTP client for {kind} cannot be set up: {}; check that the system's certificates are installed \
                 (ca-certificates), or name a file of authorities",
                innermost(&error)
            ))
        })?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| SinkError(format!("the HTTP client for {kind} cannot be set up: {error}")))?;
        Ok(Self { kind, address, client, runtime, credentials })
    }

    /// What people know it by.
    pub fn name(&self) -> String {
        format!("{} at {}", self.kind, self.address.as_str().trim_end_matches('/'))
    }

    /// Whether the address says more than host and port.
    pub fn has_path(&self) -> bool {
        self.address.path() != "/"
    }

    /// Asks for `path` below the store's address; the path may have a query.
    pub fn ask(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, &'static str)],
        body: Vec<u8>,
    ) -> Result<Answer, Refusal> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.address.clone();
        if !path.is_empty() {
            url.set_path(&format!("{}/{}", url.path().trim_end_matches('/'), path.trim_start_matches('/')));
        }
        url.set_query(query);
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            all.insert(name, HeaderValue::from_static(value));
        }
        if let Some(credentials) = &self.credentials {
            all.insert(AUTHORIZATION, credentials.header());
        }
        let request = self.client.request(method, url).headers(all).body(body);
        let answer = self.runtime.block_on(async { received(request.send().await?).await });
        let answer = answer.map_err(|error| Refusal::later(format!("{} {}", self.name(), self.failure(&error))))?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(credentials) = &mut self.credentials
        {
            credentials.refresh();
        }
        Ok(answer)
    }

    /// What follows of an answer that is no success, for `documents` that were to be stored.
    pub fn refusal(&self, answer: &Answer, documents: u64) -> Refusal {
        let reason = self.complaint(answer);
        let status = answer.status;
        let for_good =
            status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 404 | 405 | 407 | 408 | 421 | 425 | 429);
        if for_good { Refusal::Never { reason, documents } } else { Refusal::Later { reason, after: answer.after } }
    }

    /// What follows of an answer that such a store does not give.
    pub fn unexpected_server(&self, answer: &Answer) -> Refusal {
        let excerpt = self.excerpt(&answer.body);
        let (name, kind) = (self.name(), self.kind);
        Refusal::later(format!("{name} does not answer as {kind} does; check the address and its path ({excerpt})"))
    }

    /// An answer that is no success, in words.
    pub fn complaint(&self, answer: &Answer) -> String {
        let credentials = self.credentials.as_ref().map(|credentials| credentials.path().display());
        let what = match (answer.status.as_u16(), credentials) {
            (401, Some(path)) => format!("rejects the credentials; check {path}"),
            (401, None) => "requires credentials; name a file with `credentials`".to_owned(),
            (403, Some(path)) => format!("denies this to the user of {path}; grant that user the permission"),
            (403, None) => "denies this without credentials; name a file with `credentials`".to_owned(),
            (404 | 405, _) => "does not know this request; check the address and its path".to_owned(),
            (413, _) => "rejects a single document as too large".to_owned(),
            (429, _) => "is overloaded; documents wait and are sent again".to_owned(),
            (300..=399, _) => {
                let to = answer.location.as_deref().map_or("another address".to_owned(), |to| self.scrubbed(to));
                format!("redirects to {to}, which is not followed; name that address in `url`")
            }
            (400..=499, _) => "rejects the request".to_owned(),
            _ => "reports an internal error; documents wait; check its log".to_owned(),
        };
        let excerpt = self.excerpt(&answer.body);
        let excerpt = if excerpt.is_empty() { excerpt } else { format!(": {excerpt}") };
        format!("{} {what} (status {}{excerpt})", self.name(), answer.status.as_u16())
    }

    /// The beginning of what a store says, fit to be shown.
    pub fn excerpt(&self, body: &[u8]) -> String {
        let text = self.scrubbed(&String::from_utf8_lossy(&body[..body.len().min(64 << 10)]));
        let mut words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
        let mut short = String::new();
        for word in words.by_ref().filter(|word| !word.is_empty()) {
            if short.chars().count() + word.chars().count() > EXCERPT {
                short.push('…');
                break;
            }
            let space = if short.is_empty() { "" } else { " " };
            short.push_str(space);
            short.push_str(word);
        }
        short
    }

    fn scrubbed(&self, text: &str) -> String {
        self.credentials.as_ref().map_or_else(|| text.to_owned(), |credentials| credentials.scrub(text))
    }

    /// Why there was no answer.
    fn failure(&self, error: &reqwest::Error) -> String {
        if let Some(fault) = find::<rustls::Error>(error) {
            return self.tls_failure(fault);
        }
        let system = find::<io::Error>(error).map(io::Error::kind);
        let text = innermost(error);
        match system {
            Some(io::ErrorKind::ConnectionRefused) => {
                "refuses connections; check that it runs, and the port in `url`".to_owned()
            }
            Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
                format!("cannot be reached from this node: {text}; check the network")
            }
            _ if chain(error).any(|cause| cause.to_string().contains("dns error")) => {
                format!("cannot be found: {text}; check the host's name in `url`")
            }
            _ if error.is_timeout() && error.is_connect() => {
                format!("did not accept a connection within {} s; check host, port and firewalls", CONNECT.as_secs())
            }
            _ if error.is_timeout() => {
                format!("did not answer within {} s; documents wait; check its load", ANSWER.as_secs())
            }
            _ if error.is_connect() => format!("cannot be reached: {text}"),
            _ => format!(
                "closed the connection: {text}; check that it is {} and whether its address begins with https://",
                self.kind
            ),
        }
    }

    fn tls_failure(&self, fault: &rustls::Error) -> String {
        use CertificateError::{
            Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
            UnknownIssuer,
        };
        match fault {
            rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => {
                "has a certificate that has expired; renew it there, and check this node's clock".to_owned()
            }
            rustls::Error::InvalidCertificate(NotValidYet | NotValidYetContext { .. }) => {
                "has a certificate that is not valid yet; check this node's clock".to_owned()
            }
            rustls::Error::InvalidCertificate(UnknownIssuer) => {
                "has a certificate of an authority that is not trusted; name a file with its certificate as `authorities`"
                    .to_owned()
            }
            rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
                "has a certificate for another name; use the name in it in `url`".to_owned()
            }
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                "requires a client certificate; name a file with one as `certificate`".to_owned()
            }
            rustls::Error::InvalidMessage(_) => "does not speak TLS; its address may begin with http://".to_owned(),
            other => format!("did not complete the TLS handshake: {other}; check its TLS versions and certificates"),
        }
    }
}

impl Answer {
    fn of(response: &Response) -> Self {
        let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        Self {
            status: response.status(),
            body: Vec::new(),
            after: text(RETRY_AFTER).and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs),
            location: text(LOCATION).and_then(|location| Url::parse(location).ok()).and_then(|mut location| {
                // It may repeat what was in a request, or have a password of its own.
                location.set_query(None);
                location.set_username("").and_then(|()| location.set_password(None)).ok()?;
                Some(location.to_string())
            }),
        }
    }
}

/// The answer, of whose body no more is kept than any store says.
async fn received(mut response: Response) -> reqwest::Result<Answer> {
    let mut answer = Answer::of(&response);
    while let Some(part) = response.chunk().await? {
        answer.body.extend(&part[..part.len().min(ANSWER_BYTES - answer.body.len())]);
        if answer.body.len() == ANSWER_BYTES {
            break;
        }
    }
    Ok(answer)
}

/// An address that holds no secrets, since addresses are shown.
fn address(kind: &str, text: &str) -> Result<Url, SinkError> {
    let fault = |what: &str| Err(SinkError(format!("the address of {kind} {what}; write https://HOST:PORT")));
    let Ok(address) = Url::parse(text) else { return fault("is no URL") };
    if !address.username().is_empty() || address.password().is_some() {
        return fault("has a user or a password in it; put them into a file and name it with `credentials`");
    }
    if address.query().is_some() || address.fragment().is_some() {
        return fault("has a query");
    }
    if !matches!(address.scheme(), "http" | "https") || !address.has_host() {
        return fault("begins with neither https:// nor http://");
    }
    Ok(address)
}

/// An error and its causes. What an error of the system wraps is no cause to the standard library.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// The innermost cause of this type.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    chain(error).filter_map(|cause| cause.downcast_ref()).last()
}

/// The innermost cause, which says most.
fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

    use tempfile::tempdir;

    use super::*;
    use crate::sinks::scripted_server::ScriptedServer;

    fn server(url: &str) -> Server {
        Server { url: url.to_owned(), credentials: None, authorities: None, certificate: None }
    }

    fn ask(server: &Server) -> (Store, Result<Answer, Refusal>) {
        let mut store = Store::open("InfluxDB", server, "Bearer").unwrap();
        let answer = store.ask(Method::POST, "write?db=x", &[], b"x".to_vec());
        (store, answer)
    }

    fn reason(refusal: Refusal) -> String {
        match refusal {
            Refusal::Later { reason, .. } | Refusal::Never { reason, .. } | Refusal::Partly { reason, .. } => reason,
        }
    }

    #[test]
    fn an_address_must_not_hold_secrets() {
        for (url, what) in [
            ("https://user:hunter2@host", "credentials"),
            ("https://host?token=hunter2", "query"),
            ("ftp://hunter2", "neither"),
            ("hunter2", "no URL"),
        ] {
            let error = Store::open("InfluxDB", &server(url), "Bearer").err().unwrap().to_string();
            assert!(error.contains(what) && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_request_goes_below_the_address_with_the_credentials() {
        let scripted = ScriptedServer::start(|_| ("204 No Content".to_owned(), String::new()));
        let directory = tempdir().unwrap();
        let path = directory.path().join("credentials");
        let mut how = fs::File::options();
        io::Write::write_all(&mut how.create(true).write(true).mode(0o600).open(&path).unwrap(), b"token hunter2")
            .unwrap();
        let mut server = scripted.server();
        server.url += "/influx/";
        server.credentials = Some(path);
        let (store, answer) = ask(&server);
        assert_eq!(answer.unwrap().status, 204);
        let asked = scripted.asked();
        assert_eq!(asked.line, "POST /influx/write?db=x");
        assert!(asked.headers.contains("authorization: Bearer hunter2\r\n"), "{}", asked.headers);
        assert!(!store.name().contains("hunter2"));
    }

    #[test]
    fn each_answer_that_is_no_success_has_its_message() {
        for (head, words, for_good) in [
            ("401 Unauthorized", "requires credentials", false),
            ("403 Forbidden", "denies this without credentials", false),
            ("404 Not Found", "check the address and its path", false),
            ("429 Too Many Requests\r\nRetry-After: 7", "is overloaded", false),
            ("503 Service Unavailable\r\nRetry-After: 7", "reports an internal error", false),
            ("400 Bad Request", "rejects the request", true),
            ("413 Payload Too Large", "document as too large", true),
            ("302 Found\r\nLocation: https://u:pass@b.example/c?d=e", "redirects to https://b.example/c, which", false),
        ] {
            let scripted = ScriptedServer::start(move |_| (head.to_owned(), "what\n\u{7} it\tsays".to_owned()));
            let (store, answer) = ask(&scripted.server());
            let refusal = store.refusal(&answer.unwrap(), 3);
            match &refusal {
                Refusal::Later { after, .. } => {
                    assert!(!for_good);
                    assert_eq!(after.is_some(), head.contains("Retry-After"));
                }
                other => assert!(matches!(other, Refusal::Never { documents: 3, .. }) && for_good, "{head}"),
            }
            let reason = reason(refusal);
            let ending = format!("(status {}: what it says)", &head[..3]);
            let begin = format!("InfluxDB at {} ", scripted.server().url);
            assert!(reason.starts_with(&begin) && reason.contains(words) && reason.ends_with(&ending), "{reason}");
        }
    }

    #[test]
    fn each_failure_of_a_connection_has_its_message() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        // A name that ends in `invalid` exists nowhere.
        for (url, words) in [
            (format!("http://{free}"), "refuses connections"),
            ("http://ioassay.invalid:1".to_owned(), "check the host's name"),
        ] {
            let reason = reason(ask(&server(&url)).1.err().unwrap());
            assert!(reason.starts_with(&format!("InfluxDB at {url} ")) && reason.contains(words), "{reason}");
        }
        let closing = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", closing.local_addr().unwrap());
        std::thread::spawn(move || closing.incoming().for_each(drop));
        let reason = reason(ask(&server(&url)).1.err().unwrap());
        assert!(reason.contains("closed the connection"), "{reason}");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let directory = tempdir().unwrap();
        let path = directory.path().join("agent.pem");
        for (mode, words) in [(0o644, "chmod 600"), (0o600, "in PEM form")] {
            fs::write(&path, "no key").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let server = Server { certificate: Some(path.clone()), ..server("https://host") };
            let error = Store::open("InfluxDB", &server, "Bearer").err().unwrap().to_string();
            assert!(error.contains(words) && error.contains("certificate"), "{error}");
        }
    }

    #[test]
    fn what_a_store_says_is_cut_short() {
        let store = Store::open("InfluxDB", &server("http://host"), "Bearer").unwrap();
        let excerpt = store.excerpt("words of a page ".repeat(1000).as_bytes());
        assert!(excerpt.ends_with('…') && excerpt.chars().count() <= EXCERPT + 2);
        assert_eq!(store.excerpt(&[0xff; 3]), "\u{fffd}\u{fffd}\u{fffd}");
    }
}
