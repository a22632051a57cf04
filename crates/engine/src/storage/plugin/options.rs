//! The options of a plug-in: what it describes, and what a plan says against that.
//!
//! Not here: what they do.

use std::collections::BTreeMap;

use ioassay_units::Bytes;
use serde::Serialize;

use super::abi;
use crate::storage::WrongOption;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Any text.
    Text,
    /// `yes` or `no`.
    Flag,
    /// A whole number.
    Count,
    /// A size such as `4k`.
    Bytes,
    /// Any keys of the user's, each with a text.
    Map,
}

impl Kind {
    pub(super) fn of(number: u32) -> Option<Self> {
        Some(match number {
            abi::TEXT => Self::Text,
            abi::FLAG => Self::Flag,
            abi::COUNT => Self::Count,
            abi::BYTES => Self::Bytes,
            abi::MAP => Self::Map,
            _ => return None,
        })
    }

    /// `text` as the plug-in gets it, or what would be right.
    fn value(self, text: &str) -> Result<String, String> {
        match self {
            Self::Text | Self::Map if text.contains('\0') => Err("use a text without NUL bytes".to_owned()),
            Self::Text | Self::Map => Ok(text.to_owned()),
            Self::Flag => match text {
                "yes" => Ok("1".to_owned()),
                "no" => Ok("0".to_owned()),
                _ => Err("use yes or no".to_owned()),
            },
            Self::Count => text
                .parse::<u64>()
                .map(|number| number.to_string())
                .map_err(|_| format!("use a whole number from 0 to {}", u64::MAX)),
            Self::Bytes => text
                .parse::<Bytes>()
                .map(|bytes| bytes.0.to_string())
                .map_err(|_| "use a size such as 4k, 64KiB or 1m".to_owned()),
        }
    }

    fn nothing(self) -> &'static str {
        match self {
            Self::Text | Self::Map => "",
            Self::Flag => "no",
            Self::Count | Self::Bytes => "0",
        }
    }
}

/// An option that a plug-in describes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Its key.
    pub name: String,
    /// What it takes.
    pub kind: Kind,
    /// The value where none is given, as a user would spell it.
    pub default: String,
    /// What it does.
    pub meaning: String,
}

impl Described {
    /// An option; a default that does not fit its kind is an error.
    pub(super) fn new(name: String, kind: Kind, default: Option<String>, meaning: String) -> Result<Self, String> {
        let default = default.unwrap_or_else(|| kind.nothing().to_owned());
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(letters) {
            return Err(format!("{name:?} is not a valid name for an option"));
        }
        match kind.value(&default) {
            Ok(_) if kind != Kind::Map || default.is_empty() => Ok(Self { name, kind, default, meaning }),
            _ => Err(format!("the default of {name}, {default:?}, does not fit its kind")),
        }
    }

    /// True if it is what sets `key`.
    fn sets(&self, key: &str) -> bool {
        match self.kind {
            Kind::Map => key
                .strip_prefix(self.name.as_str())
                .and_then(|rest| rest.strip_prefix('.'))
                .is_some_and(|key| !key.is_empty()),
            _ => key == self.name,
        }
    }
}

/// The values that a plug-in gets: every option that it describes, with what `given` says or else its default.
pub(super) fn values(
    api: &str,
    described: &[Described],
    given: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, WrongOption> {
    let single = described.iter().filter(|option| option.kind != Kind::Map);
    let defaults = single.map(|option| (option.name.clone(), option.default.clone()));
    let mut texts: BTreeMap<String, String> = defaults.collect();
    texts.extend(given.clone());
    let value = |(key, text): (String, String)| {
        let Some(option) = described.iter().find(|option| option.sets(&key)) else {
            let names: Vec<String> = described.iter().map(spelled).collect();
            let valid = if names.is_empty() { "leave it out".to_owned() } else { format!("use {}", names.join(", ")) };
            return Err(WrongOption { problem: format!("{api} has no option of this name"), valid, key });
        };
        match option.kind.value(&text) {
            Ok(_) if key.contains('\0') => {
                Err(WrongOption { key, problem: "contains a NUL byte".to_owned(), valid: "leave it out".to_owned() })
            }
            Ok(value) => Ok((key, value)),
            Err(valid) => Err(WrongOption { key, problem: format!("{text:?} is not a valid value"), valid }),
        }
    };
    texts.into_iter().map(value).collect()
}

fn spelled(option: &Described) -> String {
    if option.kind == Kind::Map { format!("{}.KEY", option.name) } else { option.name.clone() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn described() -> Vec<Described> {
        let option = |name: &str, kind, default: Option<&str>| {
            Described::new(name.to_owned(), kind, default.map(str::to_owned), "what it does".to_owned()).unwrap()
        };
        vec![
            option("fast", Kind::Flag, Some("yes")),
            option("chunk", Kind::Bytes, None),
            option("count", Kind::Count, Some("3")),
            option("name", Kind::Text, None),
            option("hints", Kind::Map, None),
        ]
    }

    fn given(pairs: &[(&str, &str)]) -> Result<Vec<(String, String)>, WrongOption> {
        let given = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        values("api", &described(), &given)
    }

    #[test]
    fn what_is_given_comes_before_defaults_and_in_base_units() {
        let values = given(&[("chunk", "4k"), ("fast", "no"), ("hints.a", "b"), ("hints.c.d", "")]).unwrap();
        let expected =
            [("chunk", "4096"), ("count", "3"), ("fast", "0"), ("hints.a", "b"), ("hints.c.d", ""), ("name", "")];
        assert_eq!(values, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_is_not_described_or_has_another_form_is_refused_by_its_key() {
        for (key, value, valid) in [
            ("speed", "1", "use fast, chunk, count, name, hints.KEY"),
            ("hints", "a=b", "hints.KEY"),
            ("hints.", "a", "hints.KEY"),
            ("fast", "maybe", "yes or no"),
            ("chunk", "1.5x", "4k"),
            ("count", "-1", "whole number"),
            ("count", "99999999999999999999", "whole number"),
            ("name", "a\0b", "NUL bytes"),
            ("hints.a\0b", "c", "leave it out"),
        ] {
            let wrong = given(&[(key, value)]).unwrap_err();
            assert_eq!(wrong.key, key);
            assert!(wrong.valid.contains(valid), "{key}: {}", wrong.valid);
        }
    }

    #[test]
    fn a_description_that_contradicts_itself_is_refused() {
        for (name, kind, default) in [
            ("", Kind::Text, None),
            ("Upper", Kind::Text, None),
            ("a.b", Kind::Text, None),
            ("flag", Kind::Flag, Some("1")),
            ("size", Kind::Bytes, Some("big")),
            ("map", Kind::Map, Some("a")),
        ] {
            let described = Described::new(name.to_owned(), kind, default.map(str::to_owned), String::new());
            assert!(described.is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_options_are_taken_or_refused_and_what_is_taken_holds_no_zero_byte(
            key in "(fast|chunk|count|name|hints|hints\\.)?[a-z.\0]{0,3}", value in "\\PC{0,6}|[0-9]{1,22}[kmg]?|a\0b",
        ) {
            match given(&[(&key, &value)]) {
                Ok(values) => {
                    prop_assert!(values.iter().all(|(key, value)| !key.contains('\0') && !value.contains('\0')));
                    prop_assert!(values.iter().any(|(taken, _)| *taken == key));
                    let number = |name: &str| values.iter().find(|(key, _)| key == name).unwrap().1.parse::<u64>();
                    prop_assert!(number("chunk").is_ok() && number("count").is_ok() && number("fast").unwrap() < 2);
                }
                Err(wrong) => prop_assert_eq!(wrong.key, key),
            }
        }
    }
}
