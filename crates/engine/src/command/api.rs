//! `ioassay-engine api`: builds storage APIs that are plug-ins, and says which there are.
//!
//! Not here: exiting, parsing arguments, what a plug-in does.

use std::fs;
use std::path::{Path, PathBuf};

use ioassay_protocol::events::Failure;
use serde::Serialize;

use crate::command;
use crate::compiled::{Cache, Source};
use crate::exit::Exit;
use crate::failure;
use crate::storage;
use crate::storage::plugin::options::Described;
use crate::storage::plugin::sources::{self, CC, HEADER, SHIPPED};
use crate::storage::plugin::{self, Plugin};

/// What is to be built.
#[derive(Debug)]
pub struct Build {
    /// One of the engine's own by its name, or a file of C source.
    pub what: String,
    /// Another compiler than the usual one.
    pub compiler: Option<String>,
    /// Where the library goes, as `NAME.so`; else into the cache, where its name finds it.
    pub output: Option<PathBuf>,
    /// More for the compiler, for example libraries.
    pub arguments: Vec<String>,
}

/// Builds a plug-in and prints where it is.
pub fn build(asked: &Build) -> Exit {
    if sources::shipped(&asked.what).is_none() && Path::new(&asked.what).extension().is_none() {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let message = format!("there is no storage API {:?} to build", asked.what);
        let remedy = format!("use one of {}, or a file such as ./mine.c", names.join(", "));
        return Exit::refused(failure::plain("build", message, &remedy));
    }
    match built(asked) {
        Ok(path) => command::print(&format!("{}\n", path.display())),
        Err(failure) => Exit::could_not_run(failure),
    }
}

fn built(asked: &Build) -> Result<PathBuf, Failure> {
    let more: Vec<&str> = asked.arguments.iter().map(String::as_str).collect();
    let library = if let Some(shipped) = sources::shipped(&asked.what) {
        let usual = shipped.source(sources::compiler(shipped.compilers));
        let arguments = [usual.arguments, &more].concat();
        let compiler = asked.compiler.as_deref().unwrap_or(usual.compiler);
        into_place(asked, &Source { compiler, arguments: &arguments, ..usual })?
    } else {
        build_file(asked, &more)?
    };
    // A plug-in that cannot be used is better known now than in a job.
    let loaded = plugin::load(&std::path::absolute(&library).unwrap_or_else(|_| library.clone()));
    if let Err(unfit) = loaded {
        let _ = fs::remove_file(&library);
        return Err(failure::plain("load", unfit.problem, &unfit.valid));
    }
    Ok(library)
}

/// Builds a file of the user's.
fn build_file(asked: &Build, more: &[&str]) -> Result<PathBuf, Failure> {
    let path = Path::new(&asked.what);
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let text = fs::read_to_string(path).map_err(|error| failure::on_path("read", path, &error))?;
    // What the file includes lies beside it.
    let beside = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    let include = format!("-I{}", beside.display());
    let arguments = [&[include.as_str()], more].concat();
    let file = format!("{name}.c");
    into_place(
        asked,
        &Source {
            name,
            files: &[(&file, &text), HEADER],
            compiler: asked.compiler.as_deref().unwrap_or_else(|| sources::compiler(CC)),
            arguments: &arguments,
            remedy: "fix the compiler's errors; if there is no compiler, install gcc or name another one with \
                     --compiler",
        },
    )
}

/// Builds into the cache or where the user wants it.
fn into_place(asked: &Build, source: &Source<'_>) -> Result<PathBuf, Failure> {
    let Some(directory) = &asked.output else { return source.build(&sources::cache()?) };
    // The compiler works in a directory of its own.
    let directory = std::path::absolute(directory).map_err(|error| failure::on_path("build", directory, &error))?;
    let built = source.build(&Cache::in_directory(directory.clone()))?;
    let place = directory.join(format!("{}.so", source.name));
    fs::rename(&built, &place).map_err(|error| failure::on_path("rename", &built, &error))?;
    Ok(place)
}

/// Every plug-in: those that come with the engine, built or not, and all others in the cache.
#[derive(Debug, Serialize)]
struct List {
    /// Version of this document.
    version: u32,
    /// The engine's storage APIs that are not plug-ins.
    #[serde(rename = "own")]
    built_in: Vec<&'static str>,
    apis: Vec<Listed>,
}

/// A plug-in.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    /// The library; `null`: it is not built.
    path: Option<PathBuf>,
    /// Why the library cannot be used.
    problem: Option<String>,
    /// What to do about that, or to build it.
    remedy: Option<String>,
    about: String,
    needs_mpi: bool,
    options: Vec<Described>,
}

/// Prints every plug-in, and those at `paths`.
pub fn list(paths: &[PathBuf], as_json: bool) -> Exit {
    let apis = match listed(paths) {
        Ok(apis) => apis,
        Err(failure) => return Exit::could_not_run(failure),
    };
    if !as_json {
        return command::print(&apis.iter().map(text).collect::<Vec<_>>().join("\n"));
    }
    let list = List { version: 1, built_in: storage::all_names(), apis };
    command::print(&(serde_json::to_string_pretty(&list).expect("our own types are JSON") + "\n"))
}

fn listed(paths: &[PathBuf]) -> Result<Vec<Listed>, Failure> {
    let cache = sources::cache()?;
    let mut apis = Vec::new();
    for shipped in &SHIPPED {
        apis.push(match sources::built(&cache, shipped.name)? {
            Some(path) => described(shipped.name, &path),
            None => Listed { remedy: Some(format!("ioassay api build {}", shipped.name)), ..bare(shipped.name, None) },
        });
    }
    let mut seen: Vec<String> = SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect();
    for built in cache.built()? {
        if !seen.contains(&built.name) {
            apis.push(described(&built.name, &built.path));
            seen.push(built.name);
        }
    }
    apis.extend(paths.iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        described(&name, &std::path::absolute(path).unwrap_or_else(|_| path.clone()))
    }));
    Ok(apis)
}

fn bare(name: &str, path: Option<PathBuf>) -> Listed {
    Listed {
        name: name.to_owned(),
        path,
        problem: None,
        remedy: None,
        about: String::new(),
        needs_mpi: false,
        options: Vec::new(),
    }
}

fn described(name: &str, path: &Path) -> Listed {
    let bare = bare(name, Some(path.to_owned()));
    match plugin::load(path) {
        Ok(plugin) => Listed {
            name: plugin.name.to_owned(),
            about: plugin.about.clone(),
            needs_mpi: Plugin::needs_mpi(plugin),
            options: plugin.options.clone(),
            ..bare
        },
        Err(unfit) => Listed { problem: Some(unfit.problem), remedy: Some(unfit.valid), ..bare },
    }
}

fn text(api: &Listed) -> String {
    let place = api.path.as_ref().map_or_else(|| "not built".to_owned(), |path| path.display().to_string());
    let mpi = if api.needs_mpi { " Ranks must be MPI processes." } else { "" };
    let mut lines = vec![format!("{}  {place}", api.name)];
    if !api.about.is_empty() {
        lines.push(format!("  {}{mpi}", api.about));
    }
    lines.extend(api.problem.iter().map(|problem| format!("  cannot be used: {problem}")));
    lines.extend(api.remedy.iter().map(|remedy| format!("  try: {remedy}")));
    for option in &api.options {
        let kind = serde_json::to_value(option.kind).expect("our own types are JSON");
        let default = if option.default.is_empty() { String::new() } else { format!(", default {}", option.default) };
        lines.push(format!("  {} ({}{default}): {}", option.name, kind.as_str().unwrap_or_default(), option.meaning));
    }
    lines.join("\n") + "\n"
}
