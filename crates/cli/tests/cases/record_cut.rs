//! Files of the recorder are cut, removed or replaced while a program runs: it goes on, and the record says what it lacks. What
//! the program itself does about SIGBUS is as without the recorder.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use crate::support::process::wait_until;
use crate::support::record::{Place, RecordedCommand, compiled};
use crate::support::rules::{Watched, throttle};
use ioassay_record::operation::Operation;

fn record(how: &str, options: &[&str]) -> RecordedCommand {
    let mut place = Place::new();
    place.options = options.iter().map(Into::into).collect();
    place.record(&[compiled("cut").to_str().unwrap(), how])
}

/// Asserts that the program comes to its own end, and that the record says how many tables it lacks.
fn assert_goes_on(how: &str, options: &[&str], lost: u64) {
    let ran = record(how, options);
    assert_eq!((ran.status.code(), &*ran.output), (Some(5), "done\n"), "{how}: {}", ran.stderr);
    assert_eq!(
        ran.stderr.contains(&format!("the tables of {lost} processes could not be kept")),
        lost > 0,
        "{}",
        ran.stderr
    );
    assert_eq!(ran.record().document["lost_tables"], lost, "{how}");
}

#[test]
fn a_program_goes_on_when_its_table_is_cut() {
    for how in ["nothing", "half", "page", "zeros"] {
        assert_goes_on(how, &[], 1);
    }
}

#[test]
fn a_table_that_is_removed_or_replaced_is_whole_all_the_same() {
    for how in ["removed", "replaced"] {
        assert_goes_on(how, &[], 0);
    }
}

#[test]
fn threads_and_children_go_on_when_their_table_is_cut() {
    for how in ["threads", "threads half", "threads zeros", "threads blocked", "handler"] {
        assert_goes_on(how, &[], 1);
    }
    // Those of the parent and of the child.
    assert_goes_on("forked", &[], 2);
}

#[test]
fn a_program_goes_on_when_the_rules_or_the_trace_are_cut() {
    assert_goes_on("rules", &["--takes-rules"], 0);
    assert_goes_on("trace", &["--trace"], 0);
}

#[test]
fn rules_that_were_cut_hold_again_when_the_agent_restores_them_also_for_programs_that_begin_meanwhile() {
    for how in ["rules restored", "rules restored for another program"] {
        let mut watched = Watched::start("cut", how);
        watched.wait_for("ready");
        watched.agent.restore();
        watched.agent.give(&[(40, throttle(Operation::Write, 100))]);
        wait_until("its writes are held back", || watched.holds_back());
        watched.agent.give(&[]);
        watched.pass("stop");
        watched.end_with(5);
    }
}

#[test]
fn a_table_that_is_cut_at_the_end_is_not_added_to_others() {
    let ran = record("at the end", &[]);
    assert_eq!(ran.status.code(), Some(5), "{}", ran.stderr);
    assert_eq!(ran.record().document["lost_tables"], 1);
}

#[test]
fn what_a_program_does_about_sigbus_is_as_without_the_recorder() {
    let status = |how: &str| -> ExitStatus {
        let place = Place::new();
        let mut alone = Command::new(compiled("cut"));
        // It looks for files of the recorder, and finds none.
        alone.arg(how).env("IOASSAY_RECORD", place.path("")).current_dir(place.path(""));
        alone.output().unwrap().status
    };
    for (how, code) in [("own handler", Some(5)), ("once", Some(5)), ("blocked", Some(5)), ("inherits", Some(5))] {
        assert_eq!(status(how).code(), code, "{how} without the recorder");
        let ran = record(how, &[]);
        assert_eq!(ran.status.code(), code, "{how}: {}", ran.stderr);
    }
    for how in ["own fault", "sent"] {
        assert_eq!(status(how).signal(), Some(libc::SIGBUS));
        assert_eq!(record(how, &[]).status.code(), Some(128 + libc::SIGBUS), "{how}");
    }
}
