//! Rules that an agent gives to programs while they run: what they count.

use crate::support::record::Image;
use crate::support::rules::{ALL, Watched};
use ioassay_record::operation::Operation::{Accept, Connect, ElsewhereOther, Glob, Read, Stat, Write};
use ioassay_record::rules::{Rule, bit};

fn sums(image: &Image, slot: usize) -> (u64, u64, u64) {
    let matched = image.watched.get(&slot).cloned().unwrap_or_default();
    (matched.calls, matched.failed, matched.bytes)
}

#[test]
fn calls_count_for_the_rules_of_their_path_class_and_size() {
    let mut watched = Watched::start("rules", "match");
    let data = watched.path("data");
    let in_data = |operations| Rule { operations, path: &data, ..ALL };
    let rules = [
        (0, in_data(bit(Write))),
        (1, Rule { least_bytes: 5000, most_bytes: 5000, ..in_data(bit(Write)) }),
        (17, in_data(bit(Read))),
        (33, in_data(bit(Stat))),
        (63, Rule { path: b"/nowhere", ..ALL }),
    ];
    watched.agent.give(&rules);
    watched.pass("go");
    let record = watched.end();
    let image = record.only();
    assert_eq!(sums(image, 0), (15, 0, 26_000));
    assert_eq!(sums(image, 1), (5, 0, 25_000));
    assert_eq!(sums(image, 17), (4, 1, 3000));
    assert_eq!(sums(image, 33), (1, 1, 0));
    assert_eq!(image.watched.keys().copied().collect::<Vec<_>>(), [0, 1, 17, 33]);
    // From 1000 to 3000, and from 4000 back to 500.
    assert_eq!(image.watched[&17].seek_bytes, 2000 + 3500);
    assert!(image.watched[&33].file.ends_with("/data/missing"), "{:?}", image.watched[&33]);
    assert_eq!((image.unwatched_calls, image.throttled_ticks), (0, 0));
}

#[test]
fn the_seconds_of_a_rule_have_the_fastest_and_the_slowest_call() {
    let mut watched = Watched::start("rules", "match");
    let data = watched.path("data");
    watched.agent.give(&[(5, Rule { path: &data, ..ALL })]);
    watched.pass("go");
    let record = watched.end();
    let matched = &record.only().watched[&5];
    assert!(!matched.extremes.is_empty() && matched.extremes.len() <= 2, "{matched:?}");
    for (fastest, slowest, file) in matched.extremes.values() {
        assert!(0 < *fastest && fastest <= slowest && *slowest <= matched.ticks, "{matched:?}");
        assert!(file.contains("/data"), "{matched:?}");
    }
}

#[test]
fn connections_and_patterns_have_classes_that_rules_know() {
    let mut watched = Watched::start("rules", "classes");
    let each = [Accept, Connect, Glob, Read].map(|operation| Rule { operations: bit(operation), ..ALL });
    let [accept, connect, glob, read] = each;
    watched.agent.give(&[(0, accept), (1, connect), (2, glob), (3, Rule { most_bytes: 1, ..read })]);
    watched.pass("go");
    let record = watched.end();
    let image = record.only();
    assert_eq!([0, 1, 2, 3].map(|slot| sums(image, slot)), [(1, 0, 0), (2, 1, 0), (2, 0, 0), (1, 0, 1)]);
    let socket = image.file("socket");
    assert_eq!([Accept, Connect].map(|operation| socket.count(operation)), [1, 2]);
    assert_eq!((image.by_seconds(Accept).calls, image.by_seconds(Glob).calls), (0, 2), "sockets are elsewhere");
    assert_eq!(image.errors(ElsewhereOther, libc::ENOENT), 1);
}

#[test]
fn threads_and_forked_children_count_for_themselves() {
    let mut watched = Watched::start("rules", "several");
    let data = watched.path("data");
    watched.agent.give(&[(20, Rule { operations: bit(Write), path: &data, ..ALL })]);
    watched.pass("go");
    let record = watched.end();
    assert_eq!(record.images.iter().map(|image| sums(image, 20)).collect::<Vec<_>>(), [(200, 0, 2000), (50, 0, 500)]);
}

#[test]
fn rules_that_change_count_from_then_on() {
    let mut watched = Watched::start("rules", "change");
    let x = watched.path("x");
    let (on_x, elsewhere) = (Rule { operations: bit(Write), path: &x, ..ALL }, Rule { path: b"/nowhere", ..ALL });
    watched.agent.give(&[(0, on_x), (1, elsewhere)]);
    watched.pass("go");
    watched.wait_for("done");
    watched.agent.give(&[(0, elsewhere), (1, on_x)]);
    watched.pass("go on");
    let record = watched.end();
    assert_eq!([0, 1].map(|slot| sums(record.only(), slot)), [(10, 0, 100), (20, 0, 200)]);
}

#[test]
fn without_rules_nothing_is_counted_for_any() {
    let watched = Watched::start("rules", "match");
    watched.pass("go");
    assert!(watched.end().only().watched.is_empty());
}
