//! MPI-IO, whatever MPI it is.
//!
//! Handles are integers in some and pointers in others, and come in the same registers: they are passed on as words,
//! whose upper half may mean nothing. A file is always a pointer. What the MPI library itself reads and writes is
//! counted as well, as what it is.
//!
//! Each function is hooked by both of its names. Those of Fortran call `PMPI_…` in Open MPI, and so do libraries of
//! tools, from within their `MPI_…`: a call within another counts once.
//!
//! A non-blocking or split transfer counts when it begins, with all of its bytes.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
    Ordering::Release,
};

use ioassay_record::operation::Operation::{
    self, MpiFile, MpiRead, MpiReadAll, MpiReadAllNonBlocking, MpiReadNonBlocking, MpiReadSplit, MpiWrite, MpiWriteAll,
    MpiWriteAllNonBlocking, MpiWriteNonBlocking, MpiWriteSplit,
};

use super::{errno, hook, set_errno};
use crate::call::{self, Call, Outcome};
use crate::files::{self, Base};
use crate::real::Real;
use crate::table;

/// A handle, a request, or where a status is written to.
type Word = usize;
/// `MPI_Offset`, and `MPI_Count`.
type Long = i64;

const SUCCESS: c_int = 0;

/// A file that is open.
struct Entry {
    /// Its handle; 0 if the entry was never used, 1 if it is free again.
    handle: AtomicUsize,
    /// Place of its row.
    file: AtomicU32,
    /// It has a view, so that offsets are not in bytes.
    viewed: AtomicBool,
    /// When the table began that `file` is a place of.
    table: AtomicU64,
}

const NEVER: usize = 0;
const FREE: usize = 1;
/// Files that are known at the same time. Others are counted without their names.
const MOST: usize = 256;
static FILES: [Entry; MOST] = [const {
    Entry {
        handle: AtomicUsize::new(NEVER),
        file: AtomicU32::new(0),
        viewed: AtomicBool::new(false),
        table: AtomicU64::new(0),
    }
}; MOST];

/// Entries in which a handle may be, likely ones first.
fn entries(handle: Word) -> impl Iterator<Item = &'static Entry> {
    let begin = handle / 16 % MOST;
    FILES[begin..].iter().chain(&FILES[..begin])
}

fn known(handle: Word) -> Option<&'static Entry> {
    entries(handle)
        .take_while(|entry| entry.handle.load(Acquire) != NEVER)
        .find(|entry| entry.handle.load(Relaxed) == handle)
        .filter(|entry| entry.table.load(Relaxed) == table::header().begin_ticks)
}

fn remember(handle: Word, file: u32) {
    if handle <= FREE {
        return;
    }
    forget(handle);
    // Taken before it is filled: no call uses a handle before `MPI_File_open` has returned it.
    let taken = entries(handle).find(|entry| {
        [NEVER, FREE].iter().any(|&free| entry.handle.compare_exchange(free, handle, AcqRel, Relaxed).is_ok())
    });
    if let Some(entry) = taken {
        entry.file.store(file, Relaxed);
        entry.viewed.store(false, Relaxed);
        entry.table.store(table::header().begin_ticks, Release);
    }
}

fn forget(handle: Word) {
    for entry in entries(handle).take_while(|entry| entry.handle.load(Relaxed) != NEVER) {
        let _ = entry.handle.compare_exchange(handle, FREE, AcqRel, Relaxed);
    }
}

/// Whether the calling thread is in a call of MPI-IO already.
fn within_another() -> bool {
    call::outer().is_some_and(Operation::is_mpi)
}

#[inline(never)]
fn begin(operation: Operation, handle: Word) -> Option<(Call, Option<&'static Entry>)> {
    if within_another() {
        return None;
    }
    let entry = call::update(|| known(handle))?;
    let file = entry.map_or_else(files::others, |entry| entry.file.load(Relaxed));
    Some((call::on_file(operation, file)?, entry))
}

/// A transfer of so many elements of a type.
struct Elements {
    count: Long,
    datatype: Word,
    /// Nothing where a file pointer is.
    offset: Option<Long>,
}

#[inline(never)]
fn end(call: Call, entry: Option<&'static Entry>, result: c_int, elements: &Elements) {
    if result != SUCCESS {
        call::end(call, Outcome::Failed(libc::EIO));
        return;
    }
    // Not before: of what is no type, only the transfer itself may say that.
    let bytes = (elements.count.max(0) as u64).saturating_mul(size(elements.datatype));
    let viewed = entry.is_none_or(|entry| entry.viewed.load(Relaxed));
    let offset = elements.offset.filter(|_| !viewed).map(|offset| offset as u64);
    let block_bytes = files::alignment(files::row(call.file));
    call::end(call, Outcome::Moved { bytes, offset, block_bytes });
}

/// Bytes of an element; 0 where they are more than an `int` can say.
fn size(datatype: Word) -> u64 {
    static SIZE: Real = Real::new();
    let address = SIZE.address(c"PMPI_Type_size");
    if address == 0 {
        return 0;
    }
    let (before, mut size) = (errno(), 0);
    // SAFETY: the function of that name, and a type that was just used.
    let result = unsafe {
        let ask: unsafe extern "C" fn(Word, *mut c_int) -> c_int = core::mem::transmute(address);
        ask(datatype, &raw mut size)
    };
    set_errno(before);
    if result == SUCCESS { u64::try_from(size).unwrap_or(0) } else { 0 }
}

#[inline(always)]
fn transfer(operation: Operation, handle: Word, elements: Elements, real: impl FnOnce() -> c_int) -> c_int {
    let call = begin(operation, handle);
    let result = real();
    if let Some((call, entry)) = call {
        end(call, entry, result, &elements);
    }
    result
}

/// Something else that is done with a file.
#[inline(always)]
fn with_file(handle: Word, real: impl FnOnce() -> c_int) -> c_int {
    let call = begin(MpiFile, handle);
    let result = real();
    if let Some((call, _)) = call {
        was_done(call, result);
    }
    result
}

fn was_done(call: Call, result: c_int) {
    call::end(call, if result == SUCCESS { Outcome::Done } else { Outcome::Failed(libc::EIO) });
}

/// # Safety
/// The path ends with a zero byte.
#[inline(always)]
unsafe fn on_path(path: *const c_char, real: impl FnOnce() -> c_int) -> (Option<u32>, c_int) {
    let call = if within_another() {
        None
    } else {
        // SAFETY: the caller's.
        unsafe { call::on_path(MpiFile, Base::WorkingDirectory, without_kind(path)) }
    };
    let result = real();
    if let Some(call) = call {
        was_done(call, result);
    }
    (call.filter(|_| result == SUCCESS).map(|call| call.file), result)
}

/// # Safety
/// The path ends with a zero byte, and the handle is written to where the file is opened.
#[inline(always)]
unsafe fn open(path: *const c_char, handle: *const Word, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's.
    let (file, result) = unsafe { on_path(path, real) };
    if let Some(file) = file {
        // SAFETY: it was opened.
        let handle = unsafe { *handle };
        call::update(|| remember(handle, file));
    }
    result
}

/// # Safety
/// It is the handle of a file.
#[inline(always)]
unsafe fn close(handle: *const Word, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's; the real function writes over it.
    let word = unsafe { *handle };
    // The call first, which wants the row; then it is forgotten, before another file may have the handle.
    let call = begin(MpiFile, word);
    call::update(|| forget(word));
    let result = real();
    if let Some((call, _)) = call {
        was_done(call, result);
    }
    result
}

#[inline(always)]
fn set_view(handle: Word, real: impl FnOnce() -> c_int) -> c_int {
    let result = with_file(handle, real);
    if result == SUCCESS
        && let Some(entry) = call::update(|| known(handle)).flatten()
    {
        entry.viewed.store(true, Relaxed);
    }
    result
}

/// A path without the kind of file system that some put before it: `ufs:/scratch/file`.
///
/// # Safety
/// The path is null or ends with a zero byte.
unsafe fn without_kind(path: *const c_char) -> *const c_char {
    if path.is_null() {
        return path;
    }
    // SAFETY: the caller's, and no byte behind a zero one is read.
    unsafe {
        let letters = (0..).take_while(|&letter| (*path.add(letter) as u8).is_ascii_alphanumeric()).count();
        if letters > 1 && *path.add(letters) as u8 == b':' { path.add(letters + 1) } else { path }
    }
}

hook! {
    fn MPI_File_open | PMPI_File_open(
        communicator: Word, path: *const c_char, mode: c_int, info: Word, handle: *mut Word,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { open(path, handle, real) }
    }
    fn MPI_File_close | PMPI_File_close(handle: *mut Word) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { close(handle, real) }
    }
    fn MPI_File_delete | PMPI_File_delete(path: *const c_char, info: Word) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { on_path(path, real).1 }
    }
    fn MPI_File_sync | PMPI_File_sync(handle: Word) -> c_int |real| { with_file(handle, real) }
    fn MPI_File_set_view | PMPI_File_set_view(
        handle: Word, begin: Long, element: Word, datatype: Word, how: *const c_char, info: Word,
    ) -> c_int |real| {
        set_view(handle, real)
    }
    fn MPI_File_set_size | PMPI_File_set_size | MPI_File_preallocate | PMPI_File_preallocate(
        handle: Word, size: Long,
    ) -> c_int |real| {
        with_file(handle, real)
    }
    fn MPI_File_seek | PMPI_File_seek | MPI_File_seek_shared | PMPI_File_seek_shared(
        handle: Word, offset: Long, whence: c_int,
    ) -> c_int |real| {
        with_file(handle, real)
    }
}

/// Hooks of both names of transfers, and both of those with a large count. Some have an offset before the buffer. After the
/// type there is a status or a request; split ones have nothing there, and what is in its register is passed on unused.
macro_rules! transfers {
    ($($form:ident $operation:ident: $name:ident $second:ident $large:ident $second_large:ident;)+) => {$(
        transfers!(@$form $operation $name $second c_int);
        transfers!(@$form $operation $large $second_large Long);
    )+};
    (@here $operation:ident $name:ident $second:ident $count:ty) => {
        hook! { fn $name | $second(
            handle: Word, buffer: Word, count: $count, datatype: Word, outcome: Word,
        ) -> c_int |real| {
            transfer($operation, handle, Elements { count: count as Long, datatype, offset: None }, real)
        } }
    };
    (@explicit $operation:ident $name:ident $second:ident $count:ty) => {
        hook! { fn $name | $second(
            handle: Word, offset: Long, buffer: Word, count: $count, datatype: Word, outcome: Word,
        ) -> c_int |real| {
            transfer($operation, handle, Elements { count: count as Long, datatype, offset: Some(offset) }, real)
        } }
    };
}

transfers! {
    here MpiRead: MPI_File_read PMPI_File_read MPI_File_read_c PMPI_File_read_c;
    explicit MpiRead: MPI_File_read_at PMPI_File_read_at MPI_File_read_at_c PMPI_File_read_at_c;
    here MpiRead: MPI_File_read_shared PMPI_File_read_shared MPI_File_read_shared_c PMPI_File_read_shared_c;
    here MpiReadNonBlocking: MPI_File_iread PMPI_File_iread MPI_File_iread_c PMPI_File_iread_c;
    explicit MpiReadNonBlocking: MPI_File_iread_at PMPI_File_iread_at MPI_File_iread_at_c PMPI_File_iread_at_c;
    here MpiReadNonBlocking: MPI_File_iread_shared PMPI_File_iread_shared
        MPI_File_iread_shared_c PMPI_File_iread_shared_c;
    here MpiReadAll: MPI_File_read_all PMPI_File_read_all MPI_File_read_all_c PMPI_File_read_all_c;
    explicit MpiReadAll: MPI_File_read_at_all PMPI_File_read_at_all MPI_File_read_at_all_c PMPI_File_read_at_all_c;
    here MpiReadAll: MPI_File_read_ordered PMPI_File_read_ordered MPI_File_read_ordered_c PMPI_File_read_ordered_c;
    here MpiReadAllNonBlocking: MPI_File_iread_all PMPI_File_iread_all MPI_File_iread_all_c PMPI_File_iread_all_c;
    explicit MpiReadAllNonBlocking: MPI_File_iread_at_all PMPI_File_iread_at_all
        MPI_File_iread_at_all_c PMPI_File_iread_at_all_c;
    here MpiReadSplit: MPI_File_read_all_begin PMPI_File_read_all_begin
        MPI_File_read_all_begin_c PMPI_File_read_all_begin_c;
    explicit MpiReadSplit: MPI_File_read_at_all_begin PMPI_File_read_at_all_begin
        MPI_File_read_at_all_begin_c PMPI_File_read_at_all_begin_c;
    here MpiReadSplit: MPI_File_read_ordered_begin PMPI_File_read_ordered_begin
        MPI_File_read_ordered_begin_c PMPI_File_read_ordered_begin_c;
    here MpiWrite: MPI_File_write PMPI_File_write MPI_File_write_c PMPI_File_write_c;
    explicit MpiWrite: MPI_File_write_at PMPI_File_write_at MPI_File_write_at_c PMPI_File_write_at_c;
    here MpiWrite: MPI_File_write_shared PMPI_File_write_shared MPI_File_write_shared_c PMPI_File_write_shared_c;
    here MpiWriteNonBlocking: MPI_File_iwrite PMPI_File_iwrite MPI_File_iwrite_c PMPI_File_iwrite_c;
    explicit MpiWriteNonBlocking: MPI_File_iwrite_at PMPI_File_iwrite_at MPI_File_iwrite_at_c PMPI_File_iwrite_at_c;
    here MpiWriteNonBlocking: MPI_File_iwrite_shared PMPI_File_iwrite_shared
        MPI_File_iwrite_shared_c PMPI_File_iwrite_shared_c;
    here MpiWriteAll: MPI_File_write_all PMPI_File_write_all MPI_File_write_all_c PMPI_File_write_all_c;
    explicit MpiWriteAll: MPI_File_write_at_all PMPI_File_write_at_all MPI_File_write_at_all_c PMPI_File_write_at_all_c;
    here MpiWriteAll: MPI_File_write_ordered PMPI_File_write_ordered MPI_File_write_ordered_c PMPI_File_write_ordered_c;
    here MpiWriteAllNonBlocking: MPI_File_iwrite_all PMPI_File_iwrite_all MPI_File_iwrite_all_c PMPI_File_iwrite_all_c;
    explicit MpiWriteAllNonBlocking: MPI_File_iwrite_at_all PMPI_File_iwrite_at_all
        MPI_File_iwrite_at_all_c PMPI_File_iwrite_at_all_c;
    here MpiWriteSplit: MPI_File_write_all_begin PMPI_File_write_all_begin
        MPI_File_write_all_begin_c PMPI_File_write_all_begin_c;
    explicit MpiWriteSplit: MPI_File_write_at_all_begin PMPI_File_write_at_all_begin
        MPI_File_write_at_all_begin_c PMPI_File_write_at_all_begin_c;
    here MpiWriteSplit: MPI_File_write_ordered_begin PMPI_File_write_ordered_begin
        MPI_File_write_ordered_begin_c PMPI_File_write_ordered_begin_c;
}
