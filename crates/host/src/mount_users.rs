//! The processes that keep a file system busy, so that it cannot be unmounted.
//!
//! Judged by names alone: a server that does not answer cannot make the question hang. Not here: doing anything about it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// At most so many are named.
const MOST_NAMED: usize = 5;

/// Processes with the same mounts as this one that have something of the file system at `mount_point` open, mapped or as
/// their working directory, as far as this user may know: `bash (1234), its working directory`.
pub fn by(mount_point: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let mounts = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
    let namespace = mounts(Path::new("/proc/self"));
    let beside = processes.flatten().filter(|entry| namespace.is_some() && mounts(&entry.path()) == namespace);
    let numbered = beside.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let named = numbered.filter_map(|entry| {
        let process = entry.path();
        let what = what_keeps(&process, mount_point)?;
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        Some(format!("{} ({}), {what}", name.trim_end(), entry.file_name().to_string_lossy()))
    });
    named.take(MOST_NAMED).collect()
}

fn what_keeps(process: &Path, mount_point: &Path) -> Option<String> {
    let link = |path: PathBuf| fs::read_link(path).ok().filter(|to| to.starts_with(mount_point));
    let links = [("cwd", "its working directory"), ("root", "its root directory"), ("exe", "its program")];
    if let Some((_, what)) = links.into_iter().find(|(name, _)| link(process.join(name)).is_some()) {
        return Some(what.to_owned());
    }
    let open = fs::read_dir(process.join("fd"))
        .ok()
        .and_then(|all| all.flatten().find_map(|descriptor| link(descriptor.path())));
    open.or_else(|| mapped(process, mount_point)).map(|path| path.display().to_string())
}

fn mapped(process: &Path, mount_point: &Path) -> Option<PathBuf> {
    let maps = BufReader::new(fs::File::open(process.join("maps")).ok()?);
    let mut paths = maps.lines().map_while(Result::ok).filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    paths.find(|path| path.starts_with(mount_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_a_file_open_is_named_with_it_and_one_that_has_not_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        assert_eq!(by(&place), Vec::<String>::new());
        let path = place.join("held");
        let _held = fs::File::create(&path).unwrap();
        let named = by(&place);
        let ending = format!("({}), {}", std::process::id(), path.display());
        assert!(named.len() == 1 && named[0].ends_with(&ending), "{named:?}");
        let mut child = std::process::Command::new("sleep").arg("600").current_dir(&place).spawn().unwrap();
        let beside = format!("({}), its working directory", child.id());
        let named = by(&place);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(named.iter().any(|name| name.ends_with(&beside)), "{named:?}");
    }
}
