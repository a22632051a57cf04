//! What the thread is in where it runs Python: function, file and line of each frame, without the interpreter's help but for
//! that of a line's number.
//!
//! A thread that is in a system call has given the interpreter's lock away. Its own frames do not change meanwhile, and
//! neither does what they refer to, so they are read where they are: no reference is counted, nothing is allocated. Where
//! fields are depends on the version: <https://github.com/python/cpython>, `Include/` of each. The first stack is read
//! through the kernel, which does not mind addresses that are none; others only after that one was as expected.

use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use ioassay_record::table::PYTHON_MINORS;

use crate::real::{SymbolKind, anywhere};
use crate::{sys, table};

/// Of a stack, the innermost.
pub const MOST_FRAMES: usize = 64;
/// Of a function's name, in bytes; the rest is cut.
const LONGEST_FUNCTION: usize = 120;
/// Of a file's name, in bytes; the beginning is cut.
const LONGEST_FILE: usize = 400;

/// Where fields are in versions from `minor` of Python 3 on, in bytes.
struct Fields {
    minor: u32,
    /// Where a thread's state refers to its frame.
    frame: usize,
    /// Where what `frame` refers to has the frame itself; nothing where that is it.
    current: Option<usize>,
    code: usize,
    previous: usize,
    instruction: Instruction,
    /// How the frame was made: some are not of Python code.
    owner: Option<usize>,
    file: usize,
    function: usize,
    /// Of a text of ASCII letters alone, and of others: where its letters are.
    letters: [usize; 2],
}

/// How a frame says where in its code it is.
#[derive(Clone, Copy)]
enum Instruction {
    /// A number of units of so many bytes.
    Number { offset: usize, bytes: i32 },
    /// An address, and where the code's own instructions begin.
    Address { offset: usize, begin: usize },
}

/// The owner of a frame in which C code calls Python.
const OWNED_BY_C: u8 = 3;

/// From the newest on. Made with `offsetof` and the headers of 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0.
const VERSIONS: [Fields; 6] = [
    Fields {
        minor: 13,
        frame: 72,
        current: None,
        code: 0,
        previous: 8,
        instruction: Instruction::Address { offset: 56, begin: 200 },
        owner: Some(70),
        file: 112,
        function: 128,
        letters: [40, 56],
    },
    Fields {
        minor: 12,
        frame: 56,
        current: Some(0),
        code: 0,
        previous: 8,
        instruction: Instruction::Address { offset: 56, begin: 192 },
        owner: Some(70),
        file: 112,
        function: 128,
        letters: [40, 56],
    },
    Fields {
        minor: 11,
        frame: 56,
        current: Some(8),
        code: 32,
        previous: 48,
        instruction: Instruction::Address { offset: 56, begin: 184 },
        owner: Some(69),
        file: 112,
        function: 128,
        letters: [48, 72],
    },
    Fields { instruction: Instruction::Number { offset: 96, bytes: 2 }, ..OLD },
    Fields { minor: 8, ..OLD },
    Fields { minor: 6, instruction: Instruction::Number { offset: 120, bytes: 1 }, file: 96, function: 104, ..OLD },
];
const OLD: Fields = Fields {
    minor: 10,
    frame: 24,
    current: None,
    code: 32,
    previous: 24,
    instruction: Instruction::Number { offset: 104, bytes: 1 },
    owner: None,
    file: 104,
    function: 112,
    letters: [48, 72],
};
/// Where a type's object has its type.
const TYPE: usize = 8;
/// Where a text has its length, and what it is of.
const LENGTH: usize = 16;
const STATE: usize = 32;

/// Of the interpreter, in the order of what is looked for.
static THREAD_STATE: AtomicUsize = AtomicUsize::new(0);
static LINE: AtomicUsize = AtomicUsize::new(0);
static CODE_TYPE: AtomicUsize = AtomicUsize::new(0);
static MINOR: AtomicUsize = AtomicUsize::new(0);
/// A stack was as expected.
static TRUSTED: AtomicBool = AtomicBool::new(false);

/// Looks for an interpreter among the libraries that are loaded now, and writes into the table which it is.
pub fn find() {
    if MINOR.load(Relaxed) == 0 {
        let version = anywhere(SymbolKind::Function, c"Py_GetVersion");
        if version == 0 {
            return;
        }
        // SAFETY: it is the function of that name: it makes a text of constants, once.
        let text = unsafe {
            let version: extern "C" fn() -> *const c_char = core::mem::transmute(version);
            CStr::from_ptr(version()).to_bytes()
        };
        let Some(minor) = minor_of(text) else { return };
        THREAD_STATE.store(anywhere(SymbolKind::Function, c"PyGILState_GetThisThreadState"), Relaxed);
        LINE.store(anywhere(SymbolKind::Function, c"PyCode_Addr2Line"), Relaxed);
        CODE_TYPE.store(anywhere(SymbolKind::Object, c"PyCode_Type"), Relaxed);
        MINOR.store(minor as usize, Relaxed);
    }
    table::header().python.store(3 << 16 | MINOR.load(Relaxed) as u32, Relaxed);
}

/// Of `3.11.7 (main, …`.
fn minor_of(version: &[u8]) -> Option<u32> {
    let mut numbers = version.split(|byte| !byte.is_ascii_digit());
    if numbers.next()? != b"3" {
        return None;
    }
    numbers.next()?.iter().try_fold(0_u32, |number, digit| number.checked_mul(10)?.checked_add((digit - b'0').into()))
}

fn fields() -> Option<&'static Fields> {
    let minor = MINOR.load(Relaxed) as u32;
    if !PYTHON_MINORS.contains(&minor) {
        return None;
    }
    VERSIONS.iter().find(|fields| fields.minor <= minor)
}

/// Where Python code is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    code: usize,
    instruction: i32,
    file: usize,
    function: usize,
}

/// The calling thread's frames, from the inside out. How many, and whether there are more.
pub fn frames(positions: &mut [Position; MOST_FRAMES]) -> (usize, bool) {
    read_frames(positions).unwrap_or((0, false))
}

fn read_frames(positions: &mut [Position; MOST_FRAMES]) -> Option<(usize, bool)> {
    let (fields, state) = (fields()?, THREAD_STATE.load(Relaxed));
    if state == 0 || LINE.load(Relaxed) == 0 || CODE_TYPE.load(Relaxed) == 0 {
        return None;
    }
    // SAFETY: it is the function of that name, which only looks up what the thread has.
    let state = unsafe {
        let state: extern "C" fn() -> usize = core::mem::transmute(state);
        state()
    };
    if state == 0 {
        return None;
    }
    let mut frame = word(state + fields.frame)?;
    if let Some(current) = fields.current
        && frame != 0
    {
        frame = word(frame + current)?;
    }
    let mut count = 0;
    while frame != 0 {
        let is_of_c = match fields.owner {
            Some(owner) => byte(frame + owner)? == OWNED_BY_C,
            None => false,
        };
        if !is_of_c {
            if count == positions.len() {
                TRUSTED.store(true, Relaxed);
                return Some((count, true));
            }
            positions[count] = position(fields, frame)?;
            count += 1;
        }
        frame = word(frame + fields.previous)?;
    }
    if count > 0 {
        TRUSTED.store(true, Relaxed);
    }
    Some((count, false))
}

fn position(fields: &Fields, frame: usize) -> Option<Position> {
    let code = word(frame + fields.code)?;
    if code == 0 || word(code + TYPE)? != CODE_TYPE.load(Relaxed) {
        return None;
    }
    let instruction = match fields.instruction {
        Instruction::Number { offset, bytes } => (word(frame + offset)? as i32).checked_mul(bytes)?,
        Instruction::Address { offset, begin } => {
            i32::try_from(word(frame + offset)?.wrapping_sub(code + begin) as isize).ok()?
        }
    };
    Some(Position { code, instruction, file: word(code + fields.file)?, function: word(code + fields.function)? })
}

impl Position {
    /// What tells it from others.
    pub fn parts(&self) -> [u64; 4] {
        [self.code, self.instruction as usize, self.file, self.function].map(|part| part as u64)
    }

    /// Its line.
    pub fn line(&self) -> u32 {
        // SAFETY: it is the function of that name; it reads the code's table of lines, which never changes.
        let line = unsafe {
            let line: extern "C" fn(usize, i32) -> i32 = core::mem::transmute(LINE.load(Relaxed));
            line(self.code, self.instruction)
        };
        line.max(0) as u32
    }

    /// The names of function and file.
    pub fn names(&self) -> (Name<LONGEST_FUNCTION>, Name<LONGEST_FILE>) {
        let (mut function, mut file) = (Name::new(), Name::new());
        if let Some(fields) = fields() {
            let _ = read_text(fields, self.function, 0, &mut function);
            let length = word(self.file + LENGTH).unwrap_or(0);
            let _ = read_text(fields, self.file, length.saturating_sub(LONGEST_FILE / 4), &mut file);
            if file.is_ascii {
                let _ = read_text(fields, self.file, length.saturating_sub(LONGEST_FILE), file.clear());
            }
        }
        (function, file)
    }
}

/// A name of at most so many bytes.
#[derive(Debug)]
pub struct Name<const N: usize> {
    bytes: [u8; N],
    length: usize,
    is_ascii: bool,
}

impl<const N: usize> Name<N> {
    fn new() -> Self {
        Self { bytes: [0; N], length: 0, is_ascii: true }
    }

    fn clear(&mut self) -> &mut Self {
        self.length = 0;
        self
    }

    /// The name.
    pub fn get(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Whether there was room.
    fn push(&mut self, letter: char) -> bool {
        let mut bytes = [0; 4];
        let bytes = letter.encode_utf8(&mut bytes).as_bytes();
        let has_room = self.length + bytes.len() <= N;
        if has_room {
            self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
            self.length += bytes.len();
            self.is_ascii &= bytes.len() == 1;
        }
        has_room
    }
}

/// Reads a text from its letter `begin` on, as far as there is room. Nothing where it is not as expected.
fn read_text<const N: usize>(fields: &Fields, text: usize, begin: usize, name: &mut Name<N>) -> Option<()> {
    let (length, state) = (word(text + LENGTH)?, word(text + STATE)? as u32);
    let (kind, is_compact, is_ascii) = ((state >> 2 & 7) as usize, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !is_compact || ![1, 2, 4].contains(&kind) {
        return None;
    }
    let letters = text + fields.letters[usize::from(!is_ascii)];
    for index in begin..length {
        let address = letters + index * kind;
        let word = word(address & !7)?.to_le_bytes();
        let letter = word[address % 8..][..kind].iter().rev().fold(0, |letter, &byte| letter << 8 | u32::from(byte));
        if !name.push(char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER)) {
            break;
        }
    }
    Some(())
}

fn byte(address: usize) -> Option<u8> {
    Some(word(address & !7)?.to_le_bytes()[address % 8])
}

/// The word there, whose address is a multiple of 8 in what is sound.
fn word(address: usize) -> Option<usize> {
    if !address.is_multiple_of(8) || address == 0 {
        return None;
    }
    if TRUSTED.load(Relaxed) {
        // SAFETY: it is a field of what the interpreter has; a stack has been read so before.
        return Some(unsafe { (address as *const usize).read_volatile() });
    }
    let mut bytes = [0; size_of::<usize>()];
    sys::read_own(address, &mut bytes).then(|| usize::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_the_interpreter_says_of_itself() {
        assert_eq!(minor_of(b"3.11.7 (main, Jan  1 2024) [GCC]"), Some(11));
        assert_eq!(minor_of(b"3.6.15"), Some(6));
        assert_eq!(minor_of(b"2.7.18"), None);
        assert_eq!(minor_of(b""), None);
    }

    #[test]
    fn a_name_is_cut_between_letters() {
        let mut name = Name::<3>::new();
        assert!(name.push('\u{e9}'));
        assert!(!name.push('\u{e9}'));
        assert!(name.push('x'));
        assert_eq!(name.get(), "\u{e9}x".as_bytes());
    }
}
