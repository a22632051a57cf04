//! A compiler of the site: where it is, what it says of itself, and running it.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ioassay_protocol::events::Failure;

use crate::failure;

/// More lines of a compiler's complaints than this help nobody.
const LINES: usize = 25;

/// A compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Where it is.
    pub path: PathBuf,
}

impl Compiler {
    /// The compiler `name`, a name in `PATH` or a path.
    pub fn find(name: &str) -> Option<Self> {
        let path = if name.contains('/') { runnable(Path::new(name)).then(|| name.into()) } else { on_path(name) };
        // Links stay as they are: wrappers go by the name that they are called by.
        path.and_then(|path| std::path::absolute(path).ok()).map(|path| Self { path })
    }

    /// What tells it from another one, and from itself after an update: its path, where that leads to, what it would
    /// run (`-show`, as the wrappers of all MPIs know it), and its version.
    pub(super) fn identity(&self) -> [String; 4] {
        let leads_to = self.path.canonicalize().unwrap_or_default();
        let [path, leads_to] = [&self.path, &leads_to].map(|path| path.to_string_lossy().into_owned());
        [path, leads_to, self.says("-show"), self.says("--version")]
    }

    /// What it prints for `option`; nothing if it does not know it.
    fn says(&self, option: &str) -> String {
        let asked = Command::new(&self.path).arg(option).stdin(Stdio::null()).output();
        let known = asked.ok().filter(|asked| asked.status.success());
        known.map(|asked| String::from_utf8_lossy(&asked.stdout).into_owned()).unwrap_or_default()
    }

    /// Runs `command`, which compiles `name`, to its end. `remedy` is what to try where that fails.
    pub(super) fn run(&self, command: &mut Command, name: &str, remedy: &str) -> Result<(), Failure> {
        let ran = command.stdin(Stdio::null()).output().map_err(|error| failure::on_path("run", &self.path, &error))?;
        if ran.status.success() {
            return Ok(());
        }
        let output = [ran.stdout, ran.stderr].concat();
        let output = String::from_utf8_lossy(&output);
        let lines: Vec<&str> = output.lines().take(LINES).collect();
        let message = format!("{} cannot compile {}:\n{}", self.path.display(), name, lines.join("\n"));
        Err(failure::plain("compile", message, remedy))
    }
}

/// The program `name` in `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories).map(|directory| directory.join(name)).find(|path| runnable(path))
}

fn runnable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
