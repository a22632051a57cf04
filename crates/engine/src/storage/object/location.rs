//! The URLs of object stores: which scheme names which protocol, and what may stand in its query.
//!
//! Not here: what all URLs have in common ([`crate::storage::location`]), requests.

use url::Url;

use super::protocol::{self, Protocol};
use super::tls;
use crate::storage::Unfit;
use crate::storage::location::{Grammar, host, unfit};

/// Where an object store is.
pub type Location = crate::storage::location::Location<&'static Protocol>;

impl Location {
    /// Takes `url` apart. Errors do not repeat what may be secret in it.
    pub fn parse(url: &str) -> Result<Self, Unfit> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return unfit("the URL has no scheme", "write for example s3://bucket/prefix");
        };
        if matches!(scheme, "http" | "https") {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let valid = format!("write webdav+{scheme}://{}/… if the server speaks WebDAV", host(authority));
            return unfit(&format!("{scheme} only reads, but a case must write what it reads"), &valid);
        }
        let Some(protocol) = protocol::of(scheme) else {
            return unfit(
                &format!("there is no storage for the scheme {scheme:?}"),
                &format!("use one of {}", protocol::SCHEMES.join(", ")),
            );
        };
        let grammar = Grammar {
            options: protocol.options,
            value,
            authority: if scheme == "fs" { no_authority } else { some_authority },
            credentials: by_environment(protocol),
        };
        let location = Self::taken_apart(url, protocol, &grammar)?;
        if location.endpoints().len() > 1 && !protocol.is_s3() {
            return unfit("only S3 can have several endpoints", "name one endpoint, or use S3");
        }
        let schemes =
            |scheme: &str| location.endpoints().iter().filter(|endpoint| endpoint.starts_with(scheme)).count();
        if schemes("https:") > 0 && schemes("http:") > 0 {
            return unfit("some endpoints use TLS and others do not", "use https for all of them, or http");
        }
        if location.options().any(|(key, _)| matches!(key, tls::CA_FILE | tls::VERIFY)) && !protocol::has_tls(&location)
        {
            let problem = format!("{} and {} are about TLS, which this target does not use", tls::CA_FILE, tls::VERIFY);
            return unfit(&problem, "use https, or leave them out");
        }
        if location.option(tls::CA_FILE).is_some() && !tls::is_verified(&location) {
            let problem = format!("{} has no meaning with {}=no", tls::CA_FILE, tls::VERIFY);
            return unfit(&problem, "leave one of them out");
        }
        Ok(location)
    }

    /// Its endpoints, as far as the URL names any.
    pub fn endpoints(&self) -> Vec<&str> {
        self.option("endpoint").map(|endpoints| endpoints.split(',').collect()).unwrap_or_default()
    }

    /// The same place at each of its endpoints alone, in their order; itself where the URL names none.
    pub fn by_endpoint(&self) -> Vec<Self> {
        let alone = |endpoint| self.with_option("endpoint", endpoint);
        let each: Vec<Self> = self.endpoints().into_iter().map(alone).collect();
        if each.is_empty() { vec![self.clone()] } else { each }
    }

    /// False if the server's certificate is not verified.
    pub fn is_verified(&self) -> bool {
        tls::is_verified(self)
    }
}

/// A bucket, a container, a host.
fn some_authority(authority: &str) -> Result<(), &'static str> {
    if authority.is_empty() { Err("write for example s3://bucket/prefix") } else { Ok(()) }
}

/// Local files have none.
fn no_authority(authority: &str) -> Result<(), &'static str> {
    if authority.is_empty() { Ok(()) } else { Err("write fs:///path") }
}

fn value(key: &str, value: &str) -> Result<(), &'static str> {
    let (can_be_meant, valid) = match key {
        "endpoint" => (
            value.split(',').all(is_endpoint),
            "write http://HOST:PORT or https://HOST, without user and password, several with commas between them",
        ),
        tls::VERIFY => (matches!(value, "yes" | "no"), "use yes or no"),
        tls::CA_FILE => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
            (value.starts_with('/') && value.chars().all(plain), "write the absolute path of a PEM file")
        }
        "addressing" => (matches!(value, "path" | "virtual-host"), "use path or virtual-host"),
        "anonymous" => (matches!(value, "true" | "false"), "use true or false"),
        _ => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            (!value.is_empty() && value.chars().all(plain), "use letters, digits, '.', '_' and '-'")
        }
    };
    if can_be_meant { Ok(()) } else { Err(valid) }
}

fn is_endpoint(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        let clean = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        matches!(url.scheme(), "http" | "https") && clean
    })
}

fn by_environment(protocol: &Protocol) -> String {
    if protocol.credentials.is_empty() {
        return "there are no credentials".to_owned();
    }
    format!("credentials come from the environment only: {}", protocol.credentials.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_put_together_again() {
        let url = "s3://bucket/a/b?endpoint=http://127.0.0.1:7070&region=eu-west-1";
        let location = Location::parse(url).unwrap();
        assert_eq!((location.scheme(), location.authority()), ("s3", "bucket"));
        assert_eq!(location.option("endpoint"), Some("http://127.0.0.1:7070"));
        let workspace = location.base().join("ioassay-r1");
        assert_eq!(location.key(&workspace.join("f")).unwrap(), "a/b/ioassay-r1/f");
        assert_eq!(location.below("ioassay-r1"), "a/b/ioassay-r1");
        let again = Location::parse(&location.url_of(&workspace)).unwrap();
        let (above, name) = again.split_last().unwrap();
        assert_eq!((above.url_of(&above.base()).as_str(), name.as_str()), (url, "ioassay-r1"));
        assert!(location.key(Path::new("s3://other/a/b/f")).is_err());
    }

    #[test]
    fn the_root_of_a_bucket_and_local_files_are_places_too() {
        assert_eq!(Location::parse("s3://bucket").unwrap().below("x"), "x");
        let local = Location::parse("fs:///tmp/x/").unwrap();
        assert_eq!(local.key(&local.base().join("f")).unwrap(), "tmp/x/f");
    }

    #[test]
    fn a_url_with_a_secret_is_refused_without_repeating_it() {
        for url in [
            "s3://bucket/x?secret_access_key=hunter2",
            "s3://bucket/x?endpoint=http://me:hunter2@host",
            "webdav+https://me:hunter2@host/x",
            "http://me:hunter2@host/x",
            "swift://box/x?token=hunter2",
        ] {
            let unfit = Location::parse(url).err().unwrap();
            assert!(!format!("{unfit:?}").contains("hunter2"), "{unfit:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_would_be_valid() {
        for url in [
            "s3:bucket",
            "gopher://x/y",
            "s3:///x",
            "fs://host/x",
            "s3://bucket/a//b",
            "s3://bucket/../b",
            "s3://bucket/a b",
            "s3://bucket/x?addressing=sideways",
            "s3://bucket?region=a&region=b",
            "webhdfs://host:1/x?user=a%26op=DELETE",
            "https://host/x",
            "s3://bucket?endpoint=http://a:1,ftp://b:1",
            "s3://bucket?endpoint=http://a:1,",
            "s3://bucket?endpoint=http://a:1,https://b:1",
            "swift://box?endpoint=https://a:1,https://b:1",
            "s3://bucket?endpoint=http://a:1&tls-verify=no",
            "s3://bucket?endpoint=https://a:1&tls-verify=maybe",
            "s3://bucket?endpoint=https://a:1&ca-file=site.pem",
            "s3://bucket?endpoint=https://a:1&ca-file=/site.pem&tls-verify=no",
            "webdav+http://host/x?ca-file=/site.pem",
            "fs:///x?tls-verify=no",
        ] {
            let unfit = Location::parse(url).err().unwrap_or_else(|| panic!("{url} was taken"));
            assert!(!unfit.valid.is_empty());
        }
    }
}
