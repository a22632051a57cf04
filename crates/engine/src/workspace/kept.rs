//! Datasets that stay on the target for later runs, each in a directory of its own beside the workspaces.
//!
//! A file in it, the manifest, says that it is ours and describes the dataset; a directory without one, or with another
//! description, is refused and nothing in it is touched. A run creates the files that are missing and removes none;
//! [`remove`] does so where its directory is named. Not here: writing the files ([`crate::work`]).

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ioassay_protocol::events::{Failure, Left, Removed};
use ioassay_protocol::plan::Plan;
use ioassay_protocol::plan::train::Dataset;
use serde_json::Value;

use super::list::name_of_ours;
use super::place::{Mounted, Place};
use super::removal;
use crate::beneath::Root;
use crate::failure;
use crate::workload::dataset::{Samples, flat_names, subfolders};

/// The file that says what the dataset is.
const MANIFEST: &str = ".ioassay-dataset";

/// It is written under this name first, so that there is never a part of one.
const MANIFEST_BEGUN: &str = ".ioassay-dataset.new";

/// What the names of its other files begin with.
pub const PREFIX: &str = "samples.";

/// Version of the manifest.
const VERSION: u64 = 1;

/// The directory of the dataset that is kept as `name`.
pub fn directory(target: &Path, name: &str) -> PathBuf {
    target.join(format!("ioassay-dataset-{name}"))
}

/// The kept datasets of a plan with their directories. Only directories of mounted file systems keep any.
fn kept(plan: &Plan) -> impl Iterator<Item = (PathBuf, &Dataset)> {
    let target = plan.target.path().map(Path::to_owned);
    plan.datasets.values().filter_map(move |dataset| {
        let name = dataset.keep.as_deref()?;
        Some((directory(target.as_deref()?, name), dataset))
    })
}

/// An error if a directory that the plan would use is not ours, or holds another dataset. Nothing is written.
pub fn check(plan: &Plan) -> Result<(), Failure> {
    kept(plan).try_for_each(|(path, dataset)| if path.exists() { check_manifest(&path, dataset) } else { Ok(()) })
}

/// Creates the directories of kept datasets that are not there; those that are must hold the same.
pub fn create(plan: &Plan) -> Result<(), Failure> {
    for (path, dataset) in kept(plan) {
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Interrupted before it had its manifest.
                if !is_begun(&path) {
                    check_manifest(&path, dataset)?;
                    continue;
                }
            }
            Err(error) => return Err(failure::on_path("create directory", &path, &error)),
        }
        let begun = path.join(MANIFEST_BEGUN);
        let written = fs::write(&begun, format!("{}\n", manifest(dataset)));
        written
            .and_then(|()| fs::File::open(&begun)?.sync_all())
            .and_then(|()| fs::rename(&begun, path.join(MANIFEST)))
            .map_err(|error| failure::on_path("write", &begun, &error))?;
    }
    Ok(())
}

/// Bytes and files of kept datasets whose directories are there: mostly they need no room any more.
pub fn existing(plan: &Plan) -> (u64, u64) {
    let there = kept(plan).filter(|(path, _)| path.is_dir()).map(|(_, dataset)| Samples::of(dataset));
    there.fold((0, 0), |(bytes, files), samples| (bytes + samples.all_bytes(), files + samples.all_files()))
}

/// Holds the directory of a dataset, which is no link, so that its files are opened beneath it.
pub fn root(path: &Path) -> io::Result<Arc<Root>> {
    let directory = Mounted::own_directory(&CString::new(path.as_os_str().as_bytes())?)?;
    Ok(Arc::new(Root::hold(path, directory)))
}

/// True if `path` is named as the directory of a dataset.
pub fn is_named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ioassay-dataset-"))
}

/// Removes the dataset in the directory `path`: the files that follow from its manifest, the manifest and the directory. What
/// else is in it stays and is named. A directory that is not there is removed.
pub fn remove(path: &Path) -> Result<Removed, Failure> {
    let failed = |error: io::Error| failure::on_path("remove", path, &error);
    let name = path.file_name().and_then(|name| CString::new(name.as_bytes()).ok());
    let (Some(parent), Some(name)) = (path.parent(), name) else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let target = Mounted::directory(parent).map_err(failed)?;
    let mut removed = Removed::default();
    if Mounted.kind(&target, &name).map_err(failed)?.is_none() {
        return Ok(removed);
    }
    let directory = Mounted.open(&target, &name).map_err(failed)?;
    let marks = [MANIFEST, MANIFEST_BEGUN].map(|mark| CString::new(mark).expect("it has no zero"));
    if !is_begun(path) {
        let dataset = stored_manifest(path).and_then(|stored| {
            let dataset = serde_json::from_value::<Dataset>(stored["dataset"].clone());
            dataset.ok().filter(|dataset| dataset.samples_per_file > 0)
        });
        let Some(dataset) = dataset else {
            let message = format!("{} is no dataset of ioassay: nothing in it was touched", path.display());
            return Err(failure::about_path("clean", path, message, "inspect it, and remove it by hand"));
        };
        for file in flat_names(&dataset, PREFIX.to_owned()) {
            match name_of_ours(&file).and_then(|name| removal::remove_file(&Mounted, &directory, &name)) {
                Ok(existed) => removed.files += u64::from(existed),
                Err(error) => left(&mut removed, &path.join(&file), &error),
            }
        }
        for (folder, files) in subfolders(&dataset, PREFIX.to_owned()) {
            if let Ok(name) = name_of_ours(&folder) {
                removal::remove_subfolder(&Mounted, &directory, (path, &name), files, &mut removed);
            }
        }
    }
    let stranger = removal::first_name(&Mounted, &directory, |name| marks.iter().all(|mark| mark.as_c_str() != name));
    if let Some(stranger) = stranger.map_err(failed)? {
        let because = io::Error::other("is not a file of the dataset");
        left(&mut removed, &path.join(removal::as_path(&stranger)), &because);
    }
    // The manifest goes last, and only if nothing else is left: without it nobody could remove the rest.
    if removed.left.is_empty() {
        for mark in &marks {
            removal::remove_file(&Mounted, &directory, mark).map_err(failed)?;
        }
        Mounted.rmdir(&target, &name).map_err(failed)?;
    }
    Ok(removed)
}

fn left(removed: &mut Removed, path: &Path, because: &io::Error) {
    removed.left.push(Left { path: path.display().to_string(), because: because.to_string() });
}

/// The manifest in `path`, if there is one of this version.
fn stored_manifest(path: &Path) -> Option<Value> {
    let stored: Value = serde_json::from_slice(&fs::read(path.join(MANIFEST)).ok()?).ok()?;
    (stored["ioassay_dataset"] == VERSION).then_some(stored)
}

/// True if a directory has nothing in it but what was begun of a manifest.
fn is_begun(path: &Path) -> bool {
    let names = fs::read_dir(path).map(|entries| entries.flatten().map(|entry| entry.file_name()).collect::<Vec<_>>());
    names.is_ok_and(|names| names.iter().all(|name| name == MANIFEST_BEGUN))
}

/// What the manifest of `dataset` holds: all that its files follow from.
fn manifest(dataset: &Dataset) -> Value {
    let description = Dataset { keep: None, ..dataset.clone() };
    serde_json::json!({"ioassay_dataset": VERSION, "dataset": description})
}

fn check_manifest(path: &Path, dataset: &Dataset) -> Result<(), Failure> {
    let file = path.join(MANIFEST);
    let text = fs::read(&file).map_err(|error| error.to_string());
    let stored = text.and_then(|text| serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string()));
    let refused = |message: String, remedy: &str| Err(failure::about_path("open dataset", path, message, remedy));
    let stored = match stored {
        Ok(stored) if stored["ioassay_dataset"] == VERSION => stored,
        Ok(_) | Err(_) if !file.exists() => {
            let message =
                format!("{} is there and is no dataset of ioassay: nothing in it was touched", path.display());
            return refused(message, "give the dataset another name (keep), or move the directory away");
        }
        Ok(_) => {
            let message = format!("{} is of another version of ioassay", file.display());
            return refused(message, "give the dataset another name (keep)");
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}", file.display());
            return refused(message, "give the dataset another name (keep), or remove the directory");
        }
    };
    let differences = differences(&stored["dataset"], &manifest(dataset)["dataset"]);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("{} holds another dataset: {}", path.display(), differences.join(", "));
    let remedy =
        "describe the dataset as it is, give it another name (keep), or remove the directory if nobody needs it";
    refused(message, remedy)
}

/// What differs, each as `KEY is STORED, not WANTED`.
fn differences(stored: &Value, wanted: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let [stored, wanted] = [stored, wanted].map(|value| value.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = stored.keys().chain(wanted.keys()).collect();
    let value = |of: &serde_json::Map<String, Value>, key: &String| of.get(key).unwrap_or(&Value::Null).to_string();
    let differs = keys.into_iter().filter(|key| stored.get(*key) != wanted.get(*key));
    differs.map(|key| format!("{key} is {}, not {}", value(stored, key), value(wanted, key))).collect()
}
