//! What was measured of each rule, window by window, and which rules are broken.
//!
//! Windows begin at multiples of their length since 1970, so that those of all nodes are the same.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::path::Path;

use ioassay_host::mounts;
use ioassay_protocol::watch::contract::{Action, Measure, Rule, Scope};
use ioassay_protocol::watch::document::Document;
use ioassay_protocol::watch::kinds::{Alert, RuleState};

use crate::jobs::JobKey;
use crate::rules::selection::in_words;

/// What was counted for a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Calls that ended.
    pub calls: u64,
    /// Bytes that were moved.
    pub bytes: u64,
    /// What the calls took.
    pub busy_ns: u64,
    /// What the fastest took; 0 where there was none.
    pub fastest_ns: u64,
    /// What the slowest took.
    pub slowest_ns: u64,
    /// From the end of a transfer to the beginning of the next.
    pub seek_bytes: u64,
    /// Calls that were held back.
    pub waits: u64,
    /// What they waited.
    pub waited_ns: u64,
    /// Calls that cannot be held back.
    pub beyond_calls: u64,
    /// Memory, at the end of the second.
    pub resident_bytes: u64,
    /// Virtual memory, at the end of the second.
    pub virtual_bytes: u64,
    /// Processor time in programs.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub system_ns: u64,
    /// Time in which block devices were waited for.
    pub io_wait_ns: u64,
}

impl Counted {
    /// Both together, of the same second.
    pub fn and(self, other: Self) -> Self {
        Self {
            resident_bytes: self.resident_bytes.saturating_add(other.resident_bytes),
            virtual_bytes: self.virtual_bytes.saturating_add(other.virtual_bytes),
            ..self.then(other)
        }
    }

    /// This, and what was counted in the seconds after.
    fn then(self, later: Self) -> Self {
        let fastest = |first: u64, other: u64| if first == 0 || other != 0 && other < first { other } else { first };
        Self {
            calls: self.calls.saturating_add(later.calls),
            bytes: self.bytes.saturating_add(later.bytes),
            busy_ns: self.busy_ns.saturating_add(later.busy_ns),
            fastest_ns: fastest(self.fastest_ns, later.fastest_ns),
            slowest_ns: self.slowest_ns.max(later.slowest_ns),
            seek_bytes: self.seek_bytes.saturating_add(later.seek_bytes),
            waits: self.waits.saturating_add(later.waits),
            waited_ns: self.waited_ns.saturating_add(later.waited_ns),
            beyond_calls: self.beyond_calls.saturating_add(later.beyond_calls),
            resident_bytes: self.resident_bytes.max(later.resident_bytes),
            virtual_bytes: self.virtual_bytes.max(later.virtual_bytes),
            user_ns: self.user_ns.saturating_add(later.user_ns),
            system_ns: self.system_ns.saturating_add(later.system_ns),
            io_wait_ns: self.io_wait_ns.saturating_add(later.io_wait_ns),
        }
    }

    /// What a rule measures of it.
    pub fn measured(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Bandwidth => self.bytes,
            Measure::Count => self.calls,
            Measure::MinimumLatency => self.fastest_ns,
            Measure::MeanLatency => self.busy_ns.checked_div(self.calls).unwrap_or_default(),
            Measure::MaximumLatency => self.slowest_ns,
            Measure::TotalLatency => self.busy_ns,
            Measure::SeekDistance => self.seek_bytes,
            Measure::ResidentMemory => self.resident_bytes,
            Measure::VirtualMemory => self.virtual_bytes,
            Measure::UserTime => self.user_ns,
            Measure::SystemTime => self.system_ns,
            Measure::IoWaitTime => self.io_wait_ns,
        }
    }
}

/// The process that contributed most to what a rule measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contributor {
    /// How much, in the unit of the measure.
    pub measured: u64,
    /// The process, by the number that it knows itself by.
    pub pid: u32,
    /// Its number on this node, of which the list of mounts is that `file` belongs to.
    pub pid_on_node: u32,
    /// Its command.
    pub command: String,
    /// The file that it used last, or in the slowest call.
    pub file: String,
    /// Its rank.
    pub rank: String,
}

/// What was measured of a rule in a second: of a job, or of one of its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The job.
    pub job: JobKey,
    /// What was counted.
    pub counted: Counted,
    /// The process that contributed most.
    pub contributor: Contributor,
}

impl Observation {
    /// Of a job that did nothing yet.
    pub fn of(job: &JobKey) -> Self {
        Self { job: job.clone(), counted: Counted::default(), contributor: Contributor::default() }
    }
}

/// What else is to be said of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// What this node may do of it in a window.
    pub share: u64,
    /// What it does not reach, and why.
    pub remark: String,
}

/// What a rule adds up: a job; a user, whose job has no name then; or `None`, all jobs of the node.
pub fn added_up(scope: Scope, job: &JobKey) -> Option<JobKey> {
    match scope {
        Scope::Job | Scope::WholeJob => Some(job.clone()),
        Scope::User => Some(JobKey { job: String::new(), user: job.user }),
        Scope::Node => None,
    }
}

/// A window of a rule, of what it adds up.
#[derive(Debug, Default)]
struct Window {
    counted: Counted,
    user: Option<u32>,
    most: Contributor,
}

/// Windows that are not over yet.
#[derive(Debug, Default)]
pub struct Windows {
    /// By the rule's label, and what it adds up.
    open: BTreeMap<(String, Option<JobKey>), Window>,
}

impl Windows {
    /// Adds what was seen in a second that is over, and ends the windows that end with it. Documents of the second.
    pub fn second(
        &mut self,
        node: &str,
        second: u32,
        rules: &[impl Borrow<Rule>],
        mut observed: impl FnMut(&Rule) -> Vec<Observation>,
        about: impl Fn(&Rule, Option<&JobKey>) -> About,
    ) -> Vec<Document> {
        let mut documents = Vec::new();
        for rule in rules.iter().map(Borrow::borrow) {
            let mut now: BTreeMap<Option<JobKey>, Window> = BTreeMap::new();
            for Observation { job, counted, contributor } in observed(rule) {
                let window = now.entry(added_up(rule.scope, &job)).or_default();
                window.counted = window.counted.and(counted);
                window.user = Some(job.user);
                if contributor.measured >= window.most.measured {
                    window.most = contributor;
                }
            }
            for (key, new) in now {
                let about = about(rule, key.as_ref());
                documents.push(state(node, rule, key.as_ref(), &new.counted, about).of(second.into(), 0));
                let window = self.open.entry((rule.label.clone(), key)).or_default();
                window.counted = window.counted.then(new.counted);
                window.user = new.user;
                if new.most.measured >= window.most.measured {
                    window.most = new.most;
                }
            }
        }
        documents.extend(self.judge(node, second, rules, |rule| (second + 1).is_multiple_of(rule.window_s)));
        documents
    }

    /// The labels of rules whose windows are not over.
    pub fn open(&self) -> impl Iterator<Item = &String> {
        self.open.keys().map(|(label, _)| label)
    }

    /// Ends all windows, whose jobs or agent end within them. Alerts of that second.
    pub fn end(&mut self, node: &str, second: u32, rules: &[impl Borrow<Rule>]) -> Vec<Document> {
        self.judge(node, second, rules, |_| true)
    }

    /// Ends the windows of the rules for which `is_over`. Alerts of that second.
    fn judge<R: Borrow<Rule>>(
        &mut self,
        node: &str,
        second: u32,
        rules: &[R],
        is_over: impl Fn(&Rule) -> bool,
    ) -> Vec<Document> {
        let rules: Vec<&Rule> = rules.iter().map(Borrow::borrow).collect();
        let mut broken: Vec<(&Rule, Option<JobKey>, Window)> = Vec::new();
        for rule in rules.iter().copied().filter(|rule| is_over(rule)) {
            let ended: Vec<_> = self.open.keys().filter(|(open, _)| *open == rule.label).cloned().collect();
            for key in ended {
                let Some(window) = self.open.remove(&key) else { continue };
                if is_broken(rule, &window.counted) {
                    broken.push((rule, key.1, window));
                }
            }
        }
        // Rules that went.
        self.open.retain(|(label, _), _| rules.iter().any(|rule| rule.label == *label));
        let is_topped = |rule: &Rule, job: &Option<JobKey>| {
            broken
                .iter()
                .any(|(other, of, _)| of == job && other.limit > rule.limit && differ_in_limit_alone(rule, other))
        };
        let highest = broken.iter().filter(|(rule, job, _)| !is_topped(rule, job));
        highest.map(|(rule, job, window)| alert(node, rule, job.as_ref(), window).of(second.into(), 0)).collect()
    }
}

/// Whether a window breaks a rule. One that throttles is broken by what it held back.
fn is_broken(rule: &Rule, counted: &Counted) -> bool {
    match rule.action {
        Action::Monitor => counted.measured(rule.measure) > rule.limit,
        Action::Throttle => counted.waits > 0,
    }
}

/// Of several rules about the same only the highest that is broken is worth an alert.
fn differ_in_limit_alone(first: &Rule, other: &Rule) -> bool {
    *first == Rule { label: first.label.clone(), limit: first.limit, ..other.clone() }
}

fn state(node: &str, rule: &Rule, key: Option<&JobKey>, counted: &Counted, about: About) -> RuleState {
    let About { share, remark } = about;
    RuleState {
        node: node.to_owned(),
        job: key.map(|key| key.job.clone()).unwrap_or_default(),
        label: rule.label.clone(),
        user: key.map(|key| key.user.to_string()).unwrap_or_default(),
        scope: scope_in_words(rule.scope),
        jobs: in_words(&rule.jobs),
        measure: word(&rule.measure),
        measured: counted.measured(rule.measure),
        allowed: rule.limit,
        share,
        waits: counted.waits,
        waited_ns: counted.waited_ns,
        beyond_calls: counted.beyond_calls,
        remark,
    }
}

/// As contracts say it.
fn scope_in_words(scope: Scope) -> String {
    word(&scope).replace('-', " ")
}

fn alert(node: &str, rule: &Rule, job: Option<&JobKey>, window: &Window) -> Alert {
    let Contributor { pid, pid_on_node, command, file, rank, .. } = window.most.clone();
    let mount = Path::new(&file).is_absolute().then(|| mounts::listed_by(pid_on_node, Path::new(&file))).flatten();
    let (mount_point, file_system, mount_source) = mount.map_or_else(Default::default, |mount| {
        (mount.point.display().to_string(), mount.file_system, mount.source.unwrap_or_default())
    });
    let sizes = match (rule.least_bytes, rule.most_bytes) {
        (0, None) => "all".to_owned(),
        (least, most) => format!("{least}-{}", most.map(|most| most.to_string()).unwrap_or_default()),
    };
    Alert {
        node: node.to_owned(),
        job: job.map(|key| key.job.clone()).unwrap_or_default(),
        label: rule.label.clone(),
        action: word(&rule.action),
        user: window.user.map(|user| user.to_string()).unwrap_or_default(),
        scope: scope_in_words(rule.scope),
        jobs: in_words(&rule.jobs),
        path: rule.path.clone().unwrap_or_default(),
        classes: rule.calls.join(","),
        sizes,
        measure: word(&rule.measure),
        measured: window.counted.measured(rule.measure),
        allowed: rule.limit,
        window_s: rule.window_s.into(),
        waits: window.counted.waits,
        waited_ns: window.counted.waited_ns,
        pid: pid.to_string(),
        command,
        file,
        mount_point,
        file_system,
        mount_source,
        rank,
    }
}

/// The word of a constant in the contract.
fn word<T: serde::Serialize>(constant: &T) -> String {
    match serde_json::to_value(constant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::contract::tests::rule;
    use ioassay_protocol::watch::document::Value;

    fn job(name: &str) -> JobKey {
        JobKey { job: name.to_owned(), user: 7 }
    }

    fn seen(name: &str, pid: u32, bytes: u64) -> Observation {
        let counted = Counted { bytes, calls: 1, ..Counted::default() };
        Observation {
            job: job(name),
            counted,
            contributor: Contributor { measured: bytes, pid, ..Contributor::default() },
        }
    }

    /// Alerts of a second: label, job, measured, and whose it is.
    fn alerts(
        windows: &mut Windows,
        second: u32,
        rules: &[Rule],
        seen: &[Observation],
    ) -> Vec<(String, String, u64, String)> {
        let documents = windows.second("node", second, rules, |_| seen.to_vec(), |_, _| About::default());
        let text = |document: &Document, name| match document.value(name) {
            Some(Value::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        let number = |document: &Document, name| match document.value(name) {
            Some(Value::Number(number)) => *number,
            other => panic!("{other:?}"),
        };
        let of = |document: &Document| {
            (text(document, "label"), text(document, "job"), number(document, "measured"), text(document, "pid"))
        };
        documents.iter().filter(|document| document.kind.name == "alert").map(of).collect()
    }

    fn expected_alert(label: &str, job: &str, measured: u64, pid: u32) -> (String, String, u64, String) {
        (label.to_owned(), job.to_owned(), measured, pid.to_string())
    }

    #[test]
    fn processes_of_a_job_break_a_rule_together_and_the_largest_is_named() {
        let rules = [rule()];
        let mut windows = Windows::default();
        let seen = [seen("a", 1, 40), seen("a", 2, 61), seen("b", 3, 100)];
        assert_eq!(alerts(&mut windows, 10, &rules, &seen), [expected_alert("reads", "a", 101, 2)]);
        assert_eq!(alerts(&mut windows, 11, &rules, &seen[..1]), []);
    }

    #[test]
    fn a_rule_of_the_node_adds_up_its_jobs() {
        let rules = [Rule { scope: Scope::Node, ..rule() }];
        let alerts_found = alerts(&mut Windows::default(), 10, &rules, &[seen("a", 1, 60), seen("b", 2, 50)]);
        assert_eq!(alerts_found, [expected_alert("reads", "", 110, 1)]);
    }

    #[test]
    fn a_rule_of_each_user_adds_up_the_jobs_of_each() {
        let rules = [Rule { scope: Scope::User, ..rule() }];
        let of_other = |mut seen: Observation| {
            seen.job.user = 8;
            seen
        };
        let seen = [seen("a", 1, 60), seen("b", 2, 50), of_other(seen("c", 3, 70)), of_other(seen("d", 4, 40))];
        let documents = Windows::default().second("node", 1, &rules, |_| seen.to_vec(), |_, _| About::default());
        let text = |document: &Document, name| match document.value(name) {
            Some(Value::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        let of = |kind| documents.iter().filter(move |document| document.kind.name == kind);
        let users: Vec<_> = of("rule").map(|state| (text(state, "user"), text(state, "job"))).collect();
        assert_eq!(users, [("7".to_owned(), String::new()), ("8".to_owned(), String::new())]);
        let mut alerts: Vec<_> = of("alert").map(Document::identity).collect();
        alerts.dedup();
        assert_eq!(alerts.len(), 2);
        assert!(of("alert").all(|alert| text(alert, "scope") == "user"));
    }

    #[test]
    fn a_window_ends_with_its_last_second_and_the_next_begins_empty() {
        let rules = [Rule { window_s: 5, ..rule() }];
        let mut windows = Windows::default();
        for second in 10..14 {
            assert_eq!(alerts(&mut windows, second, &rules, &[seen("a", 1, 21)]), []);
        }
        assert_eq!(alerts(&mut windows, 14, &rules, &[seen("a", 1, 21)]), [expected_alert("reads", "a", 105, 1)]);
        assert_eq!(alerts(&mut windows, 19, &rules, &[seen("a", 1, 21)]), []);
    }

    #[test]
    fn a_window_that_is_not_over_when_the_agent_ends_is_judged_once() {
        let rules = [Rule { window_s: 60, ..rule() }];
        let mut windows = Windows::default();
        assert_eq!(alerts(&mut windows, 10, &rules, &[seen("a", 1, 200), seen("b", 2, 9)]), []);
        let ended: Vec<_> = windows.end("node", 11, &rules);
        assert_eq!(ended.iter().map(|alert| (alert.second, alert.kind.name)).collect::<Vec<_>>(), [(11, "alert")]);
        assert_eq!(ended[0].value("measured"), Some(&Value::Number(200)));
        assert_eq!(windows.end("node", 11, &rules), []);
    }

    #[test]
    fn a_window_that_ends_in_an_idle_second_is_judged_all_the_same() {
        let rules = [Rule { window_s: 5, ..rule() }];
        let mut windows = Windows::default();
        alerts(&mut windows, 10, &rules, &[seen("a", 1, 200)]);
        assert_eq!(alerts(&mut windows, 14, &rules, &[]), [expected_alert("reads", "a", 200, 1)]);
    }

    #[test]
    fn the_highest_broken_limit_of_alike_rules_is_reported() {
        let higher = Rule { label: "higher".to_owned(), limit: 200, ..rule() };
        let unlike = Rule { label: "unlike".to_owned(), limit: 300, path: None, ..rule() };
        let rules = [rule(), higher, unlike];
        let alerts_found = alerts(&mut Windows::default(), 1, &rules, &[seen("a", 1, 250)]);
        assert_eq!(alerts_found, [expected_alert("higher", "a", 250, 1)]);
    }

    #[test]
    fn a_throttling_rule_is_reported_where_it_held_calls_back() {
        let rules = [Rule { action: Action::Throttle, ..rule() }];
        let mut held = seen("a", 1, 100);
        assert_eq!(alerts(&mut Windows::default(), 1, &rules, &[held.clone()]), []);
        held.counted.waits = 3;
        assert_eq!(alerts(&mut Windows::default(), 1, &rules, &[held]), [expected_alert("reads", "a", 100, 1)]);
    }

    #[test]
    fn latencies_of_a_window_are_those_of_all_its_calls() {
        let first =
            Counted { calls: 3, busy_ns: 30, fastest_ns: 5, slowest_ns: 20, resident_bytes: 7, ..Counted::default() };
        let second =
            Counted { calls: 1, busy_ns: 50, fastest_ns: 50, slowest_ns: 50, resident_bytes: 9, ..Counted::default() };
        let both = first.then(second);
        let of = |measure| both.measured(measure);
        assert_eq!([of(Measure::MinimumLatency), of(Measure::MeanLatency), of(Measure::MaximumLatency)], [5, 20, 50]);
        assert_eq!((of(Measure::TotalLatency), of(Measure::ResidentMemory)), (80, 9));
        assert_eq!(first.and(second).resident_bytes, 16);
        assert_eq!(Counted::default().measured(Measure::MeanLatency), 0);
    }
}
