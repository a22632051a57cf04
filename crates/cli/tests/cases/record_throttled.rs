//! Rules that hold calls back: to their rate, until they go, and never where a program must not sleep.

use std::fs;

use crate::support::process::wait_until;
use crate::support::record::Image;
use crate::support::rules::{ALL, Watched, throttle};
use ioassay_record::operation::Operation::{Map, Open, Read, SubmitWrite, Write};
use ioassay_record::rules::{Rule, RuleKind, bit};

/// A program whose second write to `held` waits for ten minutes, longer than a test may take.
fn start(how: &str) -> (Watched, Vec<u8>) {
    let mut watched = Watched::start("held", how);
    let path = watched.path("held");
    watched.agent.give(&[(3, Rule { path: &path, ..throttle(Write, 1) })]);
    watched.pass("go");
    (watched, path)
}

/// Calls of the rule in that slot, and how many of them were held back.
fn held(image: &Image, slot: usize) -> (u64, u64) {
    let matched = &image.watched[&slot];
    assert_eq!(matched.waits > 0, matched.waited_ticks > 0, "{matched:?}");
    (matched.calls, matched.waits)
}

#[test]
fn writes_take_as_long_as_their_rule_says() {
    let mut watched = Watched::start("held", "paced");
    let path = watched.path("x");
    // Half a second for each: a machine would have to stall as long to make up for a wait.
    let rule = Rule { path: &path, ..throttle(Write, 200_000) };
    watched.agent.give(&[(0, rule), (1, Rule { kind: RuleKind::Monitor, ..rule })]);
    watched.pass("go");
    let record = watched.end();
    // The first goes at once, and a tenth of another is made up for by the burst.
    assert!(record.printed("ms") >= 2450, "{} ms", record.printed("ms"));
    let image = record.only();
    let (matched, watched) = (&image.watched[&0], &image.watched[&1]);
    assert_eq!((matched.calls, matched.bytes, watched.calls, watched.waits), (6, 600_000, 6, 0));
    assert_eq!(matched.waits, 5);
    assert_eq!(matched.waited_ticks, image.throttled_ticks);
    assert!(matched.ticks < matched.waited_ticks / 4, "what a call waits is none of its time: {matched:?}");
}

#[test]
fn opens_take_as_long_as_their_rule_of_calls_says() {
    let mut watched = Watched::start("held", "opens");
    let path = watched.path("x");
    let rule = Rule { kind: RuleKind::ThrottleCalls, path: &path, ..throttle(Open, 2) };
    watched.agent.give(&[(60, rule)]);
    watched.pass("go");
    let record = watched.end();
    assert!(record.printed("ms") >= 2450, "{} ms", record.printed("ms"));
    assert_eq!(held(record.only(), 60), (6, 5));
}

#[test]
fn a_call_that_waits_is_released_when_its_rule_goes() {
    let (mut watched, _) = start("one");
    wait_until("a call is held back", || watched.holds_back());
    watched.agent.give(&[]);
    assert_eq!(held(watched.end().only(), 3).1, 1);
}

#[test]
fn a_call_that_waits_gets_the_rate_of_the_rule_that_comes() {
    let (mut watched, path) = start("one");
    wait_until("a call is held back", || watched.holds_back());
    watched.agent.give(&[(3, Rule { path: &path, ..throttle(Write, 1_000_000) })]);
    assert_eq!(held(watched.end().only(), 3), (2, 1));
}

#[test]
fn a_call_that_waits_is_released_when_the_agent_is_killed() {
    let (watched, _) = start("one");
    wait_until("a call is held back", || watched.holds_back());
    let (rest, agent) = watched.without_agent();
    let process = agent.live_on_in_another_process();
    process.kill();
    assert_eq!(held(rest.end().only(), 3).1, 1);
}

#[test]
fn without_a_living_agent_nobody_waits() {
    let mut watched = Watched::start("held", "one");
    watched.agent.give(&[(3, throttle(Write, 1))]);
    let (rest, agent) = watched.without_agent();
    drop(agent);
    rest.pass("go");
    rest.end();
}

#[test]
fn what_nobody_can_count_before_is_charged_afterwards() {
    let (mut watched, _) = start("unknown sizes");
    wait_until("a call is held back", || watched.holds_back());
    watched.agent.give(&[]);
    assert_eq!(held(watched.end().only(), 3).1, 1);
}

#[test]
fn a_signal_handler_never_waits_and_the_program_itself_does() {
    let (mut watched, _) = start("handlers");
    watched.wait_for("handled");
    wait_until("a call is held back", || watched.holds_back());
    watched.agent.give(&[]);
    assert_eq!(held(watched.end().only(), 3).1, 1);
}

#[test]
fn a_handler_runs_while_the_call_that_it_interrupts_waits_on() {
    let (mut watched, _) = start("interrupted");
    wait_until("a call is held back", || watched.holds_back());
    wait_until("the handler has written", || fs::metadata(watched.place.path("held")).unwrap().len() == 1010);
    watched.agent.give(&[]);
    assert_eq!(held(watched.end().only(), 3), (2, 1));
}

#[test]
fn a_thread_that_begins_with_signals_blocked_is_held_back() {
    let (mut watched, _) = start("inherited");
    wait_until("a call is held back", || watched.holds_back());
    watched.agent.give(&[]);
    assert_eq!(held(watched.end().only(), 3).1, 1);
}

#[test]
fn neither_a_child_of_vfork_nor_the_end_of_a_process_waits() {
    let (watched, _) = start("endings");
    assert_eq!(held(watched.end().only(), 3), (4, 0));
}

#[test]
fn maps_and_what_is_handed_over_is_counted_and_not_held_back() {
    let mut watched = Watched::start("held", "submitted");
    let path = watched.path("held");
    let rule = Rule { path: &path, ..throttle(Map, 1) };
    watched.agent.give(&[(0, Rule { operations: bit(Map) | bit(SubmitWrite), ..rule })]);
    watched.pass("go");
    assert_eq!(held(watched.end().only(), 0), (6, 0));
}

#[test]
fn what_was_asked_for_and_not_moved_is_given_back() {
    let mut watched = Watched::start("held", "short reads");
    // Ten seconds for each megabyte that is asked for.
    watched.agent.give(&[(0, throttle(Read, 100_000)), (1, ALL)]);
    watched.pass("go");
    let record = watched.end();
    assert_eq!(record.only().file("x").reads().calls, 40);
}
