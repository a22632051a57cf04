//! Every call of this process, where that is asked for: each thread writes chunks of its own into one file.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ioassay_record::table::{Thread, VERSION};
use ioassay_record::trace::{CHUNK_MAGIC, Chunk, Traced, write};

use crate::process::system_calls_allowed;
use crate::text::Buffer;
use crate::thread_words::ThreadWords;
use crate::{process, sys, table};

/// Calls are traced.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The file.
static FILE: Buffer<600> = Buffer::new();
/// Where its next chunk begins.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The first chunk of a thread, which is all that most need, and the others.
const FIRST_BYTES: usize = 8 << 10;
const BYTES: usize = 64 << 10;

/// Begins the trace of a process, if that is wanted: `file` is to be its file. What was the parent's is given up.
pub fn begin(is_wanted: bool, file: &[&[u8]], words: &ThreadWords) {
    give_up(words);
    NEXT.store(0, Relaxed);
    ASKED.store(is_wanted && FILE.set(file), Relaxed);
}

/// Whether calls are traced.
#[inline(always)]
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// Adds a call of the calling thread.
pub fn add(words: &ThreadWords, thread: &Thread, traced: &Traced, block_bytes: u32) {
    let chunk = words.chunk.load(Relaxed);
    if chunk != 0 && add_to(chunk, traced, block_bytes) {
        return;
    }
    give_up(words);
    let bytes = if chunk == 0 { FIRST_BYTES } else { BYTES };
    match process::without_signals(|| new_chunk(thread, bytes, traced.begin)) {
        Some(chunk) if add_to(chunk, traced, block_bytes) => {
            words.chunk_kib.store((bytes >> 10) as u16, Relaxed);
            words.chunk.store(chunk, Relaxed);
        }
        _ => {
            table::header().untraced_calls.fetch_add(1, Relaxed);
        }
    }
}

fn add_to(chunk: usize, traced: &Traced, block_bytes: u32) -> bool {
    // SAFETY: it is mapped, this thread's alone, and as long as it says.
    let bytes = unsafe {
        let capacity = (*(chunk as *const Chunk)).capacity_bytes as usize;
        core::slice::from_raw_parts_mut(chunk as *mut u8, capacity)
    };
    write(bytes, traced, block_bytes)
}

/// Of the thread's chunk.
fn chunk_bytes(words: &ThreadWords) -> usize {
    usize::from(words.chunk_kib.load(Relaxed)) << 10
}

/// Where the thread's chunk is in memory; nowhere where it has none.
pub fn mapped(words: &ThreadWords) -> core::ops::Range<usize> {
    let chunk = words.chunk.load(Relaxed);
    chunk..if chunk == 0 { 0 } else { chunk + chunk_bytes(words) }
}

/// Unmaps the thread's chunk: it is full, its thread ends, or it is that of a parent.
pub fn give_up(words: &ThreadWords) {
    let chunk = words.chunk.swap(0, Relaxed);
    if chunk != 0 {
        sys::unmap(chunk, chunk_bytes(words));
    }
}

/// In a child of the thread that was forked while it was busy: what is written from now on must not reach its parent's trace.
pub fn detach(words: &ThreadWords) {
    let chunk = words.chunk.load(Relaxed);
    if chunk != 0 {
        // SAFETY: it was mapped here, with so many bytes.
        unsafe { table::replace_by_copy(chunk, chunk_bytes(words)) };
    }
}

/// Maps a new chunk of the file. Nothing where that fails.
#[cold]
fn new_chunk(thread: &Thread, bytes: usize, begin_ticks: u64) -> Option<usize> {
    let begin = NEXT.fetch_add(bytes as u64, Relaxed);
    if !system_calls_allowed() || begin + bytes as u64 > sys::limit(libc::RLIMIT_FSIZE) {
        return None;
    }
    let file = sys::open(FILE.as_c_str(), libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW, 0o600);
    if file < 0 {
        return None;
    }
    let written = table::write_zeros(file, begin as usize, bytes);
    // SAFETY: it replaces nothing.
    let address = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        sys::map(0, bytes, protection, libc::MAP_SHARED, file, begin as usize)
    };
    sys::close(file);
    if address < 0 {
        return None;
    }
    if !written {
        // SAFETY: it was mapped just now.
        unsafe { sys::call(libc::SYS_munmap, [address as usize, bytes, 0, 0, 0, 0]) };
        return None;
    }
    // SAFETY: all zero, which is a valid chunk, and nobody else's.
    let chunk = unsafe { &mut *(address as *mut Chunk) };
    chunk.version = VERSION;
    chunk.capacity_bytes = bytes as u32;
    *chunk.used_bytes.get_mut() = size_of::<Chunk>() as u32;
    chunk.process = process::number();
    chunk.table_begin_ticks = table::header().begin_ticks;
    chunk.thread = table::place(thread);
    chunk.begin_ticks = begin_ticks;
    chunk.state[0] = begin_ticks;
    chunk.magic = CHUNK_MAGIC;
    Some(address as usize)
}
