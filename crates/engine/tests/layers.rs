//! Modules of the engine use those below them, and none above.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules `run` of the kinds of work and what they share: they lie with the plans of their kinds, far above them.
const WORK_RUN: &str = "work::run";

/// The modules of the engine, each before those that may use it.
const LAYERS: &[&str] = &[
    "failure",
    "stdio",
    "exit",
    "output",
    "beneath",
    "compiled",
    "cache",
    "latencies",
    "workload",
    "storage",
    "refusal",
    "work",
    "plan",
    "measure",
    "facts",
    "ranks",
    "supervise",
    "hosts",
    "workspace",
    WORK_RUN,
    "case",
    "survey",
    "rank_set",
    "forked",
    "launched",
    "command",
];

#[test]
fn no_module_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut upward = Vec::new();
    for file in files_in(&root).into_iter().filter(|file| file != &root.join("lib.rs")) {
        let inside = file.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        let module = if parts[0] == "work" && parts.contains(&"run") { WORK_RUN } else { parts[0] };
        for used in used_by(&fs::read_to_string(&file).unwrap()) {
            if layer_of(&used) > layer_of(module) {
                upward.push(format!("{} uses {used}", file.display()));
            }
        }
    }
    assert!(upward.is_empty(), "these use a module that LAYERS has above theirs:\n{}", upward.join("\n"));
}

fn layer_of(module: &str) -> usize {
    let layer = LAYERS.iter().position(|layer| *layer == module);
    layer.unwrap_or_else(|| panic!("put the module {module:?} into LAYERS"))
}

fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

/// The modules that follow `crate::` in `source`, without those in comments and in its tests.
fn used_by(source: &str) -> Vec<String> {
    let (code, _) = source.split_once("#[cfg(test)]\nmod tests {").unwrap_or((source, ""));
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    code.join("\n").split("crate::").skip(1).flat_map(names).collect()
}

/// The names that `path` begins with: one, or those in braces.
fn names(path: &str) -> Vec<String> {
    let segments = path.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | ':')).next().unwrap_or(path);
    if segments.starts_with("work::") && segments.split("::").any(|segment| segment == "run") {
        return vec![WORK_RUN.to_owned()];
    }
    let group = path.strip_prefix('{').and_then(|group| group.split_once('}'));
    let listed = group.map_or(vec![path], |(group, _)| group.split(',').map(str::trim).collect());
    let is_letter = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let names = listed.into_iter().map(|name| name.chars().take_while(is_letter).collect::<String>());
    names.filter(|name| !name.is_empty()).collect()
}
