//! The recorder never harms its host: programs with threads and signal handlers do what they did without it.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::record::{Place, compiled, run};
use ioassay_record::operation::Operation::{Open, Read, Write};

#[test]
fn threads_may_end_in_every_way() {
    let record = run("threads", &["in every way"]);
    let image = record.only();
    assert_eq!(image.file("x").writes().calls, 3 + 4 + 5 + 1);
    assert_eq!((image.file("cleanup").writes().calls, image.file("destructor").writes().calls), (2, 6));
    assert_eq!((image.ended(), image.threads), (true, 1), "{image:#?}");
    // The read in which it was cancelled never ended.
    assert_eq!((image.file("pipe").reads().calls, image.in_flight.len()), (0, 0), "{image:#?}");
}

#[test]
fn two_thousand_threads_one_after_another_share_the_parts_of_a_few() {
    let record = run("threads", &["many"]);
    let image = record.only();
    assert_eq!((image.file("x").writes().calls, image.lost_calls), (6000, 0));
    assert!(image.parts < 100, "{}", image.parts);
}

#[test]
fn more_threads_than_there_are_parts_lose_calls_and_say_so() {
    let record = run("threads", &["crowd"]);
    let image = record.only();
    assert_eq!(image.file("x").writes().calls + image.lost_calls, 5500);
    assert!(image.file("x").writes().calls > 4500, "{}", image.lost_calls);
}

#[test]
fn a_thread_with_the_smallest_stack_does_all_that_it_did() {
    let record = run("threads", &["small stack"]);
    assert_eq!(record.sum("small", Write), (5, 50));
    // Its own, that of its child and what replaced that, and what was spawned.
    assert_eq!((record.images.len(), record.first().errors(Open, libc::ENOENT)), (4, 300));
}

#[test]
fn threads_that_begin_at_once_in_a_forked_child_have_each_their_own_counts() {
    let record = run("threads", &["in a forked child"]);
    assert_eq!(record.images.len(), 6);
    for child in &record.images[1..] {
        for number in 0..32 {
            let (counted, inherited) =
                (child.file(&format!("file {number}")), child.file(&format!("inherited {number}")));
            assert_eq!((counted.writes().calls, counted.count(Open)), (100, 100), "{number}");
            assert_eq!(inherited.reads().calls, 100, "{number}");
        }
        assert_eq!(child.file("shared").writes().calls, 3200);
        assert_eq!((child.lost_calls, child.folded_calls, child.by_files(Read).calls), (0, 0, 3200));
    }
}

#[test]
fn each_call_of_a_storm_of_signals_is_counted_or_said_to_be_lost() {
    for how in ["storm", "storm on a stack of its own"] {
        let record = run("signals", &[how]);
        let image = record.only();
        let (handled, calls) = (record.printed("handled"), record.printed("calls"));
        assert_eq!(image.file("x").reads().calls, calls, "{how}");
        assert_eq!(image.file("log").writes().calls + image.handler_calls, handled, "{how}");
        assert!(image.handler_calls < handled / 2, "{how}: {}", image.handler_calls);
    }
}

#[test]
fn a_handler_may_jump_out_of_whatever_it_interrupted() {
    let record = run("signals", &["longjmp"]);
    let image = record.only();
    assert_eq!(image.file("after").writes().calls, 100);
    assert_eq!(image.in_flight, [], "a call that was left is in flight no more");
}

#[test]
fn a_handler_may_fork_out_of_whatever_it_interrupted() {
    let record = run("signals", &["fork"]);
    let (handled, calls) = (record.printed("handled"), record.printed("calls"));
    let parent = record.first();
    assert_eq!((parent.file("x").reads().calls, parent.ended()), (calls * 10, true));
    assert_eq!(parent.errors(Open, libc::ENOENT), calls);
    assert_eq!(record.sum("after handler", Write), (handled * 2, handled * 20));
    assert_eq!(record.images.len() as u64, 1 + handled);
}

#[test]
fn a_handler_needs_hardly_more_stack_than_without_the_recorder() {
    let program = compiled("signals");
    let place = Place::new();
    let used = |output: &str| output.trim().strip_prefix("used ").unwrap().parse::<i64>().unwrap();
    let without = Command::new(&program).args(["small stack", "16384"]).current_dir(place.path("")).output().unwrap();
    let without = used(&String::from_utf8(without.stdout).unwrap());
    let with = used(&run("signals", &["small stack", "16384"]).output);
    assert!(with - without < 1024, "{with} bytes instead of {without}");
}

#[test]
fn the_library_can_be_loaded_by_the_c_library_of_centos_7() {
    let directory = tempfile::tempdir().unwrap();
    let engine = env!("CARGO_BIN_EXE_ioassay-engine");
    let written = Command::new(engine).arg("library").arg(directory.path()).output().unwrap();
    let path = String::from_utf8(written.stdout).unwrap();
    let bytes = fs::read(path.trim()).unwrap();
    // A version that a library needs is among its texts, with a zero byte behind it.
    let begin = b"GLIBC_";
    let needed: BTreeSet<Vec<u32>> = bytes
        .windows(begin.len())
        .enumerate()
        .filter(|(_, window)| window == begin)
        .map(|(index, _)| {
            let text = bytes[index + begin.len()..].split(|&byte| byte == 0).next().unwrap();
            let text = String::from_utf8_lossy(text);
            text.split('.')
                .map(|number| number.parse().unwrap_or_else(|_| panic!("GLIBC_{text} is for glibc alone")))
                .collect()
        })
        .collect();
    assert!(!needed.is_empty());
    assert!(needed.iter().all(|version| *version <= vec![2, 17]), "{needed:?}");
}
