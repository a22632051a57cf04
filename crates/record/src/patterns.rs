//! Which names a rule is for.
//!
//! A pattern is a path: it matches itself and everything beneath it, so `/scratch` matches `/scratch/a` but not `/scratch2`. `?`
//! stands for one byte and `*` for any number of them within a component, `**` for any number across components, and `**/` where
//! a component begins for any number of whole ones. The empty pattern matches every name, also of what has no path.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A comparison that takes more steps is given up: patterns may come from any user, and callers must not wait for a bad
/// one.
const MOST_STEPS: usize = 1 << 16;

/// A star that was passed: what follows can be tried again further on in the name.
#[derive(Clone, Copy)]
struct Star {
    /// Where the pattern goes on behind it.
    after: usize,
    /// Where the name went on.
    position: usize,
    /// It stands for whole components.
    of_components: bool,
}

/// Whether a pattern, which may be changing, matches a name. It terminates, whatever the bytes are.
pub fn matches(pattern: &[AtomicU8], name: &[u8]) -> bool {
    let letter = |position: usize| pattern.get(position).map(|byte| byte.load(Relaxed));
    let all_of_it = |position: usize| {
        // Only `/` itself ends with a slash (`trimmed`), and everything with a path is beneath it.
        position == name.len() || name[position] == b'/' || letter(pattern.len().wrapping_sub(1)) == Some(b'/')
    };
    if pattern.is_empty() {
        return true;
    }
    let (mut at_pattern, mut position) = (0, 0);
    let (mut within, mut across): (Option<Star>, Option<Star>) = (None, None);
    for _ in 0..MOST_STEPS {
        match (letter(at_pattern), letter(at_pattern + 1)) {
            (None, _) if all_of_it(position) => return true,
            (Some(b'*'), Some(b'*')) => {
                let begins_component = at_pattern == 0 || letter(at_pattern - 1) == Some(b'/');
                let stars = (at_pattern..).take_while(|&position| letter(position) == Some(b'*')).count();
                at_pattern += stars;
                let of_components = begins_component && stars == 2 && letter(at_pattern) == Some(b'/');
                // Of whole components there may be none.
                at_pattern += usize::from(of_components);
                across = Some(Star { after: at_pattern, position, of_components });
                within = None;
                continue;
            }
            (Some(b'*'), _) => {
                at_pattern += 1;
                within = Some(Star { after: at_pattern, position, of_components: false });
                continue;
            }
            (Some(wanted), _)
                if position < name.len() && (wanted == name[position] || wanted == b'?' && name[position] != b'/') =>
            {
                at_pattern += 1;
                position += 1;
                continue;
            }
            _ => {}
        }
        // The last star takes more; the one within its component first.
        if let Some(star) = within.as_mut().filter(|star| star.position < name.len() && name[star.position] != b'/') {
            star.position += 1;
            (at_pattern, position) = (star.after, star.position);
        } else if let Some(star) = &mut across {
            let rest = name.get(star.position..).unwrap_or_default();
            let more = if star.of_components { rest.iter().position(|&byte| byte == b'/') } else { Some(0) };
            let Some(more) = more.filter(|_| !rest.is_empty()) else { return false };
            star.position += more + 1;
            (at_pattern, position) = (star.after, star.position);
            within = None;
        } else {
            return false;
        }
    }
    false
}

/// A pattern without slashes at its end, which would match nothing; `/` stays as it is.
pub fn trimmed(pattern: &[u8]) -> &[u8] {
    match pattern.iter().rposition(|&byte| byte != b'/') {
        Some(last) => &pattern[..=last],
        None => &pattern[..pattern.len().min(1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn is_match(pattern: &str, name: &str) -> bool {
        let pattern: Vec<_> = trimmed(pattern.as_bytes()).iter().map(|&byte| AtomicU8::new(byte)).collect();
        matches(&pattern, name.as_bytes())
    }

    #[test]
    fn a_path_matches_itself_and_what_is_beneath_it() {
        for name in ["/scratch", "/scratch/a", "/scratch/a/b"] {
            assert!(is_match("/scratch", name) && is_match("/scratch//", name) && is_match("/", name), "{name}");
        }
        for name in ["/scratch2", "/scratc", "/", "", "/other/scratch", "pipe"] {
            assert!(!is_match("/scratch", name), "{name}");
        }
        assert!(is_match("", "pipe") && !is_match("/", "pipe"));
    }

    #[test]
    fn stars_stay_within_a_component_and_double_stars_do_not() {
        for (pattern, name, is) in [
            ("/data/*.h5", "/data/a.h5", true),
            ("/data/*.h5", "/data/a/b.h5", false),
            ("/data/step-??", "/data/step-07/out", true),
            ("/data/step-??", "/data/step-7/out", false),
            ("/data/**.h5", "/data/a/b.h5", true),
            ("/data/**/out", "/data/out", true),
            ("/data/**/out", "/data/a/b/out/x", true),
            ("/data/**/out", "/data/a/bout", false),
            ("**/out", "/data/a/out", true),
            ("/a*/b", "/a/b", true),
        ] {
            assert_eq!(is_match(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_that_takes_too_long_matches_nothing() {
        let pattern = "**a*".repeat(1000) + "b";
        assert!(!is_match(&pattern, &"a".repeat(4000)));
    }

    /// What a pattern means, tried in every way. A component may begin where it begins.
    fn model(pattern: &[u8], name: &[u8], begins: bool) -> bool {
        let slash = name.iter().position(|&byte| byte == b'/').unwrap_or(name.len());
        let stars = pattern.iter().take_while(|&&byte| byte == b'*').count();
        match (stars, pattern.get(stars..).unwrap_or_default()) {
            (0, []) => name.is_empty() || name[0] == b'/',
            (0, [b'?', rest @ ..]) => slash > 0 && model(rest, &name[1..], false),
            (0, [first, rest @ ..]) => name.first() == Some(first) && model(rest, &name[1..], *first == b'/'),
            (1, rest) => (0..=slash).any(|position| model(rest, &name[position..], false)),
            (2, [b'/', rest @ ..]) if begins => {
                let places =
                    name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(position, _)| position + 1);
                std::iter::once(0).chain(places).any(|position| model(rest, &name[position..], true))
            }
            (_, rest) => (0..=name.len()).any(|position| model(rest, &name[position..], false)),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn a_pattern_means_what_the_model_says(pattern in "/([ab/?]|\\*|\\*\\*|\\*\\*/){0,7}[ab*?]", name in "/[ab/]{0,10}") {
            prop_assert_eq!(is_match(&pattern, &name), model(pattern.as_bytes(), name.as_bytes(), true));
        }
    }
}
