//! `plugins/storage/ioassay_storage.h` in Rust: the same structures, field by field, and the same numbers.
//!
//! What each means stands there. A test compares sizes, places and numbers with what a C compiler makes of the header.
//! Not here: calling anything.

use std::ffi::{c_char, c_int, c_void};

/// The version of the header.
pub(super) const ABI: u32 = 1;

/// The function that a plug-in must have.
pub(super) const ENTRY: &std::ffi::CStr = c"ioassay_storage_api";

pub(super) const FILES: u64 = 1 << 0;
pub(super) const SHARED_FILES: u64 = 1 << 1;
pub(super) const REWRITES: u64 = 1 << 2;
pub(super) const SYNC: u64 = 1 << 3;
pub(super) const SIZES: u64 = 1 << 4;
pub(super) const NAMES: u64 = 1 << 5;
pub(super) const RENAME: u64 = 1 << 6;
pub(super) const NEEDS_MPI: u64 = 1 << 7;
pub(super) const COLLECTIVE_FILES: u64 = 1 << 8;
pub(super) const COLLECTIVE_TRANSFERS: u64 = 1 << 9;
/// Every capability that there is.
pub(super) const KNOWN: u64 = (1 << 10) - 1;

pub(super) const WRITE: u32 = 1;
pub(super) const READ: u32 = 2;
pub(super) const READ_WRITE: u32 = 3;

pub(super) const SIZE_AS_IT_IS: u32 = 0;
pub(super) const SIZE_EMPTY: u32 = 1;
pub(super) const SIZE_FULL: u32 = 2;
pub(super) const SIZE_PREALLOCATED: u32 = 3;

pub(super) const TEXT: u32 = 1;
pub(super) const FLAG: u32 = 2;
pub(super) const COUNT: u32 = 3;
pub(super) const BYTES: u32 = 4;
pub(super) const MAP: u32 = 5;

/// Bytes of an option of the first headers, which do not say so: no header has smaller ones.
pub(super) const FIRST_OPTION_BYTES: usize = 32;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Described {
    pub name: *const c_char,
    pub standard: *const c_char,
    pub meaning: *const c_char,
    pub kind: u32,
    pub reserved: u32,
}

#[repr(C)]
pub(super) struct Value {
    pub key: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
pub(super) struct Setup {
    pub struct_bytes: u32,
    pub values: u32,
    pub value: *const Value,
    pub target: *const c_char,
    pub message: *mut c_char,
    pub message_bytes: u64,
    pub rank: u32,
    pub ranks: u32,
    pub first_member: u32,
    pub members: u32,
    pub mpi_communicator: i32,
    pub part: u32,
    pub sharers: u32,
    pub file_group: u32,
    pub shared: u32,
    pub reserved: u32,
    pub transfer_bytes: u64,
    pub block_bytes: u64,
    pub segments: u64,
    pub offset_bytes: u64,
}

#[repr(C)]
pub(super) struct Opening {
    pub struct_bytes: u32,
    pub access: u32,
    pub bytes: u64,
    pub size_at_open: u32,
    pub reserved: u32,
}

pub(super) type WriteAt = unsafe extern "C" fn(*mut c_void, *const c_void, u64, u64) -> i64;
pub(super) type ReadAt = unsafe extern "C" fn(*mut c_void, *mut c_void, u64, u64) -> i64;
type WriteFile = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, u64, c_int) -> c_int;
type OfFile = unsafe extern "C" fn(*mut c_void) -> c_int;
type OfPath = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;

/// What stands at the same place in every version.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub abi_version: u32,
    pub struct_bytes: u32,
    pub name: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Api {
    pub head: Head,
    pub about: *const c_char,
    pub capabilities: u64,
    pub options: *const Described,
    pub configure: Option<unsafe extern "C" fn(*const Setup, *mut u64) -> c_int>,
    pub connect: Option<unsafe extern "C" fn(*const Setup, *mut *mut c_void) -> c_int>,
    pub disconnect: Option<unsafe extern "C" fn(*mut c_void)>,
    pub open: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const Opening, *mut *mut c_void) -> c_int>,
    pub write_at: Option<WriteAt>,
    pub read_at: Option<ReadAt>,
    pub sync: Option<OfFile>,
    pub check_linked: Option<OfFile>,
    pub close: Option<OfFile>,
    pub make_directory: Option<OfPath>,
    pub remove_directory: Option<OfPath>,
    pub create_file:
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_void, u64, c_int) -> c_int>,
    pub write_file: Option<WriteFile>,
    pub read_file: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_void, u64) -> i64>,
    pub stat: Option<OfPath>,
    pub remove_file: Option<OfPath>,
    pub rename: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> c_int>,
    pub option_bytes: u64,
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::compiled::{Cache, Source};
    use crate::storage::plugin::sources::HEADER;

    /// Each line is an expression of C and what it is in Rust.
    macro_rules! same {
        ($($c:expr => $rust:expr,)*) => {
            [$(($c, $rust as u64)),*]
        };
    }

    #[test]
    fn a_c_compiler_makes_the_same_of_the_header() {
        let same = same! {
            "IOASSAY_STORAGE_ABI" => ABI,
            "IOASSAY_FILES" => FILES,
            "IOASSAY_SHARED_FILES" => SHARED_FILES,
            "IOASSAY_REWRITES" => REWRITES,
            "IOASSAY_SYNC" => SYNC,
            "IOASSAY_SIZES" => SIZES,
            "IOASSAY_NAMES" => NAMES,
            "IOASSAY_RENAME" => RENAME,
            "IOASSAY_NEEDS_MPI" => NEEDS_MPI,
            "IOASSAY_COLLECTIVE_FILES" => COLLECTIVE_FILES,
            "IOASSAY_COLLECTIVE_TRANSFERS" => COLLECTIVE_TRANSFERS,
            "IOASSAY_WRITE" => WRITE,
            "IOASSAY_READ" => READ,
            "IOASSAY_READ_WRITE" => READ_WRITE,
            "IOASSAY_SIZE_AS_IT_IS" => SIZE_AS_IT_IS,
            "IOASSAY_SIZE_EMPTY" => SIZE_EMPTY,
            "IOASSAY_SIZE_FULL" => SIZE_FULL,
            "IOASSAY_SIZE_PREALLOCATED" => SIZE_PREALLOCATED,
            "IOASSAY_TEXT" => TEXT,
            "IOASSAY_FLAG" => FLAG,
            "IOASSAY_COUNT" => COUNT,
            "IOASSAY_BYTES" => BYTES,
            "IOASSAY_MAP" => MAP,
            "sizeof(struct ioassay_option)" => size_of::<Described>(),
            "offsetof(struct ioassay_option, kind)" => offset_of!(Described, kind),
            "offsetof(struct ioassay_option, reserved) + sizeof(uint32_t)" => FIRST_OPTION_BYTES,
            "sizeof(struct ioassay_value)" => size_of::<Value>(),
            "sizeof(struct ioassay_setup)" => size_of::<Setup>(),
            "offsetof(struct ioassay_setup, value)" => offset_of!(Setup, value),
            "offsetof(struct ioassay_setup, message_bytes)" => offset_of!(Setup, message_bytes),
            "offsetof(struct ioassay_setup, rank)" => offset_of!(Setup, rank),
            "offsetof(struct ioassay_setup, members)" => offset_of!(Setup, members),
            "offsetof(struct ioassay_setup, mpi_communicator)" => offset_of!(Setup, mpi_communicator),
            "offsetof(struct ioassay_setup, part)" => offset_of!(Setup, part),
            "offsetof(struct ioassay_setup, file_group)" => offset_of!(Setup, file_group),
            "offsetof(struct ioassay_setup, shared)" => offset_of!(Setup, shared),
            "offsetof(struct ioassay_setup, transfer_bytes)" => offset_of!(Setup, transfer_bytes),
            "offsetof(struct ioassay_setup, offset_bytes)" => offset_of!(Setup, offset_bytes),
            "sizeof(struct ioassay_opening)" => size_of::<Opening>(),
            "offsetof(struct ioassay_opening, bytes)" => offset_of!(Opening, bytes),
            "offsetof(struct ioassay_opening, size_at_open)" => offset_of!(Opening, size_at_open),
            "sizeof(struct ioassay_storage)" => size_of::<Api>(),
            "offsetof(struct ioassay_storage, name)" => offset_of!(Head, name),
            "offsetof(struct ioassay_storage, about)" => offset_of!(Api, about),
            "offsetof(struct ioassay_storage, capabilities)" => offset_of!(Api, capabilities),
            "offsetof(struct ioassay_storage, configure)" => offset_of!(Api, configure),
            "offsetof(struct ioassay_storage, connect)" => offset_of!(Api, connect),
            "offsetof(struct ioassay_storage, disconnect)" => offset_of!(Api, disconnect),
            "offsetof(struct ioassay_storage, open)" => offset_of!(Api, open),
            "offsetof(struct ioassay_storage, write_at)" => offset_of!(Api, write_at),
            "offsetof(struct ioassay_storage, read_at)" => offset_of!(Api, read_at),
            "offsetof(struct ioassay_storage, sync)" => offset_of!(Api, sync),
            "offsetof(struct ioassay_storage, check_linked)" => offset_of!(Api, check_linked),
            "offsetof(struct ioassay_storage, close)" => offset_of!(Api, close),
            "offsetof(struct ioassay_storage, make_directory)" => offset_of!(Api, make_directory),
            "offsetof(struct ioassay_storage, remove_directory)" => offset_of!(Api, remove_directory),
            "offsetof(struct ioassay_storage, create_file)" => offset_of!(Api, create_file),
            "offsetof(struct ioassay_storage, write_file)" => offset_of!(Api, write_file),
            "offsetof(struct ioassay_storage, read_file)" => offset_of!(Api, read_file),
            "offsetof(struct ioassay_storage, stat)" => offset_of!(Api, stat),
            "offsetof(struct ioassay_storage, remove_file)" => offset_of!(Api, remove_file),
            "offsetof(struct ioassay_storage, rename)" => offset_of!(Api, rename),
            "offsetof(struct ioassay_storage, option_bytes)" => offset_of!(Api, option_bytes),
        };
        let numbers: String = same.iter().map(|(c, _)| format!("(uint64_t)({c}),\n")).collect();
        let text = format!("#include \"ioassay_storage.h\"\nconst uint64_t numbers[] = {{\n{numbers}}};\n");
        let directory = tempfile::tempdir().unwrap();
        let strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
        let files = [("numbers.c", text.as_str()), HEADER];
        let source = Source { name: "numbers", files: &files, compiler: "cc", arguments: &strict, remedy: "" };
        let library = source.build(&Cache::in_directory(directory.path().to_owned())).unwrap();
        // SAFETY: the library was built of the text above: as many numbers as there are lines.
        let values = unsafe {
            let library = libloading::Library::new(library).unwrap();
            let numbers = library.get::<*const u64>(c"numbers").unwrap();
            std::slice::from_raw_parts(*numbers, same.len()).to_vec()
        };
        for ((c, rust), values) in same.into_iter().zip(values) {
            assert_eq!(values, rust, "{c}");
        }
    }

    #[test]
    fn the_header_is_one_of_cpp_too() {
        let directory = tempfile::tempdir().unwrap();
        let text = "#include \"ioassay_storage.h\"\nint nothing() { return 0; }\n";
        let strict = ["-Wall", "-Wextra", "-Werror"];
        let files = [("header.cpp", text), HEADER];
        let source = Source { name: "header", files: &files, compiler: "c++", arguments: &strict, remedy: "" };
        source.build(&Cache::in_directory(directory.path().to_owned())).unwrap();
    }
}
