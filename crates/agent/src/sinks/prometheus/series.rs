//! Documents as series: few enough for a store that pays for each.
//!
//! Amounts become counters, the rest gauges. Classes of calls are put into groups. So many jobs and, of each kind, so
//! many devices have series of their own as the setup allows; those beyond are added up as `other`. A job is whole or
//! wholly in `other`: what is reported of it in documents of several kinds stands under one name. Texts and keys
//! (paths, processes, commands) are no labels.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ioassay_protocol::watch::document::{Document, Field, FieldKind, Kind, Value};
use ioassay_protocol::watch::setup::SeriesLimits;
use ioassay_record::operation::Operation;

/// Names that are in `other` are remembered up to this many of a space, so that they stay there.
const FOLDED: usize = 100_000;
/// A name of which nothing was reported for this long makes room for a new one where there is none, in seconds. A store
/// that asks once a minute has seen its last values then.
const IDLE_S: u64 = 60;
/// A series ends when nothing was reported of it for this long, in seconds.
const STALE_S: u64 = 300;
/// A state of which nothing was reported for this long is unknown, in seconds.
const KNOWN_S: u64 = 5;
/// A clock that goes back by more than this has been set, in seconds.
const SET_BACK_S: u64 = 600;
/// The longest label, in bytes.
const LABEL_BYTES: usize = 200;

/// Documents that are counted, whatever numbers are in them: what they are about is in their texts.
const COUNTED: [&str; 2] = ["alert", "in_flight"];
/// Labels that would say nothing more: a job has one user, which documents of jobs say.
const LEFT_OUT: [(&str, &str); 1] = [("io", "user")];
/// What many of are added up as.
const OTHER_NAME: &str = "other";

/// What a series is to Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It only grows.
    Counter,
    /// The greatest since it was last reset.
    Greatest,
    /// As it is now.
    Level,
    /// A moment that stays as it is: the latest.
    Moment,
}

/// What all series of one name have in common.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What it means to people.
    pub about: &'static str,
    /// What it is to Prometheus.
    pub meaning: Meaning,
    /// The place of its field; `None`: documents are counted.
    field: Option<usize>,
}

/// Names and values, in the order of the kind's fields, none of them empty.
pub type Labels = Vec<(&'static str, String)>;

/// The space of the names of jobs, whatever kind of documents says something of them.
const JOBS: &str = "job";
/// The space of the labels of rules.
const RULES: &str = "rule";

/// The series of a node.
pub struct Series {
    node: String,
    limits: SeriesLimits,
    metrics: HashMap<&'static str, Arc<Vec<Metric>>>,
    groups: BTreeMap<(&'static str, Labels), Group>,
    /// By space: jobs, rules, and the devices of each other kind of documents.
    names: BTreeMap<&'static str, Names>,
    second: u64,
}

/// The names of a space: those with series of their own, and those in `other`.
#[derive(Default)]
struct Names {
    /// When something was last said of each, in seconds.
    named: HashMap<String, u64>,
    folded: HashMap<String, u64>,
    /// Those among the named that can make room, as of the beginning of this second.
    idle: Vec<String>,
    /// Those that did, and whose series are still to go.
    evicted: HashSet<String>,
}

impl Names {
    /// Whether a name has series of its own, now that something is reported of it.
    fn admit(&mut self, name: &str, most: usize, now: u64) -> bool {
        if let Some(updated) = self.named.get_mut(name) {
            *updated = now;
            return true;
        }
        if let Some(updated) = self.folded.get_mut(name) {
            // It stays there: counters cannot be taken out of a sum again.
            *updated = now;
            return false;
        }
        if self.named.len() >= most && !self.evict(now) {
            if self.folded.len() < FOLDED {
                self.folded.insert(name.to_owned(), now);
            }
            return false;
        }
        self.evicted.remove(name);
        self.named.insert(name.to_owned(), now);
        true
    }

    /// Makes room for a name, if one is idle.
    fn evict(&mut self, now: u64) -> bool {
        while let Some(name) = self.idle.pop() {
            if self.named.get(&name).is_some_and(|updated| is_idle(*updated, now)) {
                self.named.remove(&name);
                self.evicted.insert(name);
                return true;
            }
        }
        false
    }

    /// Goes on to another second.
    fn advance(&mut self, now: u64) {
        let is_stale = |updated: u64| updated.abs_diff(now) > STALE_S;
        self.named.retain(|_, updated| !is_stale(*updated));
        self.folded.retain(|_, updated| !is_stale(*updated));
        self.evicted.clear();
        self.idle =
            self.named.iter().filter(|(_, updated)| is_idle(**updated, now)).map(|(name, _)| name.clone()).collect();
    }
}

fn is_idle(updated: u64, now: u64) -> bool {
    updated.abs_diff(now) >= IDLE_S
}

/// The series of one set of labels: one for each metric of a kind.
pub struct Group {
    metrics: Arc<Vec<Metric>>,
    updated: u64,
    slots: Vec<Slot>,
}

/// One series.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// Its value; `None`: not known any more.
    pub value: Option<u64>,
    /// Whether it was sent, and not taken back.
    pub sent: bool,
    /// The second that a level is of.
    second: u64,
}

impl Group {
    /// Its series, by metric.
    pub fn slots(&mut self) -> impl Iterator<Item = (&Metric, &mut Slot)> {
        self.metrics.iter().zip(&mut self.slots)
    }
}

impl Series {
    /// None yet.
    pub fn of(node: &str, limits: SeriesLimits) -> Self {
        Self {
            node: node.to_owned(),
            limits,
            metrics: HashMap::new(),
            groups: BTreeMap::new(),
            names: BTreeMap::new(),
            second: 0,
        }
    }

    /// The second that they are of.
    pub fn second(&self) -> u64 {
        self.second
    }

    /// Whether a document is of a later second, or of so much an earlier one that the clock must have been set. Additions to
    /// seconds long ago come when a call has ended that took so long. Documents with moments, such as phases, are about the time
    /// of another clock, and may come long after it.
    pub fn is_beyond(&self, document: &Document) -> bool {
        let is_set_back = document.part == 0 && document.second + SET_BACK_S < self.second;
        let has_moments = || document.kind.fields.iter().any(|field| field.kind == FieldKind::Moment);
        (document.second > self.second || is_set_back) && !has_moments()
    }

    /// Goes on to another second, and says which groups go.
    pub fn advance(&mut self, second: u64) -> Vec<(Labels, Group)> {
        self.second = second;
        let is_stale = |updated: u64| updated.abs_diff(second) > STALE_S;
        for (_, slot) in
            self.groups.values_mut().flat_map(Group::slots).filter(|(metric, _)| metric.meaning == Meaning::Level)
        {
            if slot.second.abs_diff(second) > KNOWN_S {
                slot.value = None;
            }
        }
        let names = &self.names;
        let made_room = |kind: &'static str, labels: &Labels| {
            let is_evicted =
                |(space, name): (&'static str, String)| names.get(space).is_some_and(|of| of.evicted.contains(&name));
            names.values().any(|of| !of.evicted.is_empty()) && spaces(kind, labels).into_iter().any(is_evicted)
        };
        let gone =
            self.groups.extract_if(.., |(kind, labels), group| is_stale(group.updated) || made_room(kind, labels));
        let gone = gone.map(|((_, labels), group)| (labels, group)).collect();
        self.names.values_mut().for_each(|of| of.advance(second));
        gone
    }

    /// Adds a document. It may be of an earlier second, about which it says more.
    pub fn add(&mut self, document: &Document) {
        let now = self.second;
        let Some(group) = self.group(document) else { return };
        group.updated = now;
        for (metric, slot) in group.metrics.iter().zip(&mut group.slots) {
            let number = match metric.field.map(|field| &document.values[field]) {
                None => 1,
                Some(Value::Number(number)) => *number,
                Some(Value::Text(_) | Value::Missing) => continue,
            };
            match metric.meaning {
                Meaning::Counter => slot.value = Some(slot.value.unwrap_or(0).saturating_add(number)),
                Meaning::Greatest | Meaning::Moment => slot.value = Some(slot.value.unwrap_or(0).max(number)),
                // Of an earlier second it is past.
                Meaning::Level if document.second < now => {}
                Meaning::Level => {
                    // Those of many jobs that are one series are added up.
                    let before = slot.value.filter(|_| slot.second == now).unwrap_or(0);
                    (slot.value, slot.second) = (Some(before.saturating_add(number)), now);
                }
            }
        }
    }

    /// Greatest values begin anew.
    pub fn reset_greatest(&mut self) {
        for (metric, slot) in self.groups.values_mut().flat_map(Group::slots) {
            if metric.meaning == Meaning::Greatest {
                slot.value = Some(0);
            }
        }
    }

    /// All groups, those of one kind after one another.
    pub fn groups(&mut self) -> impl Iterator<Item = (&Labels, &mut Group)> {
        self.groups.iter_mut().map(|((_, labels), group)| (labels, group))
    }

    /// How many names are in `other`, and how many may have series of their own: gauges, with their values.
    pub fn about_names(&self) -> Vec<(&'static str, &'static str, Labels, u64)> {
        let of = |space: &str| vec![("node", self.node.clone()), ("of", space.to_owned())];
        let about = "Names that are added up as \"other\", since there are more than may have series of their own.";
        let folded = |space: &str| self.names.get(space).map_or(0, |names| names.folded.len()) as u64;
        let spaces = self.names.keys().copied().filter(|space| *space != JOBS && folded(space) > 0);
        let folded =
            std::iter::once(JOBS).chain(spaces).map(|space| ("ioassay_folded_names", about, of(space), folded(space)));
        let about = "Names that may have series of their own: of jobs, and of devices of each kind.";
        let limits = [(JOBS, self.limits.jobs), ("device", self.limits.devices)];
        let limits = limits.map(|(space, most)| ("ioassay_most_names", about, of(space), most.into()));
        folded.chain(limits).collect()
    }

    /// The group of a document; `None`: it has no numbers.
    fn group(&mut self, document: &Document) -> Option<&mut Group> {
        let kind = document.kind;
        let metrics = Arc::clone(self.metrics.entry(kind.name).or_insert_with(|| Arc::new(metrics(kind))));
        if metrics.is_empty() {
            return None;
        }
        let mut labels = labels(document);
        for (space, name) in spaces(kind.name, &labels) {
            let most = if space == JOBS { self.limits.jobs } else { self.limits.devices };
            if !self.names.entry(space).or_default().admit(&name, most as usize, self.second) {
                for (label, value) in &mut labels {
                    if self::space(kind.name, label) == Some(space) {
                        OTHER_NAME.clone_into(value);
                    }
                }
            }
        }
        Some(self.groups.entry((kind.name, labels)).or_insert_with(|| Group::of(metrics)))
    }
}

/// The space of the names that a label of a kind of documents has; `None`: there are few of them.
fn space(kind: &'static str, label: &str) -> Option<&'static str> {
    match label {
        "node" | "class" | "action" => None,
        "job" | "user" => Some(JOBS),
        "label" => Some(RULES),
        _ => Some(kind),
    }
}

/// The spaces that labels are of, and the name in each: that of a job without its user, all others in one text.
fn spaces(kind: &'static str, labels: &Labels) -> Vec<(&'static str, String)> {
    let mut names: Vec<(&'static str, String)> = Vec::new();
    for (label, value) in labels.iter().filter(|(label, _)| *label != "user") {
        let Some(space) = space(kind, label) else { continue };
        match names.iter_mut().find(|(of, _)| *of == space) {
            Some((_, name)) => {
                name.push('\u{1f}');
                name.push_str(value);
            }
            None => names.push((space, value.clone())),
        }
    }
    names
}

impl Group {
    fn of(metrics: Arc<Vec<Metric>>) -> Self {
        let slots = metrics.iter().map(|metric| match metric.meaning {
            Meaning::Counter | Meaning::Greatest => Slot { value: Some(0), ..Slot::default() },
            Meaning::Level | Meaning::Moment => Slot::default(),
        });
        Self { slots: slots.collect(), metrics, updated: 0 }
    }
}

fn metrics(kind: &'static Kind) -> Vec<Metric> {
    if COUNTED.contains(&kind.name) {
        let name = format!("ioassay_{}_total", kind.name);
        return vec![Metric { name, about: kind.about, meaning: Meaning::Counter, field: None }];
    }
    let metric = |(place, field): (usize, &Field)| {
        let (meaning, unit) = match field.kind {
            FieldKind::Amount => (Meaning::Counter, "_total"),
            FieldKind::Greatest => (Meaning::Greatest, "_max"),
            FieldKind::Level => (Meaning::Level, ""),
            FieldKind::Moment => (Meaning::Moment, ""),
            FieldKind::Label | FieldKind::Key | FieldKind::Text => return None,
        };
        let name = format!("ioassay_{}_{}{unit}", kind.name, field.name);
        Some(Metric { name, about: field.about, meaning, field: Some(place) })
    };
    kind.fields.iter().enumerate().filter_map(metric).collect()
}

fn labels(document: &Document) -> Labels {
    let kind = document.kind.name;
    let labels = document.fields().filter(|(field, _)| field.kind == FieldKind::Label);
    let labels = labels.filter(|(field, _)| !LEFT_OUT.contains(&(kind, field.name)));
    let labels = labels.filter_map(|(field, value)| match value {
        Value::Text(text) if field.name == "class" => Some((field.name, class_group(text).to_owned())),
        Value::Text(text) => Some((field.name, text[..text.floor_char_boundary(LABEL_BYTES)].to_owned())),
        Value::Number(_) | Value::Missing => None,
    });
    labels.filter(|(_, value)| !value.is_empty()).collect()
}

/// The group of a class of calls. Calls of MPI-IO stand by themselves, since those that they make are counted, too.
fn class_group(class: &str) -> &'static str {
    use Operation::{
        Accept, Advise, Attribute, Close, Connect, CopyFrom, CopyTo, Create, ElsewhereOther, ElsewhereRead,
        ElsewhereWrite, Glob, List, Lock, Map, MpiFile, MpiRead, MpiReadAll, MpiReadAllNonBlocking, MpiReadNonBlocking,
        MpiReadSplit, MpiWrite, MpiWriteAll, MpiWriteAllNonBlocking, MpiWriteNonBlocking, MpiWriteSplit, Open, Read,
        Remove, Rename, Seek, Stat, StreamFlush, StreamRead, StreamSeek, StreamWrite, SubmitRead, SubmitWrite, Sync,
        Truncate, Write,
    };
    let Some(operation) = Operation::ALL.iter().find(|operation| operation.word() == class) else { return OTHER_NAME };
    match operation {
        Read | StreamRead | CopyFrom | SubmitRead => "read",
        Write | StreamWrite | CopyTo | SubmitWrite => "write",
        Open | Close | Seek | Sync | Stat | List | Create | Remove | Rename | Truncate | Attribute | Lock | Advise
        | StreamSeek | StreamFlush | Glob => "metadata",
        MpiRead | MpiReadAll | MpiReadNonBlocking | MpiReadAllNonBlocking | MpiReadSplit => "MPI read",
        MpiWrite | MpiWriteAll | MpiWriteNonBlocking | MpiWriteAllNonBlocking | MpiWriteSplit => "MPI write",
        Accept | Connect | Map | MpiFile | ElsewhereRead | ElsewhereWrite | ElsewhereOther => OTHER_NAME,
    }
}

#[cfg(test)]
mod tests {
    use ioassay_protocol::watch::kinds::{Alert, InFlight, Io, Job, Phase, RuleState};

    use super::*;

    /// What all series say, as `name{labels}`.
    fn values_of(series: &mut Series) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (labels, group) in series.groups() {
            let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            for (metric, slot) in group.slots() {
                all.extend(slot.value.map(|value| (format!("{}{{{}}}", metric.name, labels.join(",")), value)));
            }
        }
        all
    }

    fn io(job: &str, class: &str, calls: u64, second: u64) -> Document {
        let (node, user) = ("n1".into(), "1000".into());
        Io { node, user, job: job.into(), class: class.into(), calls, slowest_ns: calls, ..Io::default() }.of(second, 0)
    }

    fn job(job: &str, processes: u64, second: u64) -> Document {
        Job { node: "n1".into(), job: job.into(), processes, began: 1, ..Job::default() }.of(second, 0)
    }

    #[test]
    fn amounts_grow_greatest_values_are_reset_and_states_are_as_they_are() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(10);
        for document in [io("7", "read", 3, 10), io("7", "stream read", 5, 10), io("7", "open", 1, 10), job("7", 4, 10)]
        {
            series.add(&document);
        }
        let all = values_of(&mut series);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=7,class=read}"], 8);
        assert_eq!(all["ioassay_io_slowest_ns_max{node=n1,job=7,class=read}"], 5);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=7,class=metadata}"], 1);
        assert_eq!(all["ioassay_job_processes{node=n1,job=7}"], 4);
        series.reset_greatest();
        series.advance(11);
        series.add(&job("7", 2, 11));
        // What is reported of an earlier second adds to amounts, and changes no state.
        series.add(&io("7", "read", 2, 10));
        series.add(&job("7", 9, 10));
        let all = values_of(&mut series);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=7,class=read}"], 10);
        assert_eq!(all["ioassay_io_slowest_ns_max{node=n1,job=7,class=read}"], 2);
        assert_eq!(
            (all["ioassay_job_processes{node=n1,job=7}"], all["ioassay_job_began_total{node=n1,job=7}"]),
            (2, 3)
        );
    }

    #[test]
    fn a_job_is_whole_or_wholly_in_other_and_nothing_is_left_out_of_sums() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(10);
        // Documents of all kinds come alternately, and those of some jobs begin with another kind.
        for number in 0..100 {
            if number % 2 == 0 {
                series.add(&job(&number.to_string(), 1, 10));
            }
            for class in ["read", "write", "open", "map"] {
                series.add(&io(&number.to_string(), class, 1, 10));
            }
            if number % 2 == 1 {
                series.add(&job(&number.to_string(), 1, 10));
            }
        }
        let all = values_of(&mut series);
        let sum =
            |name: &str| all.iter().filter(|(other, _)| other.starts_with(name)).map(|(_, value)| value).sum::<u64>();
        assert_eq!((sum("ioassay_io_calls_total"), sum("ioassay_job_processes{")), (400, 100));
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=other,class=read}"], 97);
        assert_eq!(all["ioassay_job_processes{node=n1,job=other}"], 97);
        for number in 0..100 {
            let calls = all.contains_key(&format!("ioassay_io_calls_total{{node=n1,job={number},class=read}}"));
            let processes = all.contains_key(&format!("ioassay_job_processes{{node=n1,job={number}}}"));
            assert_eq!((calls, processes), (number < 3, number < 3), "{number}");
        }
        let names: Vec<_> = series
            .about_names()
            .into_iter()
            .map(|(name, _, labels, value)| (name, labels[1].1.clone(), value))
            .collect();
        let expected = [("ioassay_folded_names", "job", 97), ("ioassay_most_names", "job", 3)];
        let expected: Vec<_> = expected.into_iter().map(|(name, of, value)| (name, of.to_owned(), value)).collect();
        assert_eq!(names[..2], expected);
    }

    #[test]
    fn devices_take_no_room_from_jobs_and_those_beyond_the_limit_are_one() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(10);
        let rule = |job: &str, label: &str| {
            RuleState { node: "n1".into(), job: job.into(), label: label.into(), waits: 1, ..RuleState::default() }
                .of(10, 0)
        };
        let phase =
            |phase: &str| Phase { node: "n1".into(), phase: phase.into(), bytes: 5, ..Phase::default() }.of(10, 0);
        for name in ["a", "b", "c", "d"] {
            series.add(&phase(name));
            series.add(&rule("7", name));
        }
        for number in ["7", "8", "9"] {
            series.add(&io(number, "read", 1, 10));
        }
        let all = values_of(&mut series);
        assert_eq!(all["ioassay_phase_bytes_total{node=n1,phase=b}"], 5);
        assert_eq!(all["ioassay_phase_bytes_total{node=n1,phase=other}"], 10);
        // A job that one rule of many names has its own name all the same.
        assert_eq!(all["ioassay_rule_waits_total{node=n1,job=7,label=other}"], 2);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=9,class=read}"], 1);
        let folded: Vec<_> =
            series.about_names().into_iter().map(|(.., labels, value)| (labels[1].1.clone(), value)).collect();
        assert!(folded.contains(&("phase".to_owned(), 2)) && folded.contains(&("rule".to_owned(), 2)), "{folded:?}");
    }

    #[test]
    fn a_job_that_is_in_other_stays_there_and_an_idle_one_makes_room_for_a_new_one() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 1, devices: 2 });
        series.advance(10);
        series.add(&io("a", "read", 1, 10));
        series.add(&job("a", 1, 10));
        series.add(&io("b", "read", 1, 10));
        series.advance(10 + IDLE_S);
        series.add(&io("b", "read", 1, 10 + IDLE_S));
        series.add(&io("c", "read", 1, 10 + IDLE_S));
        series.add(&job("c", 1, 10 + IDLE_S));
        let gone = series.advance(11 + IDLE_S);
        let gone: Vec<_> = gone.iter().map(|(labels, _)| labels[1].clone()).collect();
        assert_eq!(gone, [("job", "a".to_owned()), ("job", "a".to_owned())]);
        series.add(&job("c", 1, 11 + IDLE_S));
        let all = values_of(&mut series);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=other,class=read}"], 2);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=c,class=read}"], 1);
        assert_eq!(all["ioassay_job_processes{node=n1,job=c}"], 1);
        assert!(all.keys().all(|name| !name.contains("job=a")), "{all:?}");
    }

    #[test]
    fn ten_thousand_jobs_have_series_of_their_own_where_the_setup_allows_it() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 10_000, devices: 2 });
        for second in 10..13 {
            series.advance(second);
            for number in 0..10_000 {
                series.add(&io(&format!("kworker/{number}:1.0"), "write", 1, second));
            }
        }
        let all = values_of(&mut series);
        assert_eq!(all["ioassay_io_calls_total{node=n1,job=kworker/9999:1.0,class=write}"], 3);
        assert_eq!(series.about_names()[0].3, 0);
    }

    #[test]
    fn series_of_a_job_that_ended_go_and_make_room() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 8, devices: 2 });
        series.advance(10);
        (0..7).for_each(|number| series.add(&io(&format!("{number}"), "read", 1, 10)));
        series.add(&job("7", 4, 10));
        assert!(series.advance(10 + KNOWN_S).is_empty());
        assert!(values_of(&mut series).contains_key("ioassay_job_processes{node=n1,job=7}"));
        series.advance(11 + KNOWN_S);
        assert!(!values_of(&mut series).contains_key("ioassay_job_processes{node=n1,job=7}"));
        assert_eq!(series.advance(10 + STALE_S).len(), 0);
        assert_eq!(series.advance(11 + STALE_S).len(), 8);
        assert!(values_of(&mut series).is_empty());
    }

    #[test]
    fn timestamps_are_never_added_up_and_stay_until_their_series_ends() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(10);
        let phase = |end_ns| Phase { run: "r".into(), begin_ns: end_ns - 1, end_ns, ..Phase::default() }.of(10, 0);
        for end_ns in [7, 9] {
            series.add(&phase(end_ns));
        }
        series.reset_greatest();
        series.advance(10 + STALE_S);
        let all = values_of(&mut series);
        assert_eq!((all["ioassay_phase_begin_ns{run=r}"], all["ioassay_phase_end_ns{run=r}"]), (8, 9));
        series.advance(11 + STALE_S);
        assert!(values_of(&mut series).is_empty());
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_stop_the_series() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(1_000_000);
        let is_beyond = |second, part| series.is_beyond(&Io::default().of(second, part));
        assert!(is_beyond(1_000_001, 0) && !is_beyond(999_999, 0) && is_beyond(5, 0) && !is_beyond(5, 999_995));
    }

    #[test]
    fn a_phase_that_ended_long_ago_or_by_a_clock_ahead_moves_no_series() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(1_000_000);
        for end_s in [5, 1_000_100] {
            let phase = Phase { run: "r".into(), end_ns: end_s * 1_000_000_000, ..Phase::default() };
            assert!(!series.is_beyond(&phase.of(end_s, 0)));
        }
    }

    #[test]
    fn paths_processes_commands_and_ranks_are_no_labels() {
        let mut series = Series::of("n1", SeriesLimits { jobs: 3, devices: 2 });
        series.advance(10);
        let secret = || String::from("secret");
        let alert = Alert {
            label: "slow".into(),
            path: secret(),
            command: secret(),
            file: secret(),
            rank: secret(),
            user: "7".into(),
            ..Alert::default()
        };
        let call = InFlight { pid: secret(), thread: secret(), file: secret(), ..InFlight::default() };
        let job = Job { command: secret(), name: Some(secret()), ..Job::default() };
        for document in [alert.of(10, 0), call.of(10, 0), job.of(10, 0)] {
            series.add(&document);
        }
        let all = values_of(&mut series);
        assert!(all.keys().all(|name| !name.contains("secret")), "{all:?}");
        assert_eq!(
            (all["ioassay_alert_total{label=slow,user=7}"], all["ioassay_in_flight_total{class=other}"]),
            (1, 1)
        );
    }

    #[test]
    fn reads_and_writes_of_every_kind_are_in_their_groups() {
        for (group, expected) in [("read", 4), ("write", 4), ("MPI read", 5), ("MPI write", 5), ("metadata", 16)] {
            let count = Operation::ALL.iter().filter(|operation| class_group(operation.word()) == group).count();
            assert_eq!(count, expected, "{group}");
        }
        assert_eq!(
            (class_group("copy from"), class_group("elsewhere read"), class_group("new")),
            ("read", "other", "other")
        );
    }
}
