//! What a cold-cache step cannot ask for.

use std::collections::HashSet;

use ioassay_protocol::plan::cache::{CacheStep, SiteCommand};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{CacheMethod, Plan};

use crate::refusal::Refusal;
use crate::work::checks::A_DAY_NS;

/// Refuses the step `key` where it does nothing, or what cannot be done to the plan's target.
pub fn step(key: &str, plan: &Plan, cold: &CacheStep) -> Result<(), Refusal> {
    let CacheStep { hooks, attempts, remount } = cold;
    let key_of = |name: &str| format!("{key}.{name}");
    let distinct: HashSet<_> = attempts.iter().collect();
    let valid = "list one or more of drop-caches, fadvise, remount, read-other-rank, each once";
    if attempts.is_empty() && hooks.is_empty() {
        return Err(Refusal::new(key_of("attempts"), "no method to empty the caches is listed", valid));
    }
    if distinct.len() != attempts.len() {
        return Err(Refusal::new(key_of("attempts"), "a method is listed twice", valid));
    }
    if matches!(plan.target, Target::Url(_)) && attempts.iter().any(|way| *way != CacheMethod::ReadOtherRank) {
        let problem = "cold-cache does not apply to URLs";
        let valid = "use read-other-rank alone, leave the step out, or run the study `objects`";
        return Err(Refusal::new(key_of("attempts"), problem, valid));
    }
    let remounts = attempts.contains(&CacheMethod::Remount);
    if remounts && !matches!(plan.target, Target::Directory(_)) {
        let problem = "remount works only on a target of the kind directory";
        return Err(Refusal::new(key_of("attempts"), problem, "use another method, or a directory as the target"));
    }
    if remounts != remount.is_some() {
        let problem = if remounts {
            "the method remount has no command"
        } else {
            "there is a command, but remount is not among the methods"
        };
        return Err(Refusal::new(key_of("remount"), problem, "set both or neither"));
    }
    for (index, hook) in hooks.iter().enumerate() {
        if hook.host.as_ref().is_some_and(|host| host.is_empty() || !host.chars().all(|c| c.is_ascii_graphic())) {
            let problem = format!("{:?} is not a host name", hook.host);
            return Err(Refusal::new(
                format!("{key}.hooks[{index}].host"),
                problem,
                "write a host name, or leave it out",
            ));
        }
        command(&format!("{key}.hooks[{index}].command"), &hook.command)?;
    }
    remount.as_ref().map_or(Ok(()), |remount| command(&key_of("remount"), remount))
}

fn command(key: &str, command: &SiteCommand) -> Result<(), Refusal> {
    let named = command.words.first().is_some_and(|program| !program.is_empty());
    if !named || command.words.iter().any(|word| word.contains('\0')) {
        let problem = format!("{:?} cannot be run", command.words);
        return Err(Refusal::new(format!("{key}.words"), problem, "write a program and its arguments"));
    }
    if !(1..=A_DAY_NS).contains(&command.time_limit_ns) {
        let problem = format!("a time limit of {} ns is out of range", command.time_limit_ns);
        return Err(Refusal::new(format!("{key}.time_limit_ns"), problem, format!("use 1 to {A_DAY_NS} (a day)")));
    }
    Ok(())
}
