//! The answers that this crate and `python/ioassay/text/units.py` must share, and what holds for every number.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use ioassay_units::{Bytes, Nanoseconds, ParseError, RateUnit};
use proptest::prelude::*;
use serde_json::Value;

fn vectors(kind: &str, list: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../vectors.json")).expect("vectors.json is JSON");
    all[kind][list].as_array().expect("a list of vectors").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("an unsigned number")
}

fn holds<T>(kind: &str, new: fn(u64) -> T)
where
    T: FromStr<Err = ParseError> + Display + Debug + PartialEq,
{
    for vector in vectors(kind, "parse") {
        assert_eq!(text(&vector[0]).parse::<T>(), Ok(new(number(&vector[1]))), "{vector}");
    }
    for vector in vectors(kind, "refuse") {
        let error = text(&vector[0]).parse::<T>().expect_err(&vector.to_string()).to_string();
        assert!(error.contains(text(&vector[1])), "{vector}: {error}");
    }
    for vector in vectors(kind, "print") {
        assert_eq!(new(number(&vector[0])).to_string(), text(&vector[1]));
    }
}

#[test]
fn sizes_parse_print_and_are_refused_as_agreed() {
    holds("bytes", Bytes);
}

#[test]
fn durations_parse_print_and_are_refused_as_agreed() {
    holds("durations", Nanoseconds);
}

#[test]
fn rates_print_as_agreed() {
    for vector in vectors("rates", "print") {
        let unit = RateUnit::ALL.into_iter().find(|unit| unit.to_string() == text(&vector[1]));
        let per_second = vector[0].as_f64().expect("a number");
        assert_eq!(unit.expect("a unit").format(per_second), text(&vector[2]));
    }
}

proptest! {
    #[test]
    fn every_size_parses_back_from_its_print(bytes: u64) {
        prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
    }

    #[test]
    fn every_duration_parses_back_from_its_print(ns: u64) {
        prop_assert_eq!(Nanoseconds(ns).to_string().parse(), Ok(Nanoseconds(ns)));
    }

    #[test]
    fn any_text_is_parsed_or_refused_with_advice(text: String) {
        if let Err(error) = text.parse::<Bytes>() {
            let advice = error.to_string();
            prop_assert!(advice.contains("; write ") || advice.contains("; use "));
        }
    }

    #[test]
    fn a_fraction_and_its_suggested_spelling_are_the_same_size(whole in 0u64..1000, quarters in 1u64..4) {
        let typed = format!("{whole}.{}g", quarters * 25);
        let advice = typed.parse::<Bytes>().unwrap_err().to_string();
        let (_, instead) = advice.rsplit_once("write ").expect("advice");
        prop_assert_eq!(instead.parse(), Ok(Bytes((whole << 30) + (quarters << 28))));
    }
}
