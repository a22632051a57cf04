//! `ioassay-engine`: a plan in, events out. The whole program on one screen; no logic here.

#![deny(clippy::print_stderr, clippy::print_stdout, reason = "they panic where nothing can be written: see `stdio`")]

mod cli;
mod start;

use std::process::ExitCode;

use ioassay_engine::exit::Exit;
use ioassay_engine::supervise::guard;
use ioassay_engine::{launched, stdio};

use crate::start::{Role, start};

fn main() -> ExitCode {
    let asked = match cli::parse() {
        Ok(asked) => asked,
        Err(message) => return print_instead(&message),
    };
    let mut ranks = match start(&asked) {
        Ok(Role::Command(ranks)) => ranks,
        Ok(Role::Follower(code)) => return ExitCode::from(code),
        Err(failure) => {
            let ended = asked.command.not_begun(failure);
            ended.say();
            // MPI may have begun, in another thread.
            launched::leave_at_once(ended.code)
        }
    };
    let ended = asked.command.run(&mut *ranks);
    ended.say();
    guard::ended(ended.code);
    ranks.end(ended.code);
    ExitCode::from(ended.code)
}

/// Prints the help, the version, or what is wrong with the command line.
fn print_instead(message: &clap::Error) -> ExitCode {
    match stdio::printed(message.print()) {
        Err(failure) if !message.use_stderr() => {
            let ended = Exit::could_not_run(failure);
            ended.say();
            ExitCode::from(ended.code)
        }
        _ => ExitCode::from(message.exit_code() as u8),
    }
}
