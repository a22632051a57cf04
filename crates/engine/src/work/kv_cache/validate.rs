//! What a key-value cache must be.

use ioassay_protocol::plan::data::{FileSet, Layout, Payload};
use ioassay_protocol::plan::kv_cache::{KvCacheWork, Span};
use ioassay_protocol::plan::storage::Target;
use ioassay_units::count;

use crate::refusal::Refusal;
use crate::work::PlannedJob;
use crate::work::checks::{A_DAY_NS, positive};
use crate::work::data::validate as data;
use crate::work::sizes::Sizes;
use crate::workload::layout::Geometry;

/// More users than this per rank are threads that wait for a processor.
const MOST_USERS: u32 = 1024;

/// More tokens than this no request has.
const MOST_TOKENS: u64 = 1 << 30;

/// Refuses a cache that cannot be, or that storage cannot hold.
pub(super) fn work(job: &PlannedJob<'_>, work: &KvCacheWork) -> Result<(), Refusal> {
    let (key, plan) = (job.key, job.plan);
    let named = |name: &str| format!("{key}.{name}");
    let Some(set) = plan.files.get(&work.files) else {
        let known: Vec<&str> = plan.files.keys().map(String::as_str).collect();
        let valid =
            if known.is_empty() { "describe it in files".into() } else { format!("use {}", known.join(" or ")) };
        return Err(Refusal::new(named("files"), format!("there is no file set {:?}", work.files), valid));
    };
    let geometry = Geometry::of(set, plan.rank_count());
    objects(&format!("files.{}", work.files), set)?;
    data::kept(&format!("files.{}", work.files), set, &geometry, job.storage)?;
    storage(job)?;
    let ranks = job.job.range(plan.rank_count()).count;
    if geometry.parts < ranks {
        let problem = format!("its file set has parts for {} of {ranks}", count(geometry.parts, "rank"));
        return Err(Refusal::new(named("files"), problem, "make the file set for all ranks of the job"));
    }
    if job.job.limit.stonewall_ns.is_none() && job.job.limit.operations_per_rank.is_none() {
        let problem = "users ask without an end";
        return Err(Refusal::new(
            named("limit"),
            problem,
            "give the job a time (stonewall_ns) or a number of requests",
        ));
    }
    if job.job.limit.wear_out || job.job.limit.at_rate_of.is_some() {
        let problem = "requests are limited by time or by their number";
        return Err(Refusal::new(named("limit"), problem, "leave wear_out and at_rate_of out"));
    }
    if job.job.rate.is_some() || job.job.think.is_some() {
        let valid = "leave rate and think out: users and think_ns of the work set the pace";
        return Err(Refusal::new(named("rate"), "each user asks when the answer before has come", valid));
    }
    positive(&named("object_tokens"), work.object_tokens)?;
    positive(&named("users"), work.users.into())?;
    if work.users > MOST_USERS {
        let problem = format!("{} users per rank are too many", work.users);
        return Err(Refusal::new(named("users"), problem, format!("use at most {MOST_USERS}, and more ranks")));
    }
    positive(&named("contexts.count"), work.contexts.count)?;
    if !(0.0..=10.0).contains(&work.contexts.exponent) {
        let problem = format!("{} is no exponent of a Zipf distribution", work.contexts.exponent);
        return Err(Refusal::new(named("contexts.exponent"), problem, "use 0 to 10"));
    }
    span(&named("contexts.tokens"), work.contexts.tokens, 0)?;
    span(&named("turns"), work.turns, 1)?;
    span(&named("prompt_tokens"), work.prompt_tokens, 1)?;
    span(&named("answer_tokens"), work.answer_tokens, 1)?;
    longest(&named("turns"), work)?;
    positive(&named("prefill_tokens_per_s"), work.prefill_tokens_per_s)?;
    positive(&named("decode_tokens_per_s"), work.decode_tokens_per_s)?;
    if work.think_ns > A_DAY_NS {
        let problem = format!("{} ns are too long to think", work.think_ns);
        return Err(Refusal::new(named("think_ns"), problem, format!("use at most {A_DAY_NS} (a day)")));
    }
    let deadlines =
        [("first_token_deadline_ns", work.first_token_deadline_ns), ("token_deadline_ns", work.token_deadline_ns)];
    let mut deadlines = deadlines.into_iter().filter_map(|(name, deadline_ns)| Some((name, deadline_ns?)));
    deadlines.try_for_each(|(name, deadline_ns)| positive(&named(name), deadline_ns))
}

/// Refuses files that do not hold an object each.
fn objects(key: &str, set: &FileSet) -> Result<(), Refusal> {
    let refuse = |name: &str, problem: &str, valid: &str| Err(Refusal::new(format!("{key}.{name}"), problem, valid));
    if set.layout != Layout::FilePerRank {
        return refuse("layout", "each server has a cache of its own", "use N-N");
    }
    if set.segments != 1 {
        return refuse("segments", "a file holds one object", "use 1 segment");
    }
    if set.offset_bytes != 0 {
        return refuse("offset_bytes", "a file holds one object from its beginning on", "leave it out: no offset");
    }
    match set.payload {
        Payload::Unique {} => Ok(()),
        _ => refuse("payload", "each object has bytes of its own", "use unique"),
    }
}

/// Refuses storage on which users cannot each read, write and remove files.
fn storage(job: &PlannedJob<'_>) -> Result<(), Refusal> {
    let (can, asked) = (&job.storage.can, &job.storage.asked);
    let refuse = |problem: String, valid: &str| Err(Refusal::new(format!("{}.files", job.key), problem, valid));
    if !matches!(job.plan.target, Target::Directory(_) | Target::Url(_)) {
        return refuse("the objects lie in a workspace, which this target has none of".to_owned(), "use a directory");
    }
    if can.needs_mpi || can.collective_files || can.collective_transfers {
        let problem = format!("{} needs all ranks for each file, and each user opens objects", asked.api);
        return refuse(problem, "use posix, mmap, uring or an object store");
    }
    if can.names.is_none() {
        let problem = format!("{} cannot remove files, which a full cache must", asked.api);
        return refuse(problem, "use posix, mmap, uring or an object store");
    }
    if asked.depth > 1 {
        return refuse("a user reads one object after another".to_owned(), "use a depth of 1 and more users");
    }
    Ok(())
}

fn span(key: &str, span: Span, least: u64) -> Result<(), Refusal> {
    if span.least > span.most {
        let problem = format!("{} is more than {}", span.least, span.most);
        return Err(Refusal::new(key, problem, "write the smaller number first"));
    }
    if span.least < least {
        return Err(Refusal::new(key, format!("{} does nothing", span.least), format!("use {least} or more")));
    }
    if span.most > MOST_TOKENS {
        return Err(Refusal::new(key, format!("{} is too many", span.most), format!("use at most {MOST_TOKENS}")));
    }
    Ok(())
}

/// Refuses conversations that no model holds.
fn longest(key: &str, work: &KvCacheWork) -> Result<(), Refusal> {
    let each = work.prompt_tokens.most.saturating_add(work.answer_tokens.most);
    let most = work.turns.most.saturating_mul(each).saturating_add(work.contexts.tokens.most);
    if most <= MOST_TOKENS {
        return Ok(());
    }
    let problem = format!("a conversation may have {most} tokens");
    Err(Refusal::new(key, problem, format!("use fewer turns, or shorter ones: at most {MOST_TOKENS} tokens")))
}

/// Refuses objects that direct I/O cannot move.
pub(super) fn aligned(job: &PlannedJob<'_>, work: &KvCacheWork, unit: u64) -> Result<(), Refusal> {
    let bytes = job.plan.files[&work.files].transfer_bytes;
    if bytes.is_multiple_of(unit) {
        return Ok(());
    }
    let problem = format!("direct I/O moves multiples of {unit} bytes, and {bytes} is none");
    Err(Refusal::new(format!("files.{}.transfer_bytes", work.files), problem, "use a multiple, or leave direct out"))
}
