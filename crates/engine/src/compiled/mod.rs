//! C code that is compiled on the site: what the site's own compiler makes of sources, and where that is kept.
//!
//! A library is kept under its name and a hash of all that it was made of: its sources, the compiler and what that
//! says of itself, so that each MPI of a site has its own. Building one is safe at any time, also by several processes
//! and nodes at once: it appears as a whole or not at all.
//! Not here: which sources there are, and loading what they became.

mod cache;
mod compiler;
mod trusted;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use ioassay_protocol::events::Failure;
use sha2::{Digest, Sha256};

pub use self::cache::{Built, Cache};
use self::compiler::Compiler;
pub use self::compiler::on_path;
pub use self::trusted::TrustedLibrary;
use crate::failure;

/// What a library is made of.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// What it is called: letters, digits, `_` and `-`.
    pub name: &'a str,
    /// Names and texts of its files. The first is compiled; the others, headers, lie beside it.
    pub files: &'a [(&'a str, &'a str)],
    /// The compiler, by the name that it has in `PATH` or by its path.
    pub compiler: &'a str,
    /// What the compiler is given after the file: libraries, and where to look for them.
    pub arguments: &'a [&'a str],
    /// What to try where the compiler is missing or finds something missing, for example packages to install.
    pub remedy: &'a str,
}

impl Source<'_> {
    /// Where it lies in `cache` once it is built: with this compiler, as it is today.
    fn place(&self, cache: &Cache) -> Result<PathBuf, Failure> {
        Ok(self.place_by(&self.compiler()?, cache))
    }

    /// The library, if it is built.
    ///
    /// # Errors
    /// If there is no such compiler, or others may change what lies in the cache.
    pub fn find(&self, cache: &Cache) -> Result<Option<PathBuf>, Failure> {
        let place = self.place(cache)?;
        cache.holds(&place)
    }

    /// The library, built if it is not.
    ///
    /// # Errors
    /// As [`Source::build`].
    pub fn find_or_build(&self, cache: &Cache) -> Result<PathBuf, Failure> {
        match self.find(cache)? {
            Some(library) => Ok(library),
            None => self.build(cache),
        }
    }

    /// Builds it, also where it is built already.
    ///
    /// # Errors
    /// If there is no such compiler, it refuses the sources, or the cache cannot be written. What the compiler said is
    /// in the message.
    pub fn build(&self, cache: &Cache) -> Result<PathBuf, Failure> {
        let compiler = self.compiler()?;
        let place = self.place_by(&compiler, cache);
        let bench = cache.workbench()?;
        let cannot = |error: io::Error| failure::on_path("build in", bench.path(), &error);
        for (name, text) in self.files {
            fs::write(bench.path().join(name), text).map_err(cannot)?;
        }
        let made = bench.path().join("library.so");
        let mut command = Command::new(&compiler.path);
        // Some compilers' wrappers leave files of their own where they are called.
        command.current_dir(bench.path()).args(["-shared", "-fPIC", "-O2", "-g", "-o"]).arg(&made);
        command.arg(self.files[0].0).args(self.arguments);
        compiler.run(&mut command, self.name, self.remedy)?;
        // Whatever the umask, others may use it and not change it.
        let file = fs::File::open(&made).map_err(cannot)?;
        file.set_permissions(Permissions::from_mode(0o755)).map_err(cannot)?;
        // Its bytes before its name: a power cut must not leave a name of half a library.
        file.sync_all().map_err(cannot)?;
        fs::rename(&made, &place).map_err(cannot)?;
        Ok(place)
    }

    fn compiler(&self) -> Result<Compiler, Failure> {
        Compiler::find(self.compiler).ok_or_else(|| {
            let message = format!("{} needs the compiler {}, which is not installed", self.compiler, self.name);
            failure::plain("compile", message, self.remedy)
        })
    }

    fn place_by(&self, compiler: &Compiler, cache: &Cache) -> PathBuf {
        let mut hash = Sha256::new();
        let mut add = |part: &str| {
            // With its length before it no part can be taken for the end of another.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        // A home directory may serve machines of several kinds.
        add(std::env::consts::ARCH);
        compiler.identity().iter().for_each(|part| add(part));
        self.files.iter().for_each(|(name, text)| {
            add(name);
            add(text);
        });
        self.arguments.iter().for_each(|argument| add(argument));
        let digest = hash.finalize();
        let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        cache.place(self.name, &hex)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const ANSWER: &str = "#include \"answer.h\"\nint answer(void) { return ANSWER; }\n";

    fn answer<'a>(files: &'a [(&'a str, &'a str)]) -> Source<'a> {
        Source { name: "answer", files, compiler: "cc", arguments: &[], remedy: "install gcc" }
    }

    /// The library's answer.
    fn ask(library: &Path) -> i32 {
        answer_of(TrustedLibrary::open(library).unwrap())
    }

    fn answer_of(library: TrustedLibrary) -> i32 {
        // SAFETY: it was built of the source above, whose function takes nothing and returns an int.
        unsafe {
            let library = library.load().unwrap();
            library.get::<unsafe extern "C" fn() -> i32>(c"answer").unwrap()()
        }
    }

    #[test]
    fn what_is_built_is_found_again_and_can_be_called() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().join("cache"));
        let files = [("answer.c", ANSWER), ("answer.h", "#define ANSWER 42\n")];
        let source = answer(&files);
        assert_eq!(source.find(&cache).unwrap(), None);
        let built = source.find_or_build(&cache).unwrap();
        assert_eq!(source.find(&cache).unwrap(), Some(built.clone()));
        assert_eq!(ask(&built), 42);
        assert_eq!(cache.built().unwrap().into_iter().map(|library| library.path).collect::<Vec<_>>(), [built]);
    }

    #[test]
    fn what_was_looked_at_is_loaded_also_when_its_name_is_given_to_another_meanwhile() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().join("cache"));
        let [mine, other] = ["#define ANSWER 1\n", "#define ANSWER 2\n"].map(|header| {
            let files = [("answer.c", ANSWER), ("answer.h", header)];
            answer(&files).build(&cache).unwrap()
        });
        let looked_at = TrustedLibrary::open(&mine).unwrap();
        std::fs::rename(&other, &mine).unwrap();
        assert_eq!(answer_of(looked_at), 1);
        assert_eq!(ask(&mine), 2);
    }

    #[test]
    fn other_sources_arguments_or_compilers_give_another_library() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().to_owned());
        let link = directory.path().join("mycc");
        std::os::unix::fs::symlink(on_path("cc").unwrap(), &link).unwrap();
        let (first, second) = ([("a.c", "1"), ("a.h", "23")], [("a.c", "12"), ("a.h", "3")]);
        let places = [
            answer(&first),
            answer(&second),
            Source { arguments: &["-lm"], ..answer(&first) },
            Source { compiler: link.to_str().unwrap(), ..answer(&first) },
            Source { name: "other", ..answer(&first) },
        ]
        .map(|source| source.place(&cache).unwrap());
        for (index, place) in places.iter().enumerate() {
            assert!(!places[..index].contains(place), "{}", place.display());
        }
    }

    #[test]
    fn what_does_not_compile_leaves_nothing_and_says_what_the_compiler_said() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().join("cache"));
        let failure = answer(&[("answer.c", ANSWER)]).build(&cache).unwrap_err();
        assert!(failure.message.contains("answer.h"), "{}", failure.message);
        assert_eq!(failure.remedy, "install gcc");
        assert_eq!(std::fs::read_dir(directory.path().join("cache")).unwrap().count(), 0);
        let missing = Source { compiler: "no-such-compiler", ..answer(&[]) };
        for failure in [missing.build(&cache).unwrap_err(), missing.find(&cache).unwrap_err()] {
            assert!(failure.message.contains("no-such-compiler"), "{}", failure.message);
        }
    }

    #[test]
    fn many_may_build_the_same_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::in_directory(directory.path().join("cache"));
        let files = [("answer.c", ANSWER), ("answer.h", "#define ANSWER 7\n")];
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| assert_eq!(ask(&answer(&files).build(&cache).unwrap()), 7));
            }
        });
        assert_eq!(std::fs::read_dir(directory.path().join("cache")).unwrap().count(), 1);
    }
}
