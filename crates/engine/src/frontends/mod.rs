//! The command lines that the field has in its scripts, run on this engine: each is translated to plans, and what the
//! events say is printed as the original prints it.
//!
//! [`common`] are the options of ioassay's own that all of them take, [`session`] runs the plans and keeps the run
//! directory. Not here: a second way to do I/O, and anything that the workload code would have to know about.

pub mod common;
pub mod io500;
pub mod ior;
mod moment;
pub mod options;
pub mod session;

use ioassay_contract::front_end::Tool;

use self::common::{Common, usage};

use crate::command::Ended;

/// Runs `tool` with `arguments`, those after its name.
pub fn run(tool: Tool, arguments: Vec<String>) -> Ended {
    let (common, arguments) = match Common::take(arguments, |name| std::env::var(name).ok()) {
        Ok(taken) => taken,
        Err(failure) => return Ended::refused(failure),
    };
    match tool {
        Tool::Ior => ior::run(&common, &arguments),
        Tool::Io500 => io500::run(&common, &arguments),
        Tool::Mdtest | Tool::Iozone | Tool::ObdfilterSurvey => {
            Ended::refused(usage(format!("{} has no front end yet", tool.name()), "take a study"))
        }
    }
}
