//! The rules: what makes a phase or a run invalid, and the scores (IO500/io500 at 02091cf, `src/main.c`).
//!
//! In one thing ours are stricter. The official mean leaves out phases whose score is 0 or less, so that a phase that
//! failed can raise it; here such a phase counts as 0, and the score is 0 with it.

use super::phases::{Group, Phase};
use super::settings::Settings;

/// How a phase ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The phase.
    pub phase: &'static Phase,
    /// GiB/s or thousands of operations per second; 0 where it failed or did not run.
    pub score: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Why it is invalid; empty where it is valid.
    pub invalid: Vec<String>,
    /// Something went wrong, and it is not only the rules that it does not keep.
    pub failed: bool,
}

impl Outcome {
    /// A phase that has no score, because of `reason`.
    pub fn without_score(phase: &'static Phase, reason: String) -> Self {
        Self { phase, score: 0.0, seconds: 0.0, invalid: vec![reason], failed: false }
    }

    /// Adds what the rules say of score and duration.
    pub fn judge(&mut self, settings: &Settings) {
        let stonewall_s = settings.stonewall_ns as f64 / 1e9;
        // The failure of one that failed is reported already.
        let walled = self.phase.walled && self.score > 0.0;
        if walled && self.seconds < stonewall_s {
            let reason =
                format!("it took {:.3} s and ended before its stonewall of {stonewall_s:.3} s: {}", self.seconds, MORE);
            self.invalid.push(reason);
        }
        if walled && self.seconds < settings.minimum_s as f64 {
            let reason =
                format!("it took {:.3} s, less than the {} s that the rules require", self.seconds, settings.minimum_s);
            self.invalid.push(reason);
        }
        if self.score <= 0.0 || !self.score.is_finite() {
            self.score = 0.0;
            if self.invalid.is_empty() {
                self.invalid.push("it completed no operations".to_owned());
            }
        }
    }
}

const MORE: &str = "raise blockSize, segmentCount or n";

/// Why a whole run is invalid, before anything was measured.
pub fn invalid_from_the_start(settings: &Settings) -> Vec<String> {
    let mut reasons = Vec::new();
    if settings.stonewall_s != settings.minimum_s {
        let Settings { stonewall_s, minimum_s, .. } = settings;
        reasons.push(format!("[debug] stonewall-time is {stonewall_s} s, but the rules require {minimum_s} s"));
    }
    if settings.scale_down > 1 {
        reasons.push(format!("times and amounts were divided by {} (IOASSAY_SCALE_DOWN)", settings.scale_down));
    }
    reasons
}

/// The scores of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Geometric mean of the bandwidths, in GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the rates, in thousands per second.
    pub metadata: f64,
}

impl Scores {
    /// Of all outcomes; those of the extended list count only where `extended` says so.
    pub fn of(outcomes: &[Outcome], extended: bool) -> Self {
        let mean = |group| {
            let counting = outcomes.iter().filter(|outcome| outcome.phase.group == group);
            geometric_mean(counting.filter(|outcome| extended || !outcome.phase.extended).map(|outcome| outcome.score))
        };
        Self { bandwidth: mean(Group::Bandwidth), metadata: mean(Group::Metadata) }
    }

    /// The geometric mean of both.
    pub fn total(&self) -> f64 {
        (self.bandwidth * self.metadata).sqrt()
    }
}

/// The geometric mean; 0 of none, and 0 where one of them is not above 0.
fn geometric_mean(scores: impl Iterator<Item = f64>) -> f64 {
    let (mut logarithms, mut count) = (0.0, 0_u32);
    for score in scores {
        if score <= 0.0 || !score.is_finite() {
            return 0.0;
        }
        logarithms += score.ln();
        count += 1;
    }
    if count == 0 { 0.0 } else { (logarithms / f64::from(count)).exp() }
}

/// True if the score of the standard list, or of the extended one, may be used.
pub fn is_valid(outcomes: &[Outcome], from_the_start: &[String], extended: bool) -> bool {
    let mut counting = outcomes.iter().filter(|outcome| extended || !outcome.phase.extended);
    from_the_start.is_empty() && counting.all(|outcome| outcome.invalid.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::common::Common;
    use crate::io500::api::Ways;
    use crate::io500::config::Config;
    use crate::io500::phases::PHASES;
    use proptest::prelude::*;

    fn settings(scale_down: u64) -> Settings {
        let common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down };
        Settings::of(&Config::parse("x.ini", "").unwrap(), &common, false, None, &Ways::default()).unwrap()
    }

    fn outcomes(scores: &[f64]) -> Vec<Outcome> {
        let outcome = |(phase, &score)| Outcome { phase, score, seconds: 300.5, invalid: Vec::new(), failed: false };
        PHASES.iter().zip(scores).map(outcome).collect()
    }

    fn judged(name: &str, score: f64, seconds: f64, settings: &Settings) -> Outcome {
        let phase = PHASES.iter().find(|phase| phase.name == name).unwrap();
        let mut outcome = Outcome { phase, score, seconds, invalid: Vec::new(), failed: false };
        outcome.judge(settings);
        outcome
    }

    proptest! {
        #[test]
        fn a_phase_that_failed_never_raises_a_score(
            scores in proptest::collection::vec(1e-6..1e6_f64, PHASES.len()),
            failed in 0..PHASES.len(),
            instead in prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY)],
            extended: bool,
        ) {
            let well = Scores::of(&outcomes(&scores), extended);
            let mut ill = outcomes(&scores);
            ill[failed] = Outcome { score: instead, ..Outcome::without_score(ill[failed].phase, "failed".to_owned()) };
            let score = Scores::of(&ill, extended);
            prop_assert!(score.total() <= well.total() && score.bandwidth <= well.bandwidth);
            prop_assert!(score.metadata <= well.metadata);
            prop_assert!(is_valid(&outcomes(&scores), &[], extended));
            prop_assert_eq!(is_valid(&ill, &[], extended), ill[failed].phase.extended && !extended);
        }
    }

    /// What `python/ioassay/analysis/io500.py` must say too. The first are those of the official program.
    #[test]
    fn scores_are_those_that_the_control_plane_computes() {
        #[derive(serde::Deserialize)]
        struct Agreed {
            about: String,
            extended: bool,
            phases: BTreeMap<String, f64>,
            bandwidth: f64,
            metadata: f64,
            total: f64,
        }
        let agreed: Vec<Agreed> = serde_json::from_str(include_str!("../../tests/io500-scores.json")).unwrap();
        let rules = settings(1);
        for Agreed { about, extended, phases, bandwidth, metadata, total } in agreed {
            let all: Vec<Outcome> = phases.iter().map(|(name, &score)| judged(name, score, 301.0, &rules)).collect();
            let scores = Scores::of(&all, extended);
            let computed = [scores.bandwidth, scores.metadata, scores.total()];
            for (score, agreed) in computed.into_iter().zip([bandwidth, metadata, total]) {
                assert!((score - agreed).abs() < 1e-6, "{about}: {scores:?}");
            }
            assert_eq!(is_valid(&all, &[], extended), total > 0.0, "{about}");
        }
    }

    #[test]
    fn write_phases_must_last_as_long_as_the_rules_want() {
        let rules = settings(1);
        assert!(judged("ior-easy-write", 1.0, 300.0, &rules).invalid.is_empty());
        assert_eq!(judged("ior-easy-write", 1.0, 299.9, &rules).invalid.len(), 2);
        assert!(judged("ior-easy-read", 1.0, 3.0, &rules).invalid.is_empty());
        let scaled = settings(300);
        assert_eq!(judged("mdtest-hard-write", 1.0, 1.5, &scaled).invalid.len(), 1);
        assert_eq!(judged("find", 0.0, 1.5, &scaled).invalid.len(), 1);
    }

    #[test]
    fn other_stonewalls_and_trials_are_invalid_from_the_start() {
        assert!(invalid_from_the_start(&settings(1)).is_empty());
        assert_eq!(invalid_from_the_start(&settings(2)).len(), 1);
        let common = Common { ranks: 1, nodes: 1, run: None, overwrite: false, scale_down: 1 };
        let of = |text| {
            Settings::of(&Config::parse("x.ini", text).unwrap(), &common, false, None, &Ways::default()).unwrap()
        };
        assert!(invalid_from_the_start(&of("[global]\nscc = TRUE\n[debug]\nstonewall-time = 30")).is_empty());
        assert_eq!(invalid_from_the_start(&of("[global]\nscc = TRUE")).len(), 1);
        assert_eq!(invalid_from_the_start(&of("[debug]\nstonewall-time = 30")).len(), 1);
    }
}
