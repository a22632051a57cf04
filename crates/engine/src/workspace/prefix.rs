//! The workspace behind a URL: a prefix of its own, with a list object in it that is written before any other.
//!
//! The rules are those of a directory. Objects are deleted by the names that follow from the list, and by no other:
//! a listing only tells which of them are there, and what else is, which stays and is named. No request deletes more
//! than it names.
//!
//! Each step has a client of its own and drops it: ranks are forked by this process, and a fork copies no thread.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt, TryStreamExt, stream};
use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::metadata::Items;
use ioassay_protocol::plan::workspace_name;
use opendal::{EntryMode, ErrorKind, Operator};

use super::contents::{Contents, WorkspaceTree};
use super::list::{self, LIST, Mark, name_of_ours};
use super::marked::{self, not_ours};
use super::room::Room;
use crate::failure;
use crate::storage::object::client::{Client, HOUSEKEEPING_RETRIES, Timeout, repeated};
use crate::storage::object::location::Location;
use crate::storage::object::s3::S3;
use crate::workload::tree::{Entries, EntryPath};

/// Objects that one request deletes, where the protocol can delete several: few enough for a slow server to do so in time.
const BATCH: usize = 100;

/// Deletes under way at a time, where each is a request.
const AT_A_TIME: usize = 16;

/// More strangers than this are not named one by one.
const MOST_NAMED: usize = 100;

/// The prefix of a run that exists.
#[derive(Clone)]
pub struct Prefix {
    /// Its target.
    location: Location,
    name: String,
    path: PathBuf,
}

impl fmt::Debug for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Prefix({})", self.url())
    }
}

/// What lies below a prefix, by name.
#[derive(Debug, Default)]
struct There {
    objects: BTreeSet<String>,
    /// Directories, each with a slash at its end.
    directories: BTreeSet<String>,
}

impl Prefix {
    /// Of `run` below `url`. Nothing is asked of the server.
    pub fn of(url: &str, run: &str) -> Result<Self, Failure> {
        let location = location(url)?;
        let name = workspace_name(run);
        let path = location.base().join(&name);
        Ok(Self { location, name, path })
    }

    /// An error if the target cannot be listed at each of its endpoints, or if something has the name of the workspace of
    /// `run`. Nothing is written. How much room there is no protocol tells.
    pub fn check(url: &str, run: &str) -> Result<Room, Failure> {
        let prefix = Self::of(url, run)?;
        for location in prefix.location.by_endpoint() {
            let there = Self { location, ..prefix.clone() };
            there.refuse_existing(&there.client()?)?;
        }
        Ok(Room { free_bytes: None, free_inodes: None })
    }

    /// Creates the prefix of `run` for `contents`.
    pub fn create(url: &str, run: &str, contents: &Contents) -> Result<Self, Failure> {
        let prefix = Self::of(url, run)?;
        let client = prefix.client()?;
        prefix.refuse_existing(&client)?;
        let list = prefix.key(LIST);
        if let Err(error) = client.settle(|| client.operator().write(&list, list::list(run, None, contents))) {
            let failure = failure::on_path("write", &prefix.path.join(LIST), &error);
            // It may be there in spite of the error; only the list can be.
            let _ = client.settle(|| client.operator().delete(&list));
            let _ = prefix.remove_itself(&client);
            return Err(failure);
        }
        Ok(prefix)
    }

    /// Opens what an earlier process left at `url`; `None` if nothing is there. Refuses what has no list that says
    /// it is the workspace of that name.
    pub fn open(url: &str) -> Result<Option<Self>, Failure> {
        use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};

        let refused = || not_ours(Path::new(url), "URL `…/ioassay-RUN?…`");
        let (location, name) = location(url)?.split_last().ok_or_else(refused)?;
        let path = location.base().join(&name);
        let prefix = Self { location, name, path };
        let client = prefix.client()?;
        match prefix.read_list(&client) {
            Ok((mark, _)) if prefix.name == workspace_name(&mark.run) => Ok(Some(prefix)),
            Err(error) if error.kind() == NotFound && !prefix.exists(&client)? => Ok(None),
            // What the server refuses, or does not answer, says nothing of what lies there.
            Err(error) if !matches!(error.kind(), NotFound | InvalidData | UnexpectedEof) => {
                Err(failure::on_path("read", &prefix.path.join(LIST), &error))
            }
            _ => Err(refused()),
        }
    }

    /// What paths below it begin with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its URL, as [`Prefix::open`] takes it.
    pub fn url(&self) -> String {
        self.location.url_of(&self.path)
    }

    fn client(&self) -> Result<Client, Failure> {
        Client::new(self.location.clone(), Timeout::Seconds)
            .map_err(|error| failure::on_path("connect to", &self.location.base(), &error))
    }

    /// The key of what is called `name` below the prefix; of the prefix itself with no name.
    fn key(&self, name: &str) -> String {
        self.location.below(&format!("{}/{name}", self.name))
    }

    fn refuse_existing(&self, client: &Client) -> Result<(), Failure> {
        if self.location.protocol().directories {
            self.look_at_target(client)?;
        }
        if !self.exists(client)? {
            return Ok(());
        }
        Err(marked::exists(&self.path))
    }

    /// An error if the target is no directory that exists: nothing above the workspace is created.
    fn look_at_target(&self, client: &Client) -> Result<(), Failure> {
        let base = self.location.base();
        let unusable = |error: &io::Error| failure::on_path("open target", &base, error);
        let key = format!("{}/", self.location.prefix());
        match client.settle(|| client.operator().stat(&key)) {
            Ok(about) if about.is_dir() => Ok(()),
            Ok(_) => Err(unusable(&io::Error::from_raw_os_error(libc::ENOTDIR))),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// True if anything has the name of the prefix, or lies below it.
    fn exists(&self, client: &Client) -> Result<bool, Failure> {
        let operator = client.operator();
        let key = self.key("");
        let answer = if self.location.protocol().directories {
            client.settle(|| async {
                match operator.stat(key.trim_end_matches('/')).await {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    // Whatever is there: also a directory that should be no directory.
                    other => return other.map(|_| true),
                }
                match operator.stat(&key).await {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                    other => other.map(|_| true),
                }
            })
        } else {
            client.settle(|| async {
                let mut first = operator.lister_with(&key).recursive(true).limit(1).await?;
                Ok(first.try_next().await?.is_some())
            })
        };
        answer.map_err(|error| failure::on_path("look for", &self.path, &error))
    }

    fn read_list(&self, client: &Client) -> io::Result<(Mark, Contents)> {
        let list = self.key(LIST);
        list::parse(&client.settle(|| client.operator().read(&list))?.to_bytes())
    }

    /// Removes the objects of the list, the directories that came with them, and the list: but where ranks were `abandoned`
    /// within a request, the server may still create an object (a multipart upload takes seconds to be completed), which
    /// nobody could remove without the list.
    pub fn remove(&self, abandoned: bool) -> Removed {
        let mut removed = Removed::default();
        if let Err(failure) = self.remove_into(&mut removed, abandoned) {
            removed.left.push(Left { path: self.url(), because: failure.message });
        }
        removed
    }

    fn remove_into(&self, removed: &mut Removed, abandoned: bool) -> Result<(), Failure> {
        let client = self.client()?;
        let list_path = self.path.join(LIST);
        let (_, contents) = match self.read_list(&client) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.exists(&client)? => return Ok(()),
            read => read.map_err(|error| failure::on_path("read", &list_path, &error))?,
        };
        let mut there = self.there(&client)?;
        there.objects.remove(LIST);
        self.give_up_uploads(&contents, &there, removed);
        let lags = self.location.protocol().listing_lags;
        let mut batch = Vec::with_capacity(BATCH);
        for name in objects(&contents) {
            let listed = there.objects.remove(&name);
            removed.files += u64::from(listed);
            if listed || lags {
                batch.push(name);
            }
            if batch.len() == BATCH {
                self.delete(&client, &mut batch, removed);
            }
        }
        self.delete(&client, &mut batch, removed);
        for name in directories(&contents).filter(|name| there.directories.contains(name)).collect::<Vec<_>>() {
            let key = self.key(&name);
            match client.settle(|| client.operator().delete(&key)) {
                Ok(()) => drop(there.directories.remove(&name)),
                Err(error) => self.left(removed, &name, &error.to_string()),
            }
        }
        for name in there.objects.iter().chain(&there.directories) {
            self.left(removed, name, "is not on the list of files that ioassay created");
        }
        if abandoned {
            self.left(
                removed,
                LIST,
                "is kept for `ioassay clean`: the server may still do what killed ranks asked for",
            );
        }
        if !removed.left.is_empty() {
            return Ok(());
        }
        // The list goes last: without it nobody could remove the rest.
        let list = self.key(LIST);
        let deleted = client.settle(|| client.operator().delete(&list));
        deleted.map_err(|error| failure::on_path("delete", &list_path, &error))?;
        self.remove_itself(&client)
    }

    /// Gives up the incomplete uploads of objects on the list: no listing of objects shows them, and they cost their owner
    /// money. Those of other objects stay and are named.
    fn give_up_uploads(&self, contents: &Contents, there: &There, removed: &mut Removed) {
        if !self.location.protocol().is_s3() || !contents.has_parts() {
            return;
        }
        let given_up = S3::new(self.location.clone(), HOUSEKEEPING_RETRIES, 0).and_then(|s3| {
            let mut uploads = s3.uploads(&self.key(""))?;
            if uploads.is_empty() {
                // Some servers list uploads only by their whole key.
                for name in contents.begun(|name| there.objects.contains(name)) {
                    uploads.extend(s3.uploads(&self.key(&name))?);
                }
            }
            if uploads.is_empty() {
                return Ok(());
            }
            let ours: BTreeSet<String> = objects(contents).map(|name| self.key(&name)).collect();
            for upload in uploads {
                if ours.contains(&upload.key) {
                    s3.abort(&upload)?;
                } else if let Some(name) = upload.key.strip_prefix(&self.key("")) {
                    self.left(removed, name, "is an incomplete upload that ioassay did not begin");
                }
            }
            Ok(())
        });
        if let Err(error) = given_up {
            self.left(removed, "", &format!("incomplete uploads below it could not be ended: {error}"));
        }
    }

    /// Removes the directory, where the protocol has directories.
    fn remove_itself(&self, client: &Client) -> Result<(), Failure> {
        if !self.location.protocol().directories {
            return Ok(());
        }
        // Over WebDAV a directory takes along what is in it, so it must have nothing.
        let there = self.there(client)?;
        if let Some(other) = there.objects.iter().chain(&there.directories).next() {
            let message = format!("{} appeared while the workspace was being removed", self.path.join(other).display());
            return Err(failure::about_path("delete", &self.path, message, "inspect it, and remove it by hand"));
        }
        let key = self.key("");
        let deleted = client.settle(|| client.operator().delete(&key));
        deleted.map_err(|error| failure::on_path("delete", &self.path, &error))
    }

    /// What lies below the prefix.
    fn there(&self, client: &Client) -> Result<There, Failure> {
        let prefix = self.key("");
        let listed = client.settle(|| async {
            let mut there = There::default();
            let mut entries = client.operator().lister_with(&prefix).recursive(true).await?;
            while let Some(entry) = entries.try_next().await? {
                let Some(name) = entry.path().strip_prefix(&prefix).filter(|name| !name.is_empty()) else { continue };
                let into = match entry.metadata().mode() {
                    EntryMode::DIR => &mut there.directories,
                    _ => &mut there.objects,
                };
                into.insert(name.to_owned());
            }
            Ok(there)
        });
        match listed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(There::default()),
            listed => listed.map_err(|error| failure::on_path("list", &self.path, &error)),
        }
    }

    /// Deletes what is called so below the prefix.
    fn delete(&self, client: &Client, names: &mut Vec<String>, removed: &mut Removed) {
        let operator = client.operator();
        if operator.info().capability().delete_max_size.is_some_and(|size| size > 1) {
            let deleted = client.settle(|| operator.delete_iter(names.iter().map(|name| self.key(name))));
            if let (Err(error), Some(first)) = (deleted, names.first()) {
                let because = format!("could not be deleted, like {} others: {error}", names.len() - 1);
                self.left(removed, first, &because);
            }
        } else {
            let failed: Vec<_> = client.run(self.delete_each(operator, names).collect());
            for (name, error) in failed {
                self.left(removed, &name, &client.explain(&error).to_string());
            }
        }
        names.clear();
    }

    /// Deletes one by one, several at a time; those that failed.
    fn delete_each<'a>(
        &'a self,
        operator: &'a Operator,
        names: &'a [String],
    ) -> impl stream::Stream<Item = (String, opendal::Error)> + 'a {
        let delete = move |name: &'a String| async move {
            let key = self.key(name);
            repeated(|| operator.delete(&key)).await.err().map(|error| (name.clone(), error))
        };
        stream::iter(names).map(delete).buffer_unordered(AT_A_TIME).filter_map(std::future::ready)
    }

    fn left(&self, removed: &mut Removed, name: &str, because: &str) {
        if removed.left.len() < MOST_NAMED {
            let path = self.path.join(name).display().to_string();
            removed.left.push(Left { path, because: because.to_owned() });
        }
    }
}

fn location(url: &str) -> Result<Location, Failure> {
    Location::parse(url).map_err(|unfit| failure::plain("open target", unfit.problem, &unfit.valid))
}

/// Names of all objects that may be there. A list that names anything else was not written by us.
fn objects(contents: &Contents) -> impl Iterator<Item = String> {
    let files = contents.file_names().filter(|name| name_of_ours(name).is_ok());
    let in_subfolders = contents.subfolders().filter(|(folder, _)| name_of_ours(folder).is_ok());
    let in_subfolders = in_subfolders.flat_map(|(folder, files)| files.map(move |file| format!("{folder}/{file}")));
    files.chain(in_subfolders).chain(trees(contents).filter(|tree| tree.shape.items == Items::Files).flat_map(items))
}

/// Names of all directories that may be there, each before the one that it is in, with a slash at the end.
fn directories(contents: &Contents) -> impl Iterator<Item = String> {
    let subfolders = contents.subfolders().map(|(folder, _)| folder).filter(|folder| name_of_ours(folder).is_ok());
    let of_trees = trees(contents).flat_map(|tree| {
        let shape = tree.shape;
        let container = tree.container.clone();
        let bytes = container.clone().into_bytes();
        let directories = (0..shape.trees).flat_map(move |number| {
            let mut path = EntryPath::new(shape, Some(&bytes), Entries::Directories { tree: number });
            // A directory has a smaller number than those in it.
            (0..shape.directories).rev().map(move |directory| {
                path.set(shape.parent(directory), directory);
                text(path.as_c_str())
            })
        });
        let item_directories = (shape.items == Items::Directories).then(|| items(tree));
        item_directories.into_iter().flatten().chain(directories).chain([container])
    });
    subfolders.chain(of_trees).map(|name| name + "/")
}

fn trees(contents: &Contents) -> impl Iterator<Item = WorkspaceTree> {
    contents.trees().filter(|tree| name_of_ours(&tree.container).is_ok())
}

/// Names of all items of a tree.
fn items(tree: WorkspaceTree) -> impl Iterator<Item = String> {
    let shape = tree.shape;
    let names: &[bool] = if tree.renamed { &[false, true] } else { &[false] };
    let each = names.iter().flat_map(move |&renamed| (0..shape.parts).map(move |part| (renamed, part)));
    each.flat_map(move |(renamed, part)| {
        let mut path = EntryPath::new(shape, Some(tree.container.as_bytes()), Entries::Items { part, renamed });
        (0..shape.directories)
            .flat_map(move |directory| shape.items_in(directory).map(move |item| (directory, item)))
            .map(move |(directory, item)| {
                path.set(Some(directory), item);
                text(path.as_c_str())
            })
    })
}

fn text(path: &CStr) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_does_not_answer_says_nothing_of_whose_a_workspace_is() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("s3://bucket/ioassay-r?endpoint=http://127.0.0.1:{port}&anonymous=true");
        let failure = Prefix::open(&url).unwrap_err();
        assert!(failure.message.contains("Connection refused"), "{}", failure.message);
        assert!(failure.remedy.contains("check that the endpoint is correct"), "{}", failure.remedy);
    }
}
