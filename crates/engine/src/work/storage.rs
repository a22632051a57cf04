//! What is asked of the storage API, against what it can do.

use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Job, Plan};
use ioassay_units::count;

use super::checks::positive;
use crate::failure::Explained;
use crate::refusal::Refusal;
use crate::storage::{self, Capabilities, StorageApi, mpi, plugin};

/// More transfers in flight than this per rank only wait in queues.
pub const MOST_IN_FLIGHT: u32 = 4096;

/// More pieces than this no call takes (IOV_MAX).
pub const MOST_VECTORS: u32 = 1024;

/// More retries than this take minutes for one request.
pub const MOST_RETRIES: u32 = 20;

/// Direct I/O moves whole sectors.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// How a job does its I/O, checked.
pub(crate) struct JobStorage<'a> {
    /// Where the plan says it: `storage`, or the key of the job's own.
    key: String,
    has_own: bool,
    /// What it says.
    pub(crate) asked: &'a Storage,
    /// What the storage API can do.
    pub(crate) can: Capabilities,
}

impl<'a> JobStorage<'a> {
    /// That of the jobs that have none of their own. Refuses options that its API does not have.
    pub(crate) fn of_plan(plan: &'a Plan) -> Result<Self, Refusal> {
        Self::checked("storage".to_owned(), false, &plan.storage, &plan.target)
    }

    /// That of the job `job`, whose key is `key`.
    pub(crate) fn of_job(key: &str, plan: &'a Plan, job: &'a Job) -> Result<Self, Refusal> {
        match &job.storage {
            Some(asked) => Self::checked(format!("{key}.storage"), true, asked, &plan.target),
            None => Self::of_plan(plan),
        }
    }

    fn checked(key: String, has_own: bool, asked: &'a Storage, target: &Target) -> Result<Self, Refusal> {
        let can = api(&key, asked, target)?;
        Ok(Self { key, has_own, asked, can })
    }

    /// Refuses an API that keeps what is written in a case that keeps nothing, and the other way around: what is to be
    /// there is there for all jobs or for none.
    pub(crate) fn goes_with(&self, common: &Self) -> Result<(), Refusal> {
        if self.can.files == common.can.files {
            return Ok(());
        }
        let (does, other) = if self.can.files { ("stores files", "does not") } else { ("stores no files", "does") };
        let (api, of_plan) = (&self.asked.api, &common.asked.api);
        let problem = format!("{api} {does}, but {of_plan}, the storage API of the other jobs, {other}");
        Err(Refusal::new(
            format!("{}.api", self.key),
            problem,
            "use a storage API of the same kind, or a separate case",
        ))
    }

    /// What is wrong with a file set for this storage. Of a job's own the file set may suit all others, so then the fault
    /// is in `option` of the job's.
    pub(crate) fn blame(&self, option: &str, refusal: Refusal) -> Refusal {
        if !self.has_own {
            return refusal;
        }
        let problem = format!("{}: {}", refusal.key, refusal.problem);
        Refusal::new(format!("{}.{option}", self.key), problem, refusal.valid)
    }
}

/// The capabilities of the storage API that `asked` names. Refuses options that it does not have.
fn api(key: &str, asked: &Storage, on: &Target) -> Result<Capabilities, Refusal> {
    let api = named(key, asked)?;
    target(&asked.api, on, &api.capabilities_for(on))?;
    let can = api.configured(asked, on).map_err(|wrong| {
        let dot = if wrong.key.is_empty() { "" } else { "." };
        Refusal::new(format!("{key}.options{dot}{}", wrong.key), wrong.problem, wrong.valid)
    })?;
    if let Some(unfit) = api.unfit(on) {
        return Err(Refusal::new("target.url", unfit.problem, unfit.valid));
    }
    positive(&format!("{key}.depth"), asked.depth.into())?;
    positive(&format!("{key}.vectors"), asked.vectors.into())?;
    let refuse =
        |option: &str, problem: String, valid: String| Err(Refusal::new(format!("{key}.{option}"), problem, valid));
    let deepest = can.depth.min(MOST_IN_FLIGHT);
    if asked.depth > deepest {
        let problem =
            format!("{} keeps at most {} in flight, not {}", asked.api, count(deepest, "transfer"), asked.depth);
        return refuse("depth", problem, format!("use at most {deepest}{}", others(|can| can.depth > 1)));
    }
    let cannot = |option: &str, what: &str, able: fn(&Capabilities) -> bool| {
        refuse(option, format!("{} {what}", asked.api), format!("leave it out{}", others(able)))
    };
    if asked.vectors > 1 && !can.vectors {
        return cannot("vectors", "does not support vectored I/O", |can| can.vectors);
    }
    if asked.vectors > MOST_VECTORS {
        let problem = format!("a call cannot take {} vectors", asked.vectors);
        return refuse("vectors", problem, format!("use at most {MOST_VECTORS}"));
    }
    if asked.retries > 0 && !can.retries {
        let problem = format!("{} repeats no requests on this target", asked.api);
        return refuse("retries", problem, "leave it out; requests to S3 can be repeated".to_owned());
    }
    if asked.retries > MOST_RETRIES {
        let problem = format!("{} retries hide that a server does not answer", asked.retries);
        return refuse("retries", problem, format!("use at most {MOST_RETRIES}"));
    }
    if asked.direct && !can.direct {
        return cannot("direct", "does not support direct I/O", |can| can.direct);
    }
    if asked.uncached && !can.uncached {
        return cannot("uncached", "does not support uncached I/O", |can| can.uncached);
    }
    if asked.uncached && asked.direct {
        let problem = "direct I/O goes past the page cache already".to_owned();
        return refuse("uncached", problem, "leave out one of the two".to_owned());
    }
    if let Some(uring) = asked.uring {
        if !can.uring {
            return cannot("uring", "does not use io_uring", |can| can.uring);
        }
        if uring.iopoll && !asked.direct {
            let problem = "polling (iopoll) works only with direct I/O".to_owned();
            return refuse("uring.iopoll", problem, "set storage.direct, or leave it out".to_owned());
        }
        if uring.batch > asked.depth {
            let problem = format!("a batch of {} transfers is larger than the depth of {}", uring.batch, asked.depth);
            return refuse("uring.batch", problem, format!("use at most {}", asked.depth));
        }
    }
    Ok(can)
}

/// The storage API that `asked` names: one of the engine's own, or a plug-in, which is loaded.
fn named(key: &str, asked: &Storage) -> Result<&'static dyn StorageApi, Refusal> {
    let Some(path) = &asked.plugin else {
        return storage::by_name(&asked.api).ok_or_else(|| {
            let names = storage::all_names().join(", ");
            let valid = format!("use one of: {names}; or name a plug-in with storage.plugin (ioassay api list)");
            Refusal::new(format!("{key}.api"), format!("there is no storage API {:?}", asked.api), valid)
        });
    };
    let plugin =
        plugin::load(path).map_err(|unfit| Refusal::new(format!("{key}.plugin"), unfit.problem, unfit.valid))?;
    if plugin.name() == asked.api {
        return Ok(plugin);
    }
    let problem = format!("{:?} is not the name of the plug-in {}", asked.api, path.display());
    Err(Refusal::new(format!("{key}.api"), problem, format!("use {}", plugin.name())))
}

/// Refuses a plan whose ranks must be MPI processes where they are none.
pub fn validate_meeting(plan: &Plan, over_mpi: bool) -> Result<(), Refusal> {
    let jobs = plan.jobs().filter(|_| !over_mpi).map(|job| plan.storage_of(job));
    for asked in jobs {
        let api = named("storage", asked)?;
        if api.capabilities().needs_mpi {
            let Explained { what, remedy } = mpi::missing(api.name());
            return Err(Refusal::new("storage.api", what, remedy));
        }
    }
    Ok(())
}

fn target(api: &str, target: &Target, can: &Capabilities) -> Result<(), Refusal> {
    let takes = |able: bool, key: &str, problem: String, which: &dyn Fn(&Capabilities) -> bool| {
        if able {
            return Ok(());
        }
        let apis: Vec<&str> = storage::all().filter(|api| which(&api.capabilities())).map(|api| api.name()).collect();
        let valid = if apis.is_empty() {
            "use another target".to_owned()
        } else {
            format!("use the storage API {}", apis.join(" or "))
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
            takes(knows(can), "target.url", format!("{api} does not support the URL scheme {scheme:?}"), &knows)
        }
    }
}

/// Which APIs can do something, as the end of a remedy.
fn others(able: impl Fn(&Capabilities) -> bool) -> String {
    let names: Vec<&str> = storage::all().filter(|api| able(&api.capabilities())).map(|api| api.name()).collect();
    if names.is_empty() { String::new() } else { format!(", or use the storage API {}", names.join(" or ")) }
}
