//! Plug-ins for tests, compiled by the machine's own compilers.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ioassay_contract::plan::storage::Storage;
use ioassay_engine::compiled::{Cache, Source};
use ioassay_engine::storage::plugin::sources::{self, HEADER};

/// Where they are kept from one run of the tests to the next.
pub fn cache() -> Cache {
    Cache::at(Path::new(env!("CARGO_TARGET_TMPDIR")).join("api"))
}

/// One that comes with the engine. `None`, said aloud, where what it needs is not here.
pub fn shipped(name: &str) -> Option<PathBuf> {
    let shipped = sources::shipped(name).unwrap();
    let source = shipped.source(sources::compiler(shipped.compilers));
    source.find_or_build(&cache()).inspect_err(|failure| skipped(&failure.message)).ok()
}

/// Says aloud that a test is skipped, once for each test: it is counted.
pub fn skipped(why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    if !SAID.lock().unwrap().insert(test.clone()) {
        return;
    }
    // Not eprintln!, of which the harness shows nothing where a test passes.
    let why = why.lines().next().unwrap_or_default();
    let _ = writeln!(io::stderr(), "SKIPPED: {test}: what it needs cannot be had: {why}");
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
