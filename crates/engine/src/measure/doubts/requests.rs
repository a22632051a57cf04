//! Doubts about requests over a network: those that had to be repeated, and servers that proved nothing.

use std::collections::BTreeMap;

use ioassay_protocol::doubt::{Doubt, Reason};
use ioassay_protocol::plan::storage::Target;
use ioassay_units::count;

use super::facts::{Facts, doubt};
use crate::storage::object::location::Location;

pub(super) fn retried(facts: Facts<'_>) -> Option<Doubt> {
    let mut by: BTreeMap<String, u64> = BTreeMap::new();
    for (reason, requests) in facts.record.ranks.iter().flat_map(|rank| &rank.retries) {
        *by.entry(reason.clone()).or_default() += requests;
    }
    let requests: u64 = by.values().sum();
    if requests == 0 {
        return None;
    }
    let reasons: Vec<String> = by.iter().map(|(reason, requests)| format!("{reason}: {requests}")).collect();
    let message = format!(
        "{} had to be repeated ({}); latencies contain the failed attempts and the pauses between them",
        count(requests, "request"),
        reasons.join(", ")
    );
    let remedy = "use fewer ranks, a lower depth or a rate limit, and read the server's log; without `retries` the first \
                  such failure ends the phase";
    doubt(Reason::Retried { requests, by }, message, remedy)
}

pub(super) fn unverified_server(facts: Facts<'_>) -> Option<Doubt> {
    let Target::Url(url) = &facts.plan.target else { return None };
    if Location::parse(url).ok()?.is_verified() {
        return None;
    }
    let message = "the server's certificate was not verified (tls-verify=no)".to_owned();
    doubt(Reason::UnverifiedServer, message, "name the site's certificates with ca-file=FILE in the target's URL")
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::events::RankRecord;
    use ioassay_protocol::plan::Operation;
    use serde_json::json;

    use super::super::given;
    use super::*;
    use crate::measure::records;

    #[test]
    fn repeated_requests_are_added_up_by_reason_and_none_raise_no_doubt() {
        let plan = given::plan(2, json!("at-end"), json!({}));
        let of = |(rank, retries): (u32, &[(&str, u64)])| RankRecord {
            retries: retries.iter().map(|&(reason, requests)| (reason.to_owned(), requests)).collect(),
            ..records::rank(rank)
        };
        let phase =
            |ranks: [&[(&str, u64)]; 2]| records::phase("w", Operation::Write, (0..).zip(ranks).map(of).collect());
        assert_eq!(retried(given::facts(&plan, &[], &phase([&[], &[]]))), None);
        let record = phase([&[("HTTP 503 SlowDown", 2)], &[("HTTP 503 SlowDown", 1), ("connection reset", 1)]]);
        let doubt = retried(given::facts(&plan, &[], &record)).unwrap();
        assert!(!doubt.invalidates);
        assert!(
            doubt.message.starts_with("4 requests had to be repeated (HTTP 503 SlowDown: 3, connection reset: 1)"),
            "{}",
            doubt.message
        );
    }

    #[test]
    fn a_server_that_is_not_verified_is_a_doubt_and_one_without_tls_is_none() {
        let about = |url: &str| {
            let mut plan = given::plan(2, json!("at-end"), json!({}));
            plan.target = Target::Url(url.to_owned());
            let record = records::phase("w", Operation::Write, vec![records::rank(0)]);
            unverified_server(given::facts(&plan, &[], &record)).map(|doubt| doubt.reason)
        };
        assert_eq!(about("s3://b?endpoint=https://h:1&tls-verify=no"), Some(Reason::UnverifiedServer));
        for url in ["s3://b?endpoint=https://h:1&tls-verify=yes", "s3://b?endpoint=http://h:1", "nfs://host/export"] {
            assert_eq!(about(url), None, "{url}");
        }
    }
}
