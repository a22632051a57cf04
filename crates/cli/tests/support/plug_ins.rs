//! Plug-ins for tests, compiled by the machine's own compilers.

use std::path::{Path, PathBuf};

use ioassay_engine::compiled::{Cache, Source};
use ioassay_engine::storage::plugin::sources::{self, HEADER};
use ioassay_protocol::plan::storage::Storage;

use super::skipped::skipped;

/// Where they are kept from one run of the tests to the next; elsewhere where another compiler makes them (`make sanitize`).
pub fn cache() -> Cache {
    let elsewhere = std::env::var_os("IOASSAY_TEST_CACHE").map(PathBuf::from);
    Cache::in_directory(elsewhere.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("api")))
}

/// One that comes with the engine. `None`, said aloud, where what it needs is not here.
pub fn shipped(name: &str) -> Option<PathBuf> {
    let shipped = sources::shipped(name).unwrap();
    let source = shipped.source(sources::compiler(shipped.compilers));
    source
        .find_or_build(&cache())
        .inspect_err(|failure| skipped("a plug-in", failure.message.lines().next().unwrap_or_default()))
        .ok()
}

/// The storage API at `path`.
pub fn storage(name: &str, path: PathBuf) -> Storage {
    Storage { plugin: Some(path), ..Storage::of(name) }
}

/// A plug-in that breaks the contract as number `number` in plug_ins/wrong.c, and its name.
pub fn wrong(number: u32) -> (String, PathBuf) {
    let name = format!("wrong-{number}");
    let defines = [format!("-DWRONG={number}"), format!("-DNAME=\"{name}\""), "-Wno-format-truncation".to_owned()];
    let files = [("wrong.c", include_str!("../plug_ins/wrong.c")), HEADER];
    let arguments = defines.each_ref().map(String::as_str);
    let source = Source { name: &name, files: &files, compiler: "cc", arguments: &arguments, remedy: "install gcc" };
    let path = source.find_or_build(&cache()).unwrap_or_else(|failure| panic!("{}", failure.message));
    (name, path)
}
