//! What sizes and durations have in common: a whole number, at most one space, a suffix from a table.

use std::fmt::Write;

/// The most characters of a refused text that an error repeats.
const SHOWN: usize = 40;

/// A suffix and how many base units it stands for.
pub(crate) struct Unit {
    pub suffix: &'static str,
    pub factor: u64,
}

/// A kind of quantity and how it is typed.
pub(crate) struct Quantity {
    /// What it is called in errors, with its article.
    pub noun: &'static str,
    /// Texts to imitate.
    pub examples: &'static str,
    /// Its suffixes. Those of one family convert into one another, smallest first, base unit included.
    pub families: &'static [&'static [Unit]],
    /// All suffixes, as an error lists them.
    pub suffixes: &'static str,
    /// The largest value in a form that can be typed.
    pub largest: &'static str,
}

/// Why a text is no quantity, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is no number at its beginning.
    #[error("\"{text}\" is not {noun}; write {examples}")]
    NoNumber {
        /// What was typed.
        text: String,
        /// What was wanted.
        noun: &'static str,
        /// Texts to imitate.
        examples: &'static str,
    },
    /// A number without a unit where one is needed.
    #[error("\"{text}\" has no unit; write {examples}")]
    NoUnit {
        /// What was typed.
        text: String,
        /// Texts to imitate.
        examples: &'static str,
    },
    /// A suffix that is in no table.
    #[error("\"{text}\" has the unknown suffix \"{suffix}\"; use {suffixes}")]
    UnknownSuffix {
        /// What was typed.
        text: String,
        /// What follows the number.
        suffix: String,
        /// The suffixes there are.
        suffixes: &'static str,
    },
    /// A decimal fraction.
    #[error("\"{text}\" is a fraction; write {instead}")]
    Fraction {
        /// What was typed.
        text: String,
        /// The same quantity as a whole number, where there is one.
        instead: String,
    },
    /// An exponent.
    #[error("\"{text}\" has an exponent; write the number out, for example {examples}")]
    Exponent {
        /// What was typed.
        text: String,
        /// Texts to imitate.
        examples: &'static str,
    },
    /// More than 64 bits hold.
    #[error("\"{text}\" does not fit 64 bits; write at most {largest}")]
    TooLarge {
        /// What was typed.
        text: String,
        /// The largest value in a form that can be typed.
        largest: &'static str,
    },
}

impl Quantity {
    /// Parses `text` into base units.
    pub fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let shown = || text.chars().take(SHOWN).collect::<String>();
        let (number, rest) = digits(text);
        if number.is_empty() {
            return Err(ParseError::NoNumber { text: shown(), noun: self.noun, examples: self.examples });
        }
        if let Some(rest) = rest.strip_prefix('.') {
            let (decimals, suffix) = digits(rest);
            if !decimals.is_empty() {
                let instead = self.without_fraction(number, decimals, suffix);
                return Err(ParseError::Fraction { text: shown(), instead });
            }
        }
        if is_exponent(rest) {
            return Err(ParseError::Exponent { text: shown(), examples: self.examples });
        }
        let suffix = rest.strip_prefix(' ').filter(|suffix| !suffix.is_empty()).unwrap_or(rest);
        let Some((family, index)) = self.find(suffix) else {
            if suffix.is_empty() {
                return Err(ParseError::NoUnit { text: shown(), examples: self.examples });
            }
            let suffix = suffix.chars().take(SHOWN).collect();
            return Err(ParseError::UnknownSuffix { text: shown(), suffix, suffixes: self.suffixes });
        };
        let value = number.parse::<u64>().ok().and_then(|number| number.checked_mul(family[index].factor));
        value.ok_or_else(|| ParseError::TooLarge { text: shown(), largest: self.largest })
    }

    /// Prints `value` with the largest unit of the family that divides it.
    pub fn print(family: &[Unit], value: u64, out: &mut impl Write) -> std::fmt::Result {
        let divides = |unit: &&Unit| value != 0 && value.is_multiple_of(unit.factor);
        let unit = family.iter().rev().find(divides).unwrap_or(&family[0]);
        write!(out, "{} {}", value / unit.factor, unit.suffix)
    }

    fn find(&self, suffix: &str) -> Option<(&'static [Unit], usize)> {
        let find = |family: &&'static [Unit]| {
            let index = family.iter().position(|unit| unit.suffix == suffix)?;
            Some((*family, index))
        };
        self.families.iter().find_map(find)
    }

    /// `1.5g` is `1536m`: the same in the next smaller unit that makes it whole.
    fn without_fraction(&self, number: &str, decimals: &str, suffix: &str) -> String {
        let generic = || "a whole number of a smaller unit".to_owned();
        let suffix = suffix.strip_prefix(' ').unwrap_or(suffix);
        let Some((family, index)) = self.find(suffix) else {
            return generic();
        };
        let Ok(scaled) = format!("{number}{decimals}").parse::<u64>() else {
            return generic();
        };
        let Some(divisor) = 10u128.checked_pow(decimals.len() as u32) else {
            return generic();
        };
        let amount = u128::from(scaled) * u128::from(family[index].factor);
        for unit in family[..=index].iter().rev() {
            let unit_amount = divisor.saturating_mul(u128::from(unit.factor));
            if amount.is_multiple_of(unit_amount) {
                return format!("{}{}", amount / unit_amount, unit.suffix);
            }
        }
        generic()
    }
}

/// The decimal digits at the beginning of `text`, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `e6`, `E+6`, `e-3`, whatever follows.
fn is_exponent(rest: &str) -> bool {
    let Some(exponent) = rest.strip_prefix(['e', 'E']) else {
        return false;
    };
    exponent.strip_prefix(['+', '-']).unwrap_or(exponent).starts_with(|c: char| c.is_ascii_digit())
}
