//! What is asked of the storage API, against what it can do.

use ioassay_contract::plan::Plan;
use ioassay_contract::plan::storage::Target;

use super::positive;
use crate::plan::Refusal;
use crate::storage::{self, Capabilities};

/// More transfers in flight than this per rank only wait in queues.
const DEEPEST: u32 = 4096;

/// More pieces than this no call takes (IOV_MAX).
const MOST_VECTORS: u32 = 1024;

/// Direct I/O moves whole sectors.
pub(super) const SECTOR_BYTES: u64 = 512;

/// The capabilities of the plan's storage API. Refuses options that it does not have.
pub(super) fn api(plan: &Plan) -> Result<Capabilities, Refusal> {
    let asked = &plan.storage;
    let Some(api) = storage::by_name(&asked.api) else {
        let valid = format!("take one of: {}", storage::all_names().join(", "));
        return Err(Refusal::new("storage.api", format!("{:?} is unknown", asked.api), valid));
    };
    let can = api.capabilities_for(&plan.target);
    target(&asked.api, &plan.target, &can)?;
    if let Some(unfit) = api.unfit(&plan.target) {
        return Err(Refusal::new("target.url", unfit.problem, unfit.valid));
    }
    positive("storage.depth", asked.depth.into())?;
    positive("storage.vectors", asked.vectors.into())?;
    let deepest = can.depth.min(DEEPEST);
    if asked.depth > deepest {
        let problem = format!("{} keeps at most {deepest} in flight, not {}", asked.api, asked.depth);
        return Err(Refusal::new(
            "storage.depth",
            problem,
            format!("take at most {deepest}{}", others(|can| can.depth > 1)),
        ));
    }
    let cannot = |key: &str, what: &str, able: fn(&Capabilities) -> bool| {
        let valid = format!("leave it out{}", others(able));
        Err(Refusal::new(key, format!("{} {what}", asked.api), valid))
    };
    if asked.vectors > 1 && !can.vectors {
        return cannot("storage.vectors", "has no vectored calls", |can| can.vectors);
    }
    if asked.vectors > MOST_VECTORS {
        let problem = format!("{} pieces in one call", asked.vectors);
        return Err(Refusal::new("storage.vectors", problem, format!("take at most {MOST_VECTORS}")));
    }
    if asked.direct && !can.direct {
        return cannot("storage.direct", "cannot go past the page cache", |can| can.direct);
    }
    if let Some(uring) = asked.uring {
        if !can.uring {
            return cannot("storage.uring", "does not use io_uring", |can| can.uring);
        }
        if uring.iopoll && !asked.direct {
            let problem = "polling works on direct I/O only";
            return Err(Refusal::new("storage.uring.iopoll", problem, "set storage.direct, or leave it out"));
        }
        if uring.batch > asked.depth {
            let problem = format!("{} transfers together, but only {} in flight", uring.batch, asked.depth);
            return Err(Refusal::new("storage.uring.batch", problem, format!("take at most {}", asked.depth)));
        }
    }
    Ok(can)
}

fn target(api: &str, target: &Target, can: &Capabilities) -> Result<(), Refusal> {
    let takes = |able: bool, key: &str, problem: String, which: &dyn Fn(&Capabilities) -> bool| {
        if able {
            return Ok(());
        }
        let apis: Vec<&str> = storage::all().filter(|api| which(&api.capabilities())).map(|api| api.name()).collect();
        let valid = if apis.is_empty() {
            "take another target".to_owned()
        } else {
            format!("take the storage API {}", apis.join(" or "))
        };
        Err(Refusal::new(key, problem, valid))
    };
    match target {
        Target::Directory(_) | Target::InPlace(_) => {
            takes(can.directories, "target.directory", format!("{api} does not work on directories"), &|can| {
                can.directories
            })
        }
        Target::Device(_) => {
            takes(can.devices, "target.device", format!("{api} does not work on block devices"), &|can| can.devices)
        }
        Target::Url(url) => {
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            let knows = |can: &Capabilities| can.schemes.contains(&scheme);
            takes(knows(can), "target.url", format!("{api} does not speak {scheme:?}"), &knows)
        }
    }
}

/// Which APIs can do something, as the end of a remedy.
fn others(able: impl Fn(&Capabilities) -> bool) -> String {
    let names: Vec<&str> = storage::all().filter(|api| able(&api.capabilities())).map(|api| api.name()).collect();
    if names.is_empty() { String::new() } else { format!(", or take the storage API {}", names.join(" or ")) }
}
