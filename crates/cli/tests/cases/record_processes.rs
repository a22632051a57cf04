//! Processes that are recorded: they fork, are replaced and end in every way, and nothing is lost or counted twice.

use crate::support::record::{Image, Place, Record, compiled, run};
use ioassay_record::operation::Operation::{Open, Write};

#[test]
fn a_forked_child_has_a_table_of_its_own_and_knows_what_it_inherited() {
    for how in ["fork", "raw fork"] {
        let record = run("processes", &[how]);
        let [parent, child] = ["parent", "child"].map(|name| {
            let images = record.process(record.printed(name) as u32);
            assert_eq!(images.len(), 1, "{how}: {name}");
            images[0]
        });
        assert!(parent.ended() && child.ended());
        assert_eq!(child.parent, parent.pid);
        let writes = |image: &Image, name: &str| {
            let writes = image.file(name).writes();
            (writes.calls, writes.bytes)
        };
        assert_eq!(writes(parent, "x"), (5, 110), "{how}");
        assert_eq!(writes(parent, "of child"), (0, 0), "{how}");
        assert_eq!(writes(child, "x"), (5, 100), "{how}");
        assert_eq!(writes(child, "of child"), (7, 210), "{how}");
        // It goes on where its parent was.
        assert_eq!((child.file("x").writes().begin, child.file("x").writes().end), (30, 130), "{how}");
        assert_eq!((parent.file("x").count(Open), child.file("x").count(Open)), (1, 0), "{how}");
    }
}

#[test]
fn twenty_generations_are_recorded() {
    let record = run("processes", &["fork chain"]);
    assert_eq!(record.images.len(), 21);
    assert_eq!(record.sum("x", Write), (21, 210));
}

#[test]
fn a_child_of_vfork_leaves_its_parents_table_and_descriptors_alone() {
    for how in ["vfork", "clone"] {
        let record = run("processes", &[how]);
        let (parent, child) = (record.first(), record.image("write to output"));
        assert!(parent.ended(), "{how}");
        assert_eq!(parent.file("out").writes().calls, 4, "{how}");
        assert_eq!((child.file("out").writes().calls, child.file("out").writes().bytes), (5, 500), "{how}");
        let (after, calls) = if how == "vfork" { ("after", 6) } else { ("other", 3) };
        assert_eq!(parent.file(after).writes().calls, calls, "{how}: {parent:#?}");
        assert_eq!(record.images.len(), 2, "{how}");
        assert_eq!(escaped(&record), 0, "{how}: {}", record.stderr);
    }
}

fn escaped(record: &Record) -> usize {
    record.document["escaped"].as_array().unwrap().len()
}

#[test]
fn a_spawned_process_is_recorded_whatever_environment_it_gets() {
    for how in ["spawn", "spawn with nothing"] {
        let record = run("processes", &[how]);
        assert_eq!(record.first().file("out").writes().calls, 2, "{how}");
        assert_eq!(record.image("write to output").file("out").writes().bytes, 500, "{how}");
        assert_eq!((record.images.len(), escaped(&record)), (3, 0), "{how}: {}", record.stderr);
    }
}

#[test]
fn nothing_is_lost_or_counted_twice_when_an_exec_fails() {
    let record = run("processes", &["exec fails"]);
    let image = record.only();
    assert!(image.ended());
    assert_eq!((image.file("x").writes().calls, image.file("x").count(Open)), (12, 1));
    assert_eq!(escaped(&record), 0, "{}", record.stderr);
    let program = compiled("processes");
    let ran = Place::new().record(&[program.to_str().unwrap(), "exec fails, then killed"]);
    assert_eq!(ran.status.code(), Some(128 + libc::SIGKILL));
    let record = ran.record();
    assert_eq!(record.only().file("x").writes().calls, 12);
    assert_eq!(escaped(&record), 0, "{}", record.stderr);
}

#[test]
fn an_image_is_recorded_by_whichever_function_and_with_whatever_environment_it_began() {
    for how in [
        "execve",
        "execve with nothing",
        "execve without",
        "execv",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "fexecve",
        "execveat",
    ] {
        let record = run("processes", &["exec", how]);
        assert_eq!(record.images.len(), 2, "{how}: {}", record.stderr);
        let (before, after) = (&record.images[0], record.image("use"));
        assert_eq!((before.pid, before.file("before").writes().calls), (after.pid, 2), "{how}");
        assert_eq!((after.file("by the new image").writes().bytes, after.ended()), (30, true), "{how}");
        assert_eq!(escaped(&record), 0, "{how}: {}", record.stderr);
    }
}

#[test]
fn a_chain_of_images_is_recorded_link_by_link() {
    let record = run("processes", &["exec chain", "30"]);
    assert_eq!(record.images.len(), 31);
    assert!(record.images.iter().all(|image| image.file("x").writes().calls == 1));
    assert!(record.images.iter().all(|image| image.pid == record.first().pid));
}

#[test]
fn what_a_process_did_is_kept_however_it_ends() {
    let program = compiled("processes");
    for (how, code, at_exit) in [
        ("return", 3, 0),
        ("_exit", 3, 0),
        ("_Exit", 3, 0),
        ("quick_exit", 3, 4),
        ("abort", 128 + libc::SIGABRT, 0),
        ("kill", 128 + libc::SIGKILL, 0),
        ("exit from a thread", 5, 0),
        ("atexit", 3, 4),
    ] {
        let ran = Place::new().record(&[program.to_str().unwrap(), how]);
        assert_eq!(ran.status.code(), Some(code), "{how}: {}", ran.stderr);
        let record = ran.record();
        let image = record.only();
        assert_eq!((image.file("x").writes().calls, image.file("x").writes().bytes), (3, 30), "{how}");
        assert_eq!(image.file("at exit").writes().calls, at_exit, "{how}");
        let signalled = code > 128;
        assert_eq!(image.ended(), !signalled && how != "quick_exit", "{how}");
        let status = record.document["exit_status"].as_i64().unwrap();
        assert_eq!(status, i64::from(if signalled { 128 - code } else { code }), "{how}");
    }
}

#[test]
fn a_daemon_that_closes_everything_is_recorded_and_finds_all_closed() {
    for how in ["each", "closefrom", "close_range"] {
        let record = run("processes", &["closes", how]);
        assert_eq!(record.sum("before", Write), (2, 20), "{how}");
        let daemon = record.images.iter().find(|image| image.file("by daemon").writes().calls > 0);
        assert_eq!(daemon.unwrap_or_else(|| panic!("{how}")).file("by daemon").writes().bytes, 90, "{how}");
    }
}

#[test]
fn names_from_the_root_are_those_that_others_call_the_same_files() {
    let record = Place::new().record(&["sh", "-c", "cd / && cat proc/self/status /proc/self/status"]).record();
    assert_eq!(record.counts("/proc/self/status", Open), (2, 0, 0));
}
