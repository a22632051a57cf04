//! Programs and libraries of every kind: those that the recorder reaches are recorded whatever else is loaded, and those
//! that it cannot reach are named.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::record::{Place, Record, compiled, copy_program, library, run, try_compile};
use crate::support::skipped::skipped;
use ioassay_record::operation::Operation::{Close, Open, Read, Write};

#[test]
fn what_constructors_and_destructors_do_is_counted() {
    let library = library("libraries");
    let record = run("loads", &["load", library.to_str().unwrap()]);
    let image = record.only();
    let writes = |name| image.file(name).writes().calls;
    assert_eq!((writes("first"), writes("last"), writes("between")), (3, 4, 20));
    assert_eq!((writes("constructor"), writes("in library"), writes("library's destructor")), (40, 60, 80));
    assert!(image.ended());
}

#[test]
fn a_library_that_is_linked_has_its_destructor_counted() {
    let library = library("libraries");
    let options = [library.to_str().unwrap(), "-Wl,--no-as-needed"];
    let program = try_compile("cc", "loads", &[options[1], options[0]]).unwrap();
    let record = Place::new().record(&[program.to_str().unwrap(), "nothing"]).record();
    let writes = |name| record.only().file(name).writes().calls;
    assert_eq!((writes("first"), writes("last")), (3, 4));
    assert_eq!((writes("constructor"), writes("library's destructor")), (2, 4));
}

#[test]
fn a_library_that_binds_to_its_own_symbols_first_passes_by_unharmed() {
    let library = library("libraries");
    let record = run("loads", &["load alone", library.to_str().unwrap()]);
    assert_eq!(record.only().file("between").writes().calls, 20);
}

fn other() -> PathBuf {
    try_compile("cc", "libraries", &["-shared", "-fPIC", "-DPRELOADED"]).unwrap()
}

#[test]
fn another_preloaded_library_before_or_behind_works_as_it_did() {
    let program = compiled("loads");
    let other = other();
    // Behind, as `record` puts it.
    let mut place = Place::new();
    place.environment = vec![("LD_PRELOAD", other.clone().into())];
    let behind = place.record(&[program.to_str().unwrap(), "_exit"]);
    assert!(behind.status.success(), "{}", behind.stderr);
    let behind = behind.record();
    assert_eq!((behind.first().file("x").writes().calls, behind.first().file("constructor").writes().calls), (2, 2));
    assert_eq!(fs::metadata(place.path("other's exit")).unwrap().len(), 10);
    // Before: a shell puts it there.
    let place = Place::new();
    let script = format!("LD_PRELOAD='{}':$LD_PRELOAD exec '{}' _exit", other.display(), program.display());
    let before = place.record(&["/bin/sh", "-c", &script]);
    assert!(before.status.success(), "{}", before.stderr);
    let before = before.record();
    let image = before.image("_exit");
    assert_eq!((image.file("x").writes().calls, image.file("other's exit").writes().calls), (2, 1));
}

#[test]
fn other_allocators_work_as_they_did() {
    let libraries = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"];
    let directories = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"];
    for name in libraries {
        let Some(library) = directories.iter().map(|within| Path::new(within).join(name)).find(|path| path.exists())
        else {
            skipped(name, "apt install libjemalloc2 libtcmalloc-minimal4");
            continue;
        };
        let check = |record: Record, how: &str| {
            let children: u64 = record.images.iter().map(|image| image.file("x").writes().calls).sum();
            assert_eq!(children, 9 * 20, "{name} {how}");
        };
        let program = compiled("loads");
        let program = program.to_str().unwrap();
        let mut place = Place::new();
        place.environment = vec![("LD_PRELOAD", library.clone().into())];
        let ran = place.record(&[program, "allocate"]);
        assert!(ran.status.success(), "{name}: {}", ran.stderr);
        check(ran.record(), "behind");
        let script = format!("LD_PRELOAD='{}':$LD_PRELOAD exec '{program}' allocate", library.display());
        let ran = Place::new().record(&["/bin/sh", "-c", &script]);
        assert!(ran.status.success(), "{name}: {}", ran.stderr);
        check(ran.record(), "before");
        let linked = try_compile("cc", "loads", &["-Wl,--no-as-needed", library.to_str().unwrap()]).unwrap();
        let ran = Place::new().record(&[linked.to_str().unwrap(), "allocate"]);
        assert!(ran.status.success(), "{name}: {}", ran.stderr);
        check(ran.record(), "linked");
    }
}

/// What escaped: programs and reasons.
fn escaped(record: &Record) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let all = record.document["escaped"].as_array().unwrap();
    all.iter().map(|escape| (text(&escape["path"]), text(&escape["reason"]))).collect()
}

/// Runs a program from a shell, which is recorded, and expects it to be named.
fn escapes(program: &Path, reason: &str) {
    let place = Place::new();
    let script = format!("'{}' && echo done", program.display());
    let ran = place.record(&["/bin/sh", "-c", &script]);
    assert_eq!((ran.status.code(), ran.output.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("was not recorded"), "{}", ran.stderr);
    assert_eq!(escaped(&ran.record()), [(program.display().to_string(), reason.to_owned())]);
}

#[test]
fn a_static_program_runs_and_is_named() {
    match try_compile("cc", "plain", &["-static"]) {
        Some(program) => escapes(&program, "static"),
        None => skipped("a static program", "install the static C library"),
    }
}

#[test]
fn a_program_of_another_c_library_is_recorded() {
    match try_compile("musl-gcc", "plain", &[]) {
        Some(program) => {
            let ran = Place::new().record(&[program.to_str().unwrap()]);
            assert!(ran.status.success(), "{}", ran.stderr);
            let record = ran.record();
            assert_eq!((record.sum("x", Write), record.only().ended(), escaped(&record)), ((1, 10), true, Vec::new()));
        }
        None => skipped("a program of musl", "apt install musl-tools"),
    }
}

#[test]
fn a_go_program_runs_and_is_named() {
    let place = Place::new();
    let source = place.path("main.go");
    fs::write(&source, "package main\nimport \"os\"\nfunc main() { os.WriteFile(\"x\", []byte(\"text\"), 0o600) }\n")
        .unwrap();
    let program = place.path("program");
    let go = ["go", "/usr/local/go/bin/go"].into_iter().find(|go| Command::new(go).arg("version").output().is_ok());
    let built = go.map(|go| {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
        let environment =
            [("GOCACHE", cache.clone()), ("GOPATH", cache)].map(|(name, path)| (name, OsString::from(path)));
        Command::new(go)
            .args(["build", "-o"])
            .arg(&program)
            .arg(&source)
            .envs(environment)
            .env("CGO_ENABLED", "0")
            .status()
    });
    match built {
        Some(Ok(status)) if status.success() => escapes(&program, "static"),
        _ => skipped("a Go program", "install Go"),
    }
}

#[test]
fn a_setuid_program_runs_and_is_named() {
    if !nix::unistd::geteuid().is_root() {
        skipped("a setuid program of another user", "it needs root");
        return;
    }
    let place = Place::new();
    let program = place.path("setuid");
    copy_program(&compiled("plain"), &program);
    nix::unistd::chown(&program, Some(65534.into()), None).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    for path in [place.root.path(), &place.path("")] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    // In its own directory, since it may not write in another.
    let ran = place.record(&["/bin/sh", "-c", "./setuid && echo done"]);
    assert_eq!((ran.status.code(), ran.output.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    assert_eq!(escaped(&ran.record()).len(), 1);
    assert_eq!(fs::read(place.path("x")).unwrap().len(), 10);
}

#[test]
fn a_program_that_seals_itself_is_not_killed_for_the_recorders_calls() {
    let program = compiled("sealed");
    for how in ["prctl", "syscall"] {
        let ran = Place::new().record(&[program.to_str().unwrap(), how]);
        assert!(ran.status.success(), "{how}: {:?} {}", ran.status, ran.stderr);
        let record = ran.record();
        let image = record.only();
        assert_eq!((image.file("x").writes().calls, image.file("y").writes().calls), (7, 5), "{how}");
        assert_eq!(image.file("x").reads().calls, 6, "{how}");
    }
}

#[test]
fn a_program_that_forbids_the_clock_is_counted_up_to_there_and_goes_on() {
    let program = compiled("sealed");
    for how in ["strict", "no counter", "sealed, no counter"] {
        let ran = Place::new().record(&[program.to_str().unwrap(), how]);
        assert!(ran.status.success(), "{how}: {:?} {}", ran.status, ran.stderr);
        let record = ran.record();
        let image = record.only();
        assert_eq!(image.file("x").writes().calls, 3, "{how}");
        // With the counters of the moment, nothing would seem to be missing.
        assert_eq!(image.kernel, [0; 4], "{how}");
    }
}

#[test]
fn random_calls_of_threads_and_forked_processes_are_what_they_counted_themselves() {
    for seed in ["1", "2", "3"] {
        let record = run("fuzz", &[seed, "1500"]);
        let sum = |operation| {
            let each = record.images.iter().map(|image| image.by_files(operation));
            each.fold((0, 0), |sum, moved| (sum.0 + moved.calls, sum.1 + moved.bytes))
        };
        let printed = |name| record.printed(name);
        // The program's own output is written past the hooks.
        assert_eq!(sum(Write), (printed("write_calls"), printed("write_bytes")), "seed {seed}");
        assert_eq!(sum(Read), (printed("read_calls"), printed("read_bytes")), "seed {seed}");
        assert_eq!((sum(Open).0, sum(Close).0), (printed("opens"), printed("closes")), "seed {seed}");
        let failed: u64 = record.images.iter().map(|image| image.errors(Open, libc::ENOENT)).sum();
        assert_eq!(failed, printed("failed"), "seed {seed}");
        let lost: u64 = record.images.iter().map(|image| image.lost_calls + image.handler_calls).sum();
        assert_eq!(lost, 0, "seed {seed}");
        // A child that did nothing has no table.
        assert!(record.images.len() as u64 <= 1 + printed("forks"));
    }
}
