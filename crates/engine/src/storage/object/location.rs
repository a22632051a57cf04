//! A target's URL, taken apart: `SCHEME://AUTHORITY/PREFIX?OPTION=VALUE&…`.
//!
//! Only options that are known are let through, so that a secret cannot be among them: plans and events are kept and
//! shown. Not here: requests.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use url::Url;
use url::form_urlencoded;

use super::protocol::{self, Protocol};
use crate::storage::Unfit;

/// Where a target is.
#[derive(Clone)]
pub struct Location {
    protocol: &'static Protocol,
    scheme: String,
    authority: String,
    /// Without a slash at either end; may be empty.
    prefix: String,
    options: BTreeMap<String, String>,
    query: String,
}

impl Location {
    /// Takes `url` apart. What is wrong with it is said without repeating what may be secret in it.
    pub fn parse(url: &str) -> Result<Self, Unfit> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return unfit("the URL has no scheme", "write for example s3://bucket/prefix");
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        if matches!(scheme, "http" | "https") {
            let valid = format!("write webdav+{scheme}://{}/… if the server speaks WebDAV", host(authority));
            return unfit(&format!("{scheme} only reads, and a case reads what it has written before"), &valid);
        }
        let Some(protocol) = protocol::of(scheme) else {
            return unfit(
                &format!("nobody speaks {scheme:?}"),
                &format!("take one of {}", protocol::SCHEMES.join(", ")),
            );
        };
        if authority.contains('@') {
            let problem = format!("there is a user or password before {:?}", host(authority));
            return unfit(&problem, &format!("leave it out, {}", by_environment(protocol)));
        }
        // What stands before the path: a bucket, a container, a host; nothing for local files.
        if authority.is_empty() != (scheme == "fs") {
            let valid = if scheme == "fs" { "write fs:///path" } else { "write for example s3://bucket/prefix" };
            return unfit(&format!("{authority:?} names no place"), valid);
        }
        let prefix = path.trim_end_matches('/');
        let strange = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '%' | '#' | '\\');
        if prefix.contains(strange)
            || (!prefix.is_empty() && prefix.split('/').any(|part| matches!(part, "" | "." | "..")))
        {
            let valid = "use names without blanks, %, # and \\, and none that is empty, '.' or '..'";
            return unfit(&format!("{prefix:?} is no path"), valid);
        }
        let options = options(protocol, query)?;
        let [scheme, authority, prefix, query] = [scheme, authority, prefix, query].map(str::to_owned);
        Ok(Self { protocol, scheme, authority, prefix, options, query })
    }

    /// The protocol.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// The scheme.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What stands between scheme and path: a bucket, a container, a host with its port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// An option of the query.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The URL without its query: what paths below it begin with.
    pub fn base(&self) -> PathBuf {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        PathBuf::from(format!("{}://{}{slash}{}", self.scheme, self.authority, self.prefix))
    }

    /// `path`, which is below the base, as a URL that can be given back to [`Location::parse`].
    pub fn url_of(&self, path: &Path) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", path.display(), self.query)
    }

    /// Key of the object at `path`.
    pub fn key(&self, path: &Path) -> io::Result<String> {
        let base = format!("{}://{}/", self.scheme, self.authority);
        let key = path.to_str().and_then(|path| path.strip_prefix(&base));
        key.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{} is not below {base}", path.display())))
    }

    /// Key of what is called `name` below the prefix.
    pub fn below(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// Key of the prefix itself.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The location one level up, and the last name of the prefix.
    pub fn split_last(&self) -> Option<(Self, String)> {
        let (above, name) = self.prefix.rsplit_once('/').unwrap_or(("", &self.prefix));
        let (above, name) = (above.to_owned(), name.to_owned());
        (!name.is_empty()).then(|| (Self { prefix: above, ..self.clone() }, name))
    }
}

/// Without what may be secret before it.
fn host(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn options(protocol: &'static Protocol, query: &str) -> Result<BTreeMap<String, String>, Unfit> {
    let mut options = BTreeMap::new();
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        if !protocol.options.contains(&key.as_ref()) {
            let known = if protocol.options.is_empty() { "none".to_owned() } else { protocol.options.join(", ") };
            return unfit(
                &format!("{key:?} is no option of this target"),
                &format!("known: {known}; {}", by_environment(protocol)),
            );
        }
        let valid = match key.as_ref() {
            "endpoint" => is_endpoint(&value),
            "addressing" => matches!(value.as_ref(), "path" | "virtual-host"),
            "anonymous" => matches!(value.as_ref(), "true" | "false"),
            _ => !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
        };
        if !valid {
            let valid = match key.as_ref() {
                "endpoint" => "write http://HOST:PORT or https://HOST, without a user and a password",
                "addressing" => "take path or virtual-host",
                "anonymous" => "take true or false",
                _ => "use letters, digits, '.', '_' and '-'",
            };
            return unfit(&format!("the value of {key:?} cannot be meant"), valid);
        }
        if options.insert(key.to_string(), value.into_owned()).is_some() {
            return unfit(&format!("{key:?} stands twice in the URL"), "leave one of them out");
        }
    }
    Ok(options)
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

fn unfit<T>(problem: &str, valid: &str) -> Result<T, Unfit> {
    Err(Unfit { problem: problem.to_owned(), valid: valid.to_owned() })
}

#[cfg(test)]
mod tests {
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
        ] {
            let unfit = Location::parse(url).err().unwrap_or_else(|| panic!("{url} was taken"));
            assert!(!unfit.valid.is_empty());
        }
    }
}
