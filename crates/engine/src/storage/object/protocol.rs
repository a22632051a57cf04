//! The protocols: which schemes name them, what each can do, and how an operator for one is made.
//!
//! Credentials come from the environment and from nowhere else: no file of the user, no metadata service.
//! Not here: requests.

use std::env;

use opendal::{Operator, services};
use url::{Position, Url};

use super::location::Location;
use super::tls;
use crate::failure::Explained;
use crate::storage::NameCapabilities;

/// Every scheme that a target may have.
pub(super) const SCHEMES: &[&str] =
    &["s3", "swift", "webhdfs", "swebhdfs", "webdav+http", "webdav+https", "fs", "http", "https"];

/// Objects that are named, and nothing else.
pub(super) const OBJECT_NAMES: NameCapabilities =
    NameCapabilities { directories: false, openat: false, mknod: false, rename: false };

/// Files in directories, behind a protocol.
const FILE_NAMES: NameCapabilities = NameCapabilities { directories: true, openat: false, mknod: false, rename: true };

/// A protocol.
pub struct Protocol {
    /// Its schemes; the second one, where there is one, is the first with TLS.
    schemes: &'static [&'static str],
    /// Keys that the query of a URL may have.
    pub options: &'static [&'static str],
    /// What finishing an object promises: that it is on stable storage.
    pub durable: bool,
    /// How an object of several transfers is written.
    pub writes: Writes,
    /// Directory entries.
    pub names: Option<NameCapabilities>,
    /// Objects lie in directories, which come with the first of them and stay after the last.
    pub directories: bool,
    /// What was just written may be missing in a listing.
    pub listing_lags: bool,
    /// Variables with credentials.
    pub credentials: &'static [&'static str],
    operator: fn(&Location) -> Result<Operator, Explained>,
}

/// Where an S3 server is, and how it is asked.
pub(super) struct S3Place {
    /// Its URL.
    pub endpoint: String,
    /// What requests call it.
    pub host: String,
    /// What keys come after in a path.
    pub root: String,
    /// The region that signatures are for.
    pub region: String,
    /// Access key, secret key and session token; `None` where nothing is signed.
    pub credentials: Option<(String, String, Option<String>)>,
}

/// How an object of several transfers is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// In parts, put together at the end.
    Parts,
    /// One transfer is appended after the other.
    Appends,
    /// Not at all: one request writes an object.
    Whole,
}

static S3: Protocol = Protocol {
    schemes: &["s3"],
    options: &["endpoint", "region", "addressing", "anonymous", tls::CA_FILE, tls::VERIFY],
    durable: true,
    writes: Writes::Parts,
    names: Some(OBJECT_NAMES),
    directories: false,
    listing_lags: false,
    credentials: &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    operator: s3,
};

static SWIFT: Protocol = Protocol {
    schemes: &["swift"],
    options: &["endpoint", tls::CA_FILE, tls::VERIFY],
    durable: true,
    writes: Writes::Parts,
    names: Some(OBJECT_NAMES),
    directories: false,
    listing_lags: true,
    credentials: &["OS_AUTH_TOKEN"],
    operator: swift,
};

static WEBHDFS: Protocol = Protocol {
    schemes: &["webhdfs", "swebhdfs"],
    options: &["user", tls::CA_FILE, tls::VERIFY],
    // A file that is closed is in the memory of the data nodes; HDFS syncs to disk only where it is configured to.
    durable: false,
    writes: Writes::Appends,
    names: Some(FILE_NAMES),
    directories: true,
    listing_lags: false,
    credentials: &["HADOOP_DELEGATION_TOKEN"],
    operator: webhdfs,
};

static WEBDAV: Protocol = Protocol {
    schemes: &["webdav+http", "webdav+https"],
    options: &[tls::CA_FILE, tls::VERIFY],
    durable: false,
    writes: Writes::Whole,
    // DELETE of a collection takes all that is in it, and metadata work removes what should be empty.
    names: None,
    directories: true,
    listing_lags: false,
    credentials: &["WEBDAV_USERNAME", "WEBDAV_PASSWORD", "WEBDAV_TOKEN"],
    operator: webdav,
};

static FS: Protocol = Protocol {
    schemes: &["fs"],
    options: &[],
    durable: true,
    writes: Writes::Parts,
    names: Some(FILE_NAMES),
    directories: true,
    listing_lags: false,
    credentials: &[],
    operator: fs,
};

/// The protocol of a scheme that can be written to.
pub(super) fn of(scheme: &str) -> Option<&'static Protocol> {
    [&S3, &SWIFT, &WEBHDFS, &WEBDAV, &FS].into_iter().find(|protocol| protocol.schemes.contains(&scheme))
}

impl Protocol {
    /// An operator for the root of `location`: keys are whole paths, so that nothing above them is ever created.
    pub(super) fn operator(&self, location: &Location) -> Result<Operator, Explained> {
        (self.operator)(location)
    }

    /// True for S3.
    pub fn is_s3(&self) -> bool {
        self.schemes == S3.schemes
    }

    /// `text` without anything that is secret in this process's environment.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let secrets = self.credentials.iter().filter_map(|name| variable(name)).filter(|value| value.len() > 3);
        secrets.fold(text.to_owned(), |text, secret| text.replace(&secret, "***"))
    }
}

/// What an environment variable says, if anything.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn required_variable(name: &str, hint: &str) -> Result<String, Explained> {
    variable(name).ok_or_else(|| Explained {
        what: format!("{name} is not set"),
        remedy: format!("set it in ioassay's environment{hint}"),
    })
}

fn map_opendal_error(operator: opendal::Result<Operator>) -> Result<Operator, Explained> {
    operator.map_err(|error| Explained {
        what: error.message().to_owned(),
        remedy: "check the URL of the target".to_owned(),
    })
}

fn s3(location: &Location) -> Result<Operator, Explained> {
    let region = s3_region(location);
    let mut s3 = services::S3::default()
        .bucket(location.authority())
        .endpoint(&s3_endpoint(location, &region, 0))
        .region(&region)
        .disable_config_load();
    if has_virtual_host(location) {
        s3 = s3.enable_virtual_host_style();
    }
    let Some((access_key, secret_key, session_token)) = s3_credentials(location)? else {
        return map_opendal_error(Operator::new(s3.skip_signature()));
    };
    s3 = s3.access_key_id(&access_key).secret_access_key(&secret_key);
    if let Some(token) = session_token {
        s3 = s3.session_token(&token);
    }
    map_opendal_error(Operator::new(s3))
}

/// Where the S3 server of `location` is.
///
/// Of several servers it is the one for client `number`: they take turns.
pub(super) fn s3_place(location: &Location, number: u32) -> Result<S3Place, Explained> {
    let region = s3_region(location);
    let endpoint = s3_endpoint(location, &region, number);
    let unusable = |what: String| Explained { what, remedy: "check the endpoint in the target's URL".to_owned() };
    let mut url = Url::parse(&endpoint).map_err(|error| unusable(format!("{endpoint}: {error}")))?;
    let bucket = location.authority();
    let mut root = format!("{}/", url.path().trim_end_matches('/'));
    if has_virtual_host(location) {
        let host = format!("{bucket}.{}", url.host_str().unwrap_or_default());
        url.set_host(Some(&host)).map_err(|error| unusable(format!("{host}: {error}")))?;
    } else {
        root = format!("{root}{bucket}/");
    }
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = format!("{}{port}", url.host_str().unwrap_or_default());
    let endpoint = url[..Position::BeforePath].to_owned();
    Ok(S3Place { endpoint, host, root, region, credentials: s3_credentials(location)? })
}

fn s3_region(location: &Location) -> String {
    let region = location.option("region").map(str::to_owned);
    let region = region.or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
    region.unwrap_or_else(|| "us-east-1".to_owned())
}

fn s3_endpoint(location: &Location, region: &str, number: u32) -> String {
    let endpoints = location.endpoints();
    match endpoints.get(number as usize % endpoints.len().max(1)) {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None => format!("https://s3.{region}.amazonaws.com"),
    }
}

fn has_virtual_host(location: &Location) -> bool {
    location.option("addressing") == Some("virtual-host")
}

fn s3_credentials(location: &Location) -> Result<Option<(String, String, Option<String>)>, Explained> {
    if location.option("anonymous") == Some("true") {
        return Ok(None);
    }
    let hint = ", or add anonymous=true to the query of the target's URL";
    let access_key = required_variable("AWS_ACCESS_KEY_ID", hint)?;
    Ok(Some((access_key, required_variable("AWS_SECRET_ACCESS_KEY", "")?, variable("AWS_SESSION_TOKEN"))))
}

fn swift(location: &Location) -> Result<Operator, Explained> {
    let endpoint = match location.option("endpoint") {
        Some(endpoint) => endpoint.to_owned(),
        None => required_variable("OS_STORAGE_URL", ", or add endpoint=… to the query of the target's URL")?,
    };
    let swift = services::Swift::default().endpoint(&endpoint).container(location.authority());
    map_opendal_error(Operator::new(swift.token(&required_variable("OS_AUTH_TOKEN", "")?)))
}

fn webhdfs(location: &Location) -> Result<Operator, Explained> {
    let mut webhdfs = services::Webhdfs::default().endpoint(&over_http(location));
    if let Some(user) = location.option("user") {
        webhdfs = webhdfs.user_name(user);
    }
    if let Some(token) = variable("HADOOP_DELEGATION_TOKEN") {
        webhdfs = webhdfs.delegation(&token);
    }
    map_opendal_error(Operator::new(webhdfs))
}

fn webdav(location: &Location) -> Result<Operator, Explained> {
    let mut webdav = services::Webdav::default().endpoint(&over_http(location));
    if let (Some(user), Some(password)) = (variable("WEBDAV_USERNAME"), variable("WEBDAV_PASSWORD")) {
        webdav = webdav.username(&user).password(&password);
    }
    if let Some(token) = variable("WEBDAV_TOKEN") {
        webdav = webdav.token(&token);
    }
    map_opendal_error(Operator::new(webdav))
}

fn fs(_: &Location) -> Result<Operator, Explained> {
    map_opendal_error(Operator::new(services::Fs::default().root("/")))
}

/// True if TLS secures the connections to any server of `location`.
pub(super) fn has_tls(location: &Location) -> bool {
    match location.protocol().schemes {
        [_, secured] => *secured == location.scheme(),
        [scheme] if *scheme == FS.schemes[0] => false,
        _ => location.endpoints().first().is_none_or(|endpoint| endpoint.starts_with("https:")),
    }
}

/// Where a protocol with two schemes is spoken.
fn over_http(location: &Location) -> String {
    let tls = location.protocol().schemes.get(1) == Some(&location.scheme());
    format!("{}://{}", if tls { "https" } else { "http" }, location.authority())
}
