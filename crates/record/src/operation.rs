//! The classes of calls that are counted.

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
    /// `opendir`, `readdir` and their like, `getdents`.
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
    /// `read`, `pread`, `readv` and their like. From here on, classes that move bytes.
    Read = 16 => "read",
    /// `write`, `pwrite`, `writev` and their like.
    Write = 17 => "write",
    /// `fread`, `fgets`, `getc` and their like: the calls that the program makes, not those of the C library.
    StreamRead = 18 => "stream read",
    /// `fwrite`, `fputs`, `fprintf` and their like.
    StreamWrite = 19 => "stream write",
    /// The source of `sendfile`, `copy_file_range`, `splice`.
    CopyFrom = 20 => "copy from",
    /// Where these copy to.
    CopyTo = 21 => "copy to",
    /// `mmap` of a file: bytes that are mapped, which need not be read.
    Map = 22 => "map",
    /// Reads handed to the kernel or to threads of the C library: `aio_read`, `lio_listio`, io_uring.
    SubmitRead = 23 => "submit read",
    /// Writes handed over like that.
    SubmitWrite = 24 => "submit write",
    /// Independent reads of MPI-IO that return when they are done.
    MpiRead = 25 => "MPI read",
    /// Independent writes of MPI-IO that return when they are done.
    MpiWrite = 26 => "MPI write",
    /// Collective reads of MPI-IO that return when they are done.
    MpiReadAll = 27 => "MPI collective read",
    /// Collective writes of MPI-IO that return when they are done.
    MpiWriteAll = 28 => "MPI collective write",
    /// `MPI_File_iread` and its like, independent.
    MpiReadNonBlocking = 29 => "MPI non-blocking read",
    /// `MPI_File_iwrite` and its like, independent.
    MpiWriteNonBlocking = 30 => "MPI non-blocking write",
    /// `MPI_File_iread_all`, `MPI_File_iread_at_all`.
    MpiReadAllNonBlocking = 31 => "MPI non-blocking collective read",
    /// `MPI_File_iwrite_all`, `MPI_File_iwrite_at_all`.
    MpiWriteAllNonBlocking = 32 => "MPI non-blocking collective write",
    /// `MPI_File_read_all_begin` and its like.
    MpiReadSplit = 33 => "MPI split collective read",
    /// `MPI_File_write_all_begin` and its like.
    MpiWriteSplit = 34 => "MPI split collective write",
    /// Reads of all classes but MPI-IO from what is not on storage. Files have these calls by their own classes.
    ElsewhereRead = 35 => "elsewhere read",
    /// Such writes.
    ElsewhereWrite = 36 => "elsewhere write",
    /// All other calls on what is not on storage.
    ElsewhereOther = 37 => "elsewhere other",
}

/// There may be so many.
pub const OPERATIONS: usize = 40;
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
            ElsewhereOther, ElsewhereRead, ElsewhereWrite, Map, MpiFile, MpiReadSplit, Open, StreamRead, SubmitWrite,
        };
        for (operation, elsewhere) in [
            (StreamRead, ElsewhereRead),
            (SubmitWrite, ElsewhereWrite),
            (Open, ElsewhereOther),
            (Map, ElsewhereOther),
            (MpiFile, MpiFile),
            (MpiReadSplit, MpiReadSplit),
        ] {
            assert_eq!((operation.elsewhere(), elsewhere.elsewhere()), (elsewhere, elsewhere));
        }
    }
}
