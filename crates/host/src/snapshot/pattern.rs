//! Patterns of paths: `*` stands for any text within a name, `{a,b}` for either name.
//!
//! A name in braces may have a `*`; braces stand for a whole name, and do not nest.

/// True where a component has to be compared with the names that exist.
pub fn is_listed(component: &str) -> bool {
    component.contains('*')
}

/// The names that a component stands for.
pub fn alternatives(component: &str) -> impl Iterator<Item = &str> {
    let inner = component.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(component);
    inner.split(',')
}

/// True if `component` stands for `name`.
pub fn matches(component: &str, name: &str) -> bool {
    alternatives(component).any(|alternative| matches_one(alternative, name))
}

fn matches_one(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    rest.char_indices().map(|(index, _)| index).chain([rest.len()]).any(|index| matches_one(after, &rest[index..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_braces_for_either_name() {
        assert!(matches("*", "sda") && matches("tcp_*", "tcp_rmem") && matches("*sched*", "60-ioscheduler.rules"));
        assert!(matches("{grant*,checksums}", "grant_shrink") && matches("{grant*,checksums}", "checksums"));
        assert!(!matches("{grant*,checksums}", "checksums2") && !matches("tcp_*", "udp_mem") && !matches("a*b", "a"));
        assert!(is_listed("{grant*,checksums}") && !is_listed("{size,dev}"));
        assert_eq!(alternatives("{size,dev}").collect::<Vec<_>>(), ["size", "dev"]);
    }
}
