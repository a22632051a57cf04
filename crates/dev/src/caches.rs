//! The table of caches in the guide to cold caches, from the engine's own.

use ioassay_host::caches::{CACHES, Cache, Place, Sign};
use ioassay_protocol::plan::CacheMethod;

const BEGIN: &str = "<!-- The table of caches is generated from crates/host/src/caches.rs: `make generate`. -->\n";
const END: &str = "<!-- End of the table of caches. -->\n";

/// `guide` with the table as it is now. The guide says where it stands.
pub fn guide(guide: &str) -> String {
    let (before, rest) = guide.split_once(BEGIN).expect("the guide has the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the guide has the end of the table");
    format!("{before}{BEGIN}\n{}\n{END}{after}", table())
}

fn table() -> String {
    let head = "| cache | found by | where | emptied by | otherwise | source |\n| -- | -- | -- | -- | -- | -- |\n";
    head.to_owned() + &CACHES.iter().map(row).collect::<String>()
}

fn row(cache: &Cache) -> String {
    let place = match cache.place {
        Place::Servers => "memory of servers",
        Place::Process => "FUSE process, its files",
        Place::Node => "node",
        Place::Host => "host of the guest",
    };
    let emptied = cache.emptied_by.iter().map(|&method| format!("`{}`", name(method))).collect::<Vec<_>>().join(", ");
    let emptied = if emptied.is_empty() { "nothing; doubt" } else { &emptied };
    format!(
        "| {} | {} | {place} | {emptied} | {} | {} |\n",
        cache.name,
        sign(cache.sign),
        cache.otherwise,
        cache.source
    )
}

fn sign(sign: Sign) -> String {
    let code = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match sign {
        Sign::Type(types) => format!("type {}", code(types)),
        Sign::Fuse => "any other type `fuse…`".to_owned(),
        Sign::Option(types, options) => format!("option {} of {}", code(options), code(types)),
        Sign::BeegfsBuffered => "type `beegfs` without `tuneFileCacheType = native` in its `cfgFile`".to_owned(),
        Sign::LustrePcc => "`llite.*.pcc` is not empty".to_owned(),
        Sign::Loop => "`loop/backing_file`, without direct I/O".to_owned(),
        Sign::Bcache => "`bcache/state` of the device".to_owned(),
        Sign::LvmCache => "parts `…_cdata` or `…_cvol` of the volume".to_owned(),
    }
}

fn name(method: CacheMethod) -> &'static str {
    match method {
        CacheMethod::DropCaches => "drop-caches",
        CacheMethod::Fadvise => "fadvise",
        CacheMethod::Remount => "remount",
        CacheMethod::ReadOtherRank => "read-other-rank",
    }
}
