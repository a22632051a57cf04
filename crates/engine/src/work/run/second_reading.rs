//! Words the failure of bytes that are not what was written, after a second read in another way.
//!
//! One wrong read does not show what is to blame. A library between the program and the kernel can return wrong bytes
//! or write them, and so can the page cache, the client of the file system, and the network. The storage is blamed only
//! where a read that avoids what the first one went through agrees with it, and every layer that could have done it is
//! named. Not here: what belongs there ([`crate::workload::payload`]).

use std::io;
use std::path::Path;

use ioassay_protocol::events::Failure;
use ioassay_protocol::plan::metadata::MetadataWork;
use ioassay_protocol::plan::storage::{Storage, Target};
use ioassay_protocol::plan::{Operation, Work};
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

use super::Case;
use crate::failure;
use crate::storage::names::Presence;
use crate::storage::{Access, Opening, Setup};
use crate::work::kind_of;
use crate::workload::buffer::Buffer;
use crate::workload::payload::{self, Mismatch};

/// What offsets and lengths of direct I/O are multiples of, everywhere.
const ALIGNMENT_BYTES: u64 = 4096;

/// How wrong bytes of one job are read again, and who may have written them.
#[derive(Clone, Copy)]
pub(crate) struct SecondReading<'a> {
    case: &'a Case<'a>,
    /// What read them first.
    storage: &'a Storage,
    /// What wrote them; nothing where an earlier command did.
    writer: Option<&'a Storage>,
}

/// What a second read found where the first one found wrong bytes.
#[derive(Debug)]
enum Seen {
    /// The same wrong bytes.
    Same,
    /// Zeros, of which the file system says that nothing is stored there.
    Hole,
    /// What was written.
    Right,
    /// Other wrong bytes.
    Other(Vec<u8>),
    /// Nothing, because of this.
    Failed(io::Error),
}

impl<'a> SecondReading<'a> {
    /// Of what a job that uses `storage` reads of the file set `files`.
    pub fn of_files(case: &'a Case<'a>, storage: &'a Storage, files: &str) -> Self {
        let writes = |work: &Work| kind_of(work).writes_files(files).is_some();
        Self { case, storage, writer: writer(case, writes) }
    }

    /// Of what a job that uses `storage` reads of the files of a tree.
    pub fn of_tree(case: &'a Case<'a>, storage: &'a Storage, work: &MetadataWork) -> Self {
        let writes =
            |other: &Work| kind_of(other).metadata().is_some_and(|other| other.tree == work.tree && moves_in(other));
        Self { case, storage, writer: writer(case, writes) }
    }

    /// The failure for `mismatch`, met in `path` where the file begins at `base_bytes` of it.
    #[cold]
    pub fn explain(&self, path: &Path, base_bytes: u64, mismatch: &Mismatch) -> Box<Failure> {
        let range = (base_bytes + mismatch.offset, mismatch.expected.len());
        let mut ways = self.ways().into_iter();
        let (again, way) = loop {
            let (storage, way) = ways.next().expect("the last is taken whatever it answers");
            let again = self.read_again(&storage, path, range);
            // Not every file system has direct I/O.
            let refused = matches!(&again, Err(error) if error.kind() == io::ErrorKind::InvalidInput);
            if !refused || ways.len() == 0 {
                break (again, way);
            }
        };
        let seen = match again {
            Ok(again) if again == mismatch.expected => Seen::Right,
            Ok(again) if again.iter().all(|&byte| byte == 0) && self.is_hole(path, range.0) => Seen::Hole,
            Ok(again) if again == mismatch.actual => Seen::Same,
            Ok(again) => Seen::Other(again),
            Err(error) => Seen::Failed(error),
        };
        let message =
            format!("verify {}: at offset {} {}", path.display(), mismatch.offset, compared(mismatch, &seen, way));
        Box::new(failure::about_path("verify", path, message, &self.remedy(mismatch, &seen)))
    }

    /// How to read it again, from the best way on: past the page cache where the first read went through it, through it
    /// where that went past it, and always without a library. A store that is no file system is asked once more by a
    /// connection of its own.
    fn ways(&self) -> Vec<(Storage, &'static str)> {
        let posix = |direct: bool| Storage { direct, ..Storage::of("posix") };
        let through_cache = (posix(false), "through POSIX and the page cache");
        match &self.case.plan.target {
            Target::Url(_) => vec![(Storage { depth: 1, ..self.storage.clone() }, "by a connection of its own")],
            _ if self.storage.direct => vec![through_cache],
            _ => vec![(posix(true), "through POSIX, past the page cache"), through_cache],
        }
    }

    /// `count` bytes from `offset` of `path` on.
    fn read_again(&self, storage: &Storage, path: &Path, (offset, count): (u64, usize)) -> io::Result<Vec<u8>> {
        let begin = offset / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
        let wanted = (offset - begin) as usize..(offset - begin) as usize + count;
        // What is wanted may lie across the end of a block.
        let bytes = 2 * ALIGNMENT_BYTES;
        let Case { apis, plan, workspace, .. } = self.case;
        let root = workspace.root()?;
        let mut buffers = [Buffer::new(bytes as usize), Buffer::new(bytes as usize)];
        let [registered, buffer] = &mut buffers;
        let setup =
            Setup { root: root.as_ref(), ..Setup::alone(storage, &plan.target, std::slice::from_mut(registered)) };
        let mut connection = apis(&storage.api).connect(setup)?;
        let opening =
            Opening { access: Access::Read, presence: Presence::Shared, bytes: begin + bytes, size: None, advice: &[] };
        let mut file = connection.open(path, opening)?;
        buffer.fill(payload::POISON);
        let moved = file.read_at(buffer, begin)?;
        if moved < wanted.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let again = &buffer[wanted];
        if payload::is_untouched(again) {
            return Err(io::Error::other("it too reported success and copied nothing"));
        }
        Ok(again.to_vec())
    }

    /// True if the file system says that no data is stored at `offset`.
    fn is_hole(&self, path: &Path, offset: u64) -> bool {
        if !matches!(self.case.plan.target, Target::Directory(_) | Target::InPlace(_)) {
            return false;
        }
        let Ok(file) = self.case.workspace.open_to_read(path) else { return false };
        match lseek(&file, offset as i64, Whence::SeekData) {
            Ok(data) => data as u64 > offset,
            // There is no data up to the end.
            Err(error) => error == Errno::ENXIO,
        }
    }

    /// What to do about it, with every layer that can have done it.
    fn remedy(&self, mismatch: &Mismatch, seen: &Seen) -> String {
        let target = &self.case.plan.target;
        let (read, written) =
            (layers(self.storage, target), self.writer.map(|writer| (writer, layers(writer, target))));
        // What a case has made it also removes; IOR keeps it with -k.
        let kept = match target {
            Target::InPlace(_) | Target::Device(_) => "; keep what is left there as it is",
            Target::Directory(_) | Target::Url(_) => "",
        };
        match (seen, written) {
            (Seen::Right, _) => format!("what is stored is right; suspect what the read went through: {read}"),
            (Seen::Hole, None) => {
                "an earlier command did not come to this place (a stonewall, a full file system, other \
                                   sizes): read no more than it wrote. If it did write here, the storage lost it"
                    .to_owned()
            }
            (_, None) => format!(
                "an earlier command wrote it: check that payload, signature, transfer size and ranks are those of that \
                 command. If they are, suspect what it was written through, which only that command knows, and {read}; \
                 keep the target as it is"
            ),
            (Seen::Hole, Some((_, written))) => format!(
                "what was written is not stored: the storage lost it, or {written} did. Report it to the storage \
                 vendor{kept}"
            ),
            (Seen::Same, Some((writer, written))) if is_library(writer) => format!(
                "what is stored is wrong, and may have been written wrong. Suspect {written}: run the same again with the \
                 API posix, and blame the storage only if that fails too"
            ),
            (Seen::Same, Some((_, written))) => format!(
                "what is stored is wrong: the storage lost or corrupted data, or {written} did. Run again \
                 with `verify: writes` to see whether it happens when writing or later, and report it to the storage \
                 vendor with both reads{kept}"
            ),
            (Seen::Other(_) | Seen::Failed(_), Some((_, written))) => {
                let untouched =
                    if mismatch.untouched { "a read that copies nothing is no corrupted data. " } else { "" };
                let suspects = if read == written { read } else { format!("{read}, and for the write {written}") };
                format!(
                    "{untouched}It is open whether what is stored is wrong: read it again from another node, and suspect \
                     {suspects}{kept}"
                )
            }
        }
    }
}

/// The storage of a job of the plan whose work `writes` it: of one that uses a library, where there are several.
fn writer<'a>(case: &'a Case<'_>, writes: impl Fn(&Work) -> bool) -> Option<&'a Storage> {
    let writers = case.plan.jobs().filter(|job| writes(&job.work)).map(|job| case.plan.storage_of(job));
    writers.max_by_key(|storage| is_library(storage))
}

/// What was found, and what the second read says to that.
fn compared(mismatch: &Mismatch, seen: &Seen, way: &str) -> String {
    let expected = hex(&mismatch.expected);
    let first = if mismatch.untouched {
        format!("the read reported success and copied nothing, where {expected} was written")
    } else {
        format!("found {}, but {expected} was written", hex(&mismatch.actual))
    };
    match seen {
        Seen::Hole => format!("{first}; the file has a hole there: nothing is stored in this place"),
        Seen::Same => format!("{first}; a second read ({way}) found the same"),
        Seen::Right => format!("{first}; a second read ({way}) found what was written"),
        Seen::Other(bytes) => format!("{first}; a second read ({way}) found {}", hex(bytes)),
        Seen::Failed(error) => format!("{first}; a second read ({way}) failed: {error}"),
    }
}

/// What bytes pass on their way between the program and `target`, from above.
fn layers(storage: &Storage, target: &Target) -> String {
    let beneath = match target {
        Target::Url(_) => "the network, the server or gateway and what is behind it",
        Target::Device(_) if storage.direct => "the device's driver, the device and this node's memory",
        Target::Device(_) => "the page cache, the device's driver, the device and this node's memory",
        _ if storage.direct => "the file system and its client, the network, the servers and this node's memory",
        _ => "the page cache, the file system and its client, the network, the servers and this node's memory",
    };
    match &storage.api {
        api if is_library(storage) => format!("the plug-in {api} and the library that it calls, {beneath}"),
        api if matches!(target, Target::Url(_)) => format!("the client in the engine ({api}), {beneath}"),
        _ => beneath.to_owned(),
    }
}

/// True where files get their content by `work`.
fn moves_in(work: &MetadataWork) -> bool {
    let operations = work.operation.operations();
    let writes = |operation: &Operation| matches!(operation, Operation::Create | Operation::Write);
    operations.iter().any(writes)
}

/// True where a library that is not the engine's moves the bytes.
fn is_library(storage: &Storage) -> bool {
    storage.plugin.is_some()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
