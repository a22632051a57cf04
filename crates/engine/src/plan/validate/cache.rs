//! What a cold-cache step cannot ask for.

use std::collections::HashSet;

use ioassay_protocol::plan::cache::{CacheStep, SiteCommand};
use ioassay_protocol::plan::storage::Target;
use ioassay_protocol::plan::{CacheMethod, Plan};

use super::checks::A_DAY_NS;
use crate::plan::Refusal;

/// Refuses the step `key` where it does nothing, or what cannot be done to the plan's target.
pub fn step(key: &str, plan: &Plan, cold: &CacheStep) -> Result<(), Refusal> {
    let CacheStep { hooks, attempts, remount } = cold;
    let key_of = |name: &str| format!("{key}.{name}");
    let distinct: HashSet<_> = attempts.iter().collect();
    let valid = "name one or more of drop-caches, fadvise, remount, read-other-rank, each once";
    if attempts.is_empty() && hooks.is_empty() {
        return Err(Refusal::new(key_of("attempts"), "there is no way to empty the caches", valid));
    }
    if distinct.len() != attempts.len() {
        return Err(Refusal::new(key_of("attempts"), "a way is named twice", valid));
    }
    if matches!(plan.target, Target::Url(_)) && attempts.iter().any(|way| *way != CacheMethod::ReadOtherRank) {
        let problem = "cold-cache does not apply to URLs";
        let valid = "take read-other-rank alone, leave the step out, or run the study `objects`";
        return Err(Refusal::new(key_of("attempts"), problem, valid));
    }
    let remounts = attempts.contains(&CacheMethod::Remount);
    if remounts && !matches!(plan.target, Target::Directory(_)) {
        let problem = "remount, of a target that is no directory of the engine's choice on a mounted file system";
        return Err(Refusal::new(key_of("attempts"), problem, "take another way, or a target of the kind directory"));
    }
    if remounts != remount.is_some() {
        let problem = if remounts { "remount without a command" } else { "a command, but no attempt to remount" };
        return Err(Refusal::new(key_of("remount"), problem, "give both or neither"));
    }
    for (index, hook) in hooks.iter().enumerate() {
        if hook.host.as_ref().is_some_and(|host| host.is_empty() || !host.chars().all(|c| c.is_ascii_graphic())) {
            let problem = format!("{:?} is no name of a host", hook.host);
            return Err(Refusal::new(format!("{key}.hooks[{index}].host"), problem, "name a host, or leave it out"));
        }
        command(&format!("{key}.hooks[{index}].command"), &hook.command)?;
    }
    remount.as_ref().map_or(Ok(()), |remount| command(&key_of("remount"), remount))
}

fn command(key: &str, command: &SiteCommand) -> Result<(), Refusal> {
    let named = command.words.first().is_some_and(|program| !program.is_empty());
    if !named || command.words.iter().any(|word| word.contains('\0')) {
        let problem = format!("{:?} cannot be run", command.words);
        return Err(Refusal::new(format!("{key}.words"), problem, "give a program and its arguments"));
    }
    if !(1..=A_DAY_NS).contains(&command.time_limit_ns) {
        let problem = format!("a time limit of {} ns", command.time_limit_ns);
        return Err(Refusal::new(format!("{key}.time_limit_ns"), problem, format!("take 1 to {A_DAY_NS} (a day)")));
    }
    Ok(())
}
