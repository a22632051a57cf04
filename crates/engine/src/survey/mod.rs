//! A look at all nodes before anything is measured on them: the first rank of each looks at its node ([`node`]) and at the
//! target ([`target`]), and rank 0 reports what all of them found.
//!
//! A target that does not answer keeps nobody from reporting: each node says so itself.
//! Not here: what of it is right or wrong, which the control plane judges.

mod node;
pub(crate) mod path_timeout;
mod target;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ioassay_host::clock::{self, Clock};
use ioassay_protocol::VERSION;
use ioassay_protocol::events::{Event, Failure};
use ioassay_protocol::survey::{Survey, SurveyedNode};
use serde::{Deserialize, Serialize};

use crate::output::{self, EventLog};
use crate::ranks::clocks::Reading;
use crate::ranks::messages::{all_of, to_rank};
use crate::ranks::seating::Seating;
use crate::ranks::{Ranks, Stopped};

/// What is to be inspected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SurveyRequest {
    /// A directory that all nodes should see, if there is one.
    pub target: Option<PathBuf>,
    /// The name of the workspace that the first node creates there, which no run has had before: seeing it proves that it is
    /// the same file system.
    pub run: String,
    /// How long the target may take to answer a node.
    pub limit_ns: u64,
}

impl SurveyRequest {
    fn limit(&self) -> Duration {
        Duration::from_nanos(self.limit_ns)
    }
}

/// What the first rank of a node has found out.
#[derive(Debug, Serialize, Deserialize)]
struct NodeSurvey {
    node: SurveyedNode,
    /// The node's wall clock less its time line.
    wall_ns: i64,
    /// The target has not answered, and a thread still waits for it.
    silent: Option<Failure>,
}

/// What a rank has to say, or all of a node.
#[derive(Debug, Serialize, Deserialize)]
struct NodeAnswer {
    node: u32,
    /// Numbers of the processors that may be used.
    processors: BTreeSet<u32>,
    /// From the first rank of the node.
    survey: Option<NodeSurvey>,
}

/// Looks around as one of `ranks`; rank 0 writes what all found to `events`.
pub fn run<R: Ranks>(
    request: &SurveyRequest,
    ranks: &R,
    seating: &Seating,
    clock: &Clock,
    events: &mut EventLog,
) -> Result<(), Stopped> {
    let rank = ranks.rank();
    let readings = ranks.compare_clocks()?;
    let mut node_survey = seating.is_first_on_node(rank).then(|| look(request, ranks, seating, clock));
    let shared = node_survey.as_ref().and_then(|node_survey| node_survey.node.target.as_ref()?.shared);
    let created = ranks.broadcast(&[u8::from(rank == 0 && shared == Some(true))])? == [1];
    if let (Some(node_survey), Some(path), true) = (&mut node_survey, &request.target, created && rank > 0) {
        see(request, path, ranks, node_survey);
    }
    let silent = node_survey.as_ref().and_then(|node_survey| node_survey.silent.clone());
    let answer = NodeAnswer { node: seating.node_of(rank), processors: node::processors(), survey: node_survey };
    let answers = ranks.gather(&to_rank(&[answer]), &mut |answers| to_rank(&by_node(all_of(&answers))))?;
    if let Some(answers) = answers {
        let node_survey = Survey {
            version: VERSION,
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            unix_ns: clock::unix_ns(),
            nodes: compared(by_node(all_of(&answers)), &readings),
        };
        if let Err(error) = events.write(&Event::Survey(node_survey)) {
            ranks.fail(&output::cannot_write(&error));
        }
    }
    // Not before all is written: a failure ends the others within seconds.
    ranks.gather(&[], &mut |_| Vec::new())?;
    if let Some(silent) = silent {
        ranks.fail(&silent);
    }
    Ok(())
}

/// As the first rank of a node: what it sees at once.
fn look<R: Ranks>(request: &SurveyRequest, ranks: &R, seating: &Seating, clock: &Clock) -> NodeSurvey {
    let (limit, is_first) = (request.limit(), ranks.rank() == 0);
    let on_node = seating.ranks_on(seating.node_of(ranks.rank()));
    let mut node = node::look(on_node, clock);
    let wall_ns = clock::unix_ns().wrapping_sub(clock.now_ns()).cast_signed();
    let mut silent = None;
    if let Some(path) = request.target.clone() {
        let (run, clock) = (is_first.then(|| request.run.clone()), *clock);
        let looked = path_timeout::with_timeout(
            limit,
            &path.clone(),
            || ranks.must_stop(),
            move || target::look(&path, run.as_deref(), &clock),
        );
        match looked {
            Ok((environment, look)) => {
                node.environment = environment;
                node.target = Some(look);
            }
            Err(failure) => silent = Some(failure),
        }
    }
    let mut survey = NodeSurvey { node, wall_ns, silent };
    survey.say_silent();
    survey
}

/// As the first rank of another node than the first: whether it sees there what the first one has created.
fn see<R: Ranks>(request: &SurveyRequest, path: &Path, ranks: &R, survey: &mut NodeSurvey) {
    let Some(look) = survey.node.target.as_mut().filter(|_| survey.silent.is_none()) else { return };
    let (target, run, limit) = (path.to_owned(), request.run.clone(), request.limit());
    // It looks again for as long, and may then still hang.
    match path_timeout::with_timeout(2 * limit, path, || ranks.must_stop(), move || target::see(&target, &run, limit)) {
        Ok(Ok(())) => look.shared = Some(true),
        Ok(Err(failure)) => {
            look.shared = Some(false);
            look.problem.get_or_insert(failure);
        }
        Err(failure) => {
            survey.silent = Some(failure);
            survey.say_silent();
        }
    }
}

impl NodeSurvey {
    fn say_silent(&mut self) {
        if let Some(failure) = &self.silent {
            let look = self.node.target.get_or_insert_default();
            look.answered = false;
            look.problem = Some(failure.clone());
        }
    }
}

/// Makes one answer of those of each node.
fn by_node(answers: Vec<NodeAnswer>) -> Vec<NodeAnswer> {
    let mut nodes: BTreeMap<u32, NodeAnswer> = BTreeMap::new();
    for mut answer in answers {
        match nodes.entry(answer.node) {
            Entry::Vacant(free) => drop(free.insert(answer)),
            Entry::Occupied(mut node) => {
                node.get_mut().processors.append(&mut answer.processors);
                node.get_mut().survey = node.get_mut().survey.take().or(answer.survey);
            }
        }
    }
    nodes.into_values().collect()
}

/// The nodes, with their clocks against the first one's.
fn compared(answers: Vec<NodeAnswer>, readings: &[Reading]) -> Vec<SurveyedNode> {
    let whole = |answer: NodeAnswer| {
        let mut survey = answer.survey?;
        survey.node.processors = answer.processors.len() as u32;
        Some(survey)
    };
    let all: Vec<NodeSurvey> = answers.into_iter().filter_map(whole).collect();
    let first_wall_ns = all.first().map_or(0, |first| first.wall_ns);
    let compare = |(index, mut survey): (usize, NodeSurvey)| {
        if let Some(reading) = readings.get(index) {
            survey.node.clock_uncertainty_ns = Some(reading.uncertainty_ns);
            let apart_ns = reading.offset_ns.wrapping_add(first_wall_ns).wrapping_sub(survey.wall_ns);
            survey.node.wall_clock.offset_ns = Some(apart_ns);
        }
        survey.node
    };
    all.into_iter().enumerate().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::local::MeetingPlace;

    /// What the ranks of two nodes that share this machine find out.
    fn survey(target: &Path, limit_ns: u64) -> Survey {
        let clock = Clock::calibrated();
        let place = MeetingPlace::new(3, clock).unwrap();
        let seating = Seating::blocks([1, 2]);
        let request = SurveyRequest { target: Some(target.to_owned()), run: "doctor-1".into(), limit_ns };
        let events = tempfile::NamedTempFile::new().unwrap();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (place, seating, request, path) = (&place, &seating, &request, events.path());
                scope.spawn(move || {
                    let mut log = EventLog::open(path).unwrap();
                    run(request, &place.rank(number), seating, &clock, &mut log).unwrap();
                });
            }
        });
        let text = std::fs::read_to_string(events.path()).unwrap();
        match serde_json::from_str(text.trim()).unwrap() {
            Event::Survey(survey) => survey,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_rank_of_each_node_tells_what_it_sees_and_the_others_see_what_the_first_has_created() {
        let target = tempfile::tempdir().unwrap();
        let survey = survey(target.path(), 5_000_000_000);
        assert_eq!(survey.nodes.iter().map(|node| node.ranks).collect::<Vec<_>>(), [1, 2]);
        for node in &survey.nodes {
            let look = node.target.as_ref().unwrap();
            assert_eq!((look.answered, look.shared, look.problem.as_ref()), (true, Some(true), None));
            assert!(look.free_bytes.unwrap() > 0 && node.environment.mount.is_some());
        }
        assert!(target.path().join("ioassay-doctor-1").is_dir());
    }

    #[test]
    fn a_target_that_cannot_be_used_is_every_nodes_problem_and_nobody_waits_for_it() {
        let survey = survey(Path::new("/nowhere"), u64::MAX / 4);
        for node in &survey.nodes {
            let look = node.target.as_ref().unwrap();
            let problem = look.problem.as_ref().unwrap();
            assert!(problem.message.contains("/nowhere"), "{}", problem.message);
            assert_eq!((look.shared, node.environment.mount.as_ref()), (None, None));
        }
    }

    #[test]
    fn ranks_that_are_bound_to_one_processor_each_have_as_many_together() {
        let answer = |node, processor| NodeAnswer { node, processors: [processor].into(), survey: None };
        let nodes = by_node(vec![answer(1, 7), answer(0, 0), answer(0, 1), answer(1, 7)]);
        assert_eq!(nodes.iter().map(|node| (node.node, node.processors.len())).collect::<Vec<_>>(), [(0, 2), (1, 1)]);
    }

    #[test]
    fn wall_clocks_are_compared_at_one_instant_of_the_first_nodes_time_line() {
        let survey = |node, wall_ns| {
            let survey = NodeSurvey { node: node::look(1, &Clock::calibrated()), wall_ns, silent: None };
            NodeAnswer { node, processors: BTreeSet::new(), survey: Some(survey) }
        };
        // Where the first node's time line shows t, the second's shows t - 7: wall clocks are 100 + t and 104 + t - 7.
        let readings = [Reading::default(), Reading { offset_ns: 7, uncertainty_ns: 2 }];
        let nodes = compared(vec![survey(0, 100), survey(1, 104)], &readings);
        assert_eq!(nodes[0].wall_clock.offset_ns, Some(0));
        assert_eq!((nodes[1].wall_clock.offset_ns, nodes[1].clock_uncertainty_ns), (Some(3), Some(2)));
        assert_eq!(compared(vec![survey(0, 1)], &[])[0].wall_clock.offset_ns, None);
    }
}
