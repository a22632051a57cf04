//! A test that lacks what it needs: cargo counts it as passed, and CI counts what is printed here.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Mutex;

/// Says that this test is skipped because `what` is not available, once for each test, and what it would take.
pub fn skipped(what: &str, remedy: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    if SAID.lock().unwrap().insert(test.clone()) {
        // Not eprintln!, of which the harness shows nothing where a test passes.
        let _ = writeln!(io::stderr(), "SKIPPED: {test}: {what} cannot be had: {remedy}");
    }
}
