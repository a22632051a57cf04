//! What all front ends have in common on the command line: options of ioassay's own, beside those of the original.

use std::path::PathBuf;

use ioassay_protocol::events::Failure;

use ioassay_engine::failure;
use ioassay_engine::plan::MOST_RANKS;

/// The environment variable that says how many local ranks there are.
const RANKS: &str = "IOASSAY_RANKS";

/// The environment variable that divides amounts and pauses, to try a command line out. What it runs is not the benchmark any more.
const SCALE_DOWN: &str = "IOASSAY_SCALE_DOWN";

/// The options that are ioassay's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    /// `--ranks N`, or `IOASSAY_RANKS=N`: local ranks, 1 without; those that a launcher has started, where one has.
    pub ranks: u32,
    /// Nodes that they are on.
    pub nodes: u32,
    /// `--run DIR`: leave a run directory there.
    pub run: Option<PathBuf>,
    /// `--overwrite`: replace files of any origin.
    pub overwrite: bool,
    /// Amounts are divided by this. 1 without.
    pub scale_down: u64,
}

impl Common {
    /// Takes the own options out of `arguments`, wherever they stand, and leaves those of the original.
    ///
    /// # Errors
    /// If one has no usable value, or contradicts the nodes and ranks that are `given`.
    pub fn take(
        arguments: Vec<String>,
        given: Option<(u32, u32)>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<String>), Failure> {
        // A launcher that starts several ranks has set how many.
        let mut ranks = environment(RANKS).filter(|_| given.is_none()).map(|value| (RANKS.to_owned(), value));
        let (mut run, mut overwrite, mut rest) = (None, false, Vec::new());
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument.clone(), None),
            };
            match name.as_str() {
                "--ranks" => ranks = Some((name.clone(), value_of(&name, value, &mut arguments)?)),
                "--run" => run = Some(PathBuf::from(value_of(&name, value, &mut arguments)?)),
                "--overwrite" => overwrite = true,
                _ => rest.push(argument),
            }
        }
        let ranks = ranks.map(|(name, value)| count(&name, &value)).transpose()?;
        if let Some(ranks) = ranks.filter(|&ranks| ranks > MOST_RANKS) {
            return Err(usage(format!("{ranks} ranks are too many"), format!("use at most {MOST_RANKS}")));
        }
        if let (Some(ranks), Some((_, started))) = (ranks, given)
            && ranks != started
        {
            let problem = format!("--ranks {ranks}, but the launcher started {started}");
            return Err(usage(problem, "leave --ranks out"));
        }
        let (nodes, started) = given.unwrap_or((1, 1));
        let scale_down = environment(SCALE_DOWN).map(|value| count(SCALE_DOWN, &value)).transpose()?.unwrap_or(1);
        let ranks = ranks.unwrap_or(started);
        Ok((Self { ranks, nodes, run, overwrite, scale_down: scale_down.into() }, rest))
    }

    /// `amount` of something that comes in multiples of `unit`, scaled down, at least one unit.
    pub fn scaled(&self, amount: u64, unit: u64) -> u64 {
        if self.scale_down == 1 || unit == 0 || amount <= unit {
            return amount;
        }
        (amount / self.scale_down / unit).max(1) * unit
    }
}

fn value_of(name: &str, inline: Option<String>, rest: &mut impl Iterator<Item = String>) -> Result<String, Failure> {
    inline.or_else(|| rest.next()).ok_or_else(|| usage(format!("{name} needs a value"), format!("write {name} VALUE")))
}

fn count(name: &str, value: &str) -> Result<u32, Failure> {
    let counted = value.parse().ok().filter(|&count: &u32| count > 0);
    counted.ok_or_else(|| usage(format!("{name} {value:?} is not a valid count"), "write a whole number, 1 or more"))
}

/// A command line that cannot be meant.
pub fn usage(problem: impl Into<String>, remedy: impl AsRef<str>) -> Failure {
    failure::plain("read the command line", problem.into(), remedy.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str, environment: &[(&str, &str)]) -> Result<(Common, Vec<String>), Failure> {
        let environment =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Common::take(line.split_whitespace().map(str::to_owned).collect(), None, environment)
    }

    #[test]
    fn own_options_are_found_anywhere_and_the_others_stay_in_order() {
        let (common, rest) = take("-w --ranks 4 -o f --run=/r -k --overwrite", &[]).unwrap();
        assert_eq!((common.ranks, common.run, common.overwrite), (4, Some("/r".into()), true));
        assert_eq!(rest, ["-w", "-o", "f", "-k"]);
    }

    #[test]
    fn the_environment_gives_ranks_and_the_command_line_overrides_it() {
        assert_eq!(take("", &[("IOASSAY_RANKS", "3")]).unwrap().0.ranks, 3);
        assert_eq!(take("--ranks 2", &[("IOASSAY_RANKS", "3")]).unwrap().0.ranks, 2);
        assert_eq!(take("", &[]).unwrap().0.ranks, 1);
        for (line, environment) in [("--ranks 0", None), ("--ranks", None), ("", Some(("IOASSAY_RANKS", "two")))] {
            assert!(take(line, environment.as_slice()).is_err(), "{line}");
        }
    }

    #[test]
    fn a_launcher_says_how_many_ranks_there_are_and_nobody_else_does() {
        let take = |line: &str| {
            let words = line.split_whitespace().map(str::to_owned).collect();
            Common::take(words, Some((2, 8)), |name| (name == RANKS).then(|| "3".to_owned()))
        };
        let (common, _) = take("-w").unwrap();
        assert_eq!((common.nodes, common.ranks), (2, 8));
        assert!(take("--ranks 8").is_ok());
        assert!(take("--ranks 4").unwrap_err().message.contains("started 8"));
    }

    #[test]
    fn amounts_are_scaled_down_to_whole_units_and_never_to_nothing() {
        let (common, _) = take("", &[("IOASSAY_SCALE_DOWN", "1024")]).unwrap();
        assert_eq!(common.scaled(2 << 40, 1 << 20), 2 << 30);
        assert_eq!(common.scaled(5 << 20, 1 << 20), 1 << 20);
        assert_eq!(common.scaled(1 << 10, 1 << 20), 1 << 10);
    }
}
