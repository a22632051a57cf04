//! The classes of calls that are counted.
//!
//! How to add one: `docs/development/recorder.md`.

/// Declares the classes, with their words.
macro_rules! operations {
    ($($(#[$about:meta])* $name:ident = $number:literal => $word:literal,)+) => {
        /// A class of calls.
        #[repr(u8)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Operation { $($(#[$about])* $name = $number,)+ }

        impl Operation {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its word, for tables and reports.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

operations! {
    /// `open`, `creat`, `fopen`, `freopen`; `opendir` is [`Operation::List`].
    Open = 0 => "open",
    /// `close`, `fclose`.
    Close = 1 => "close",
    /// `lseek`.
    Seek = 2 => "seek",
    /// `fsync`, `fdatasync`, `sync_file_range`, `msync`, `syncfs`, `sync`.
    Sync = 3 => "sync",
    /// `stat` in all its forms, `access`, `readlink`, `statfs`, and reading extended attributes.
    Stat = 4 => "stat",
    /// `opendir`, `readdir` and their like, `getdents`; patterns are [`Operation::Glob`].
    List = 5 => "list",
    /// `mkdir`, `mknod`, `link`, `symlink`.
    Create = 6 => "create",
    /// `unlink`, `rmdir`, `remove`.
    Remove = 7 => "remove",
    /// `rename` in all its forms.
    Rename = 8 => "rename",
    /// `truncate`, `ftruncate`, `fallocate`.
    Truncate = 9 => "truncate",
    /// `chmod`, `chown`, `utime` in all their forms, and writing extended attributes.
    Attribute = 10 => "attribute",
    /// `flock`, `lockf`, and the locks of `fcntl`.
    Lock = 11 => "lock",
    /// `posix_fadvise`, `readahead`, `madvise` of a file's map.
    Advise = 12 => "advise",
    /// `fseek` and its like, which need not reach the kernel.
    StreamSeek = 13 => "stream seek",
    /// `fflush`.
    StreamFlush = 14 => "stream flush",
    /// `MPI_File_open`, `close`, `sync`, `set_view`, `set_size`.
    MpiFile = 15 => "MPI file",
    /// `accept`, `accept4`: on the socket that listens.
    Accept = 16 => "accept",
    /// `connect`.
    Connect = 17 => "connect",
    /// `glob`, and `wordexp` of a pattern.
    Glob = 18 => "glob",
    /// `read`, `pread`, `readv` and their like. From here on, classes that move bytes.
    Read = 19 => "read",
    /// `write`, `pwrite`, `writev` and their like.
    Write = 20 => "write",
    /// `fread`, `fgets`, `getc` and their like: the calls that the program makes, not those of the C library.
    StreamRead = 21 => "stream read",
    /// `fwrite`, `fputs`, `fprintf` and their like.
    StreamWrite = 22 => "stream write",
    /// The source of `sendfile`, `copy_file_range`, `splice`.
    CopyFrom = 23 => "copy from",
    /// Where these copy to.
    CopyTo = 24 => "copy to",
    /// `mmap` of a file: bytes that are mapped, which need not be read.
    Map = 25 => "map",
    /// Reads handed to the kernel or to threads of the C library: `aio_read`, `lio_listio`, io_uring.
    SubmitRead = 26 => "submit read",
    /// Writes handed over like that.
    SubmitWrite = 27 => "submit write",
    /// Independent reads of MPI-IO that return when they are done.
    MpiRead = 28 => "MPI read",
    /// Independent writes of MPI-IO that return when they are done.
    MpiWrite = 29 => "MPI write",
    /// Collective reads of MPI-IO that return when they are done.
    MpiReadAll = 30 => "MPI collective read",
    /// Collective writes of MPI-IO that return when they are done.
    MpiWriteAll = 31 => "MPI collective write",
    /// `MPI_File_iread` and its like, independent.
    MpiReadNonBlocking = 32 => "MPI non-blocking read",
    /// `MPI_File_iwrite` and its like, independent.
    MpiWriteNonBlocking = 33 => "MPI non-blocking write",
    /// `MPI_File_iread_all`, `MPI_File_iread_at_all`.
    MpiReadAllNonBlocking = 34 => "MPI non-blocking collective read",
    /// `MPI_File_iwrite_all`, `MPI_File_iwrite_at_all`.
    MpiWriteAllNonBlocking = 35 => "MPI non-blocking collective write",
    /// `MPI_File_read_all_begin` and its like.
    MpiReadSplit = 36 => "MPI split collective read",
    /// `MPI_File_write_all_begin` and its like.
    MpiWriteSplit = 37 => "MPI split collective write",
    /// Reads of all classes but MPI-IO from what is not on storage. Files have these calls by their own classes.
    ElsewhereRead = 38 => "elsewhere read",
    /// Such writes.
    ElsewhereWrite = 39 => "elsewhere write",
    /// All other calls on what is not on storage.
    ElsewhereOther = 40 => "elsewhere other",
}

/// There may be so many.
pub const OPERATIONS: usize = 44;
/// The first that moves bytes.
pub const FIRST_TRANSFER: usize = Operation::Read as usize;

const _: () = assert!(Operation::ALL.len() <= OPERATIONS);

impl Operation {
    /// The class that seconds, latencies and errors count it as where it is not on storage. A call of MPI-IO is counted as
    /// itself: those that it makes tell where it went.
    pub const fn elsewhere(self) -> Self {
        match self {
            Self::Read | Self::StreamRead | Self::CopyFrom | Self::SubmitRead => Self::ElsewhereRead,
            Self::Write | Self::StreamWrite | Self::CopyTo | Self::SubmitWrite => Self::ElsewhereWrite,
            Self::ElsewhereRead | Self::ElsewhereWrite | Self::ElsewhereOther => self,
            of_mpi if of_mpi.is_mpi() => self,
            _ => Self::ElsewhereOther,
        }
    }

    /// Whether it is a call of MPI-IO.
    pub const fn is_mpi(self) -> bool {
        matches!(self, Self::MpiFile) || (Self::MpiRead as u8 <= self as u8 && self as u8 <= Self::MpiWriteSplit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_operation_is_its_place_in_the_list() {
        for (place, operation) in Operation::ALL.iter().enumerate() {
            assert_eq!(*operation as usize, place, "{}", operation.word());
        }
    }

    #[test]
    fn what_is_not_on_storage_has_classes_of_its_own() {
        use Operation::{
            Connect, ElsewhereOther, ElsewhereRead, ElsewhereWrite, Map, MpiFile, MpiReadSplit, Open, StreamRead,
            SubmitWrite,
        };
        for (operation, elsewhere) in [
            (StreamRead, ElsewhereRead),
            (SubmitWrite, ElsewhereWrite),
            (Open, ElsewhereOther),
            (Connect, ElsewhereOther),
            (Map, ElsewhereOther),
            (MpiFile, MpiFile),
            (MpiReadSplit, MpiReadSplit),
        ] {
            assert_eq!((operation.elsewhere(), elsewhere.elsewhere()), (elsewhere, elsewhere));
        }
    }
}
