//! The site's MPI, through a library that the site's own `mpicc` compiled (plugins/mpi/ioassay_mpi.h says what is in it).
//!
//! Not here: how the library is built ([`super::shim`]), what processes say to each other.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use libloading::os::unix::Library;
use nix::sys::signal::{SigHandler, SigSet, Signal, raise, signal};

use crate::compiled::TrustedLibrary;
use crate::failure::Explained;
use crate::ranks::nodes::wire::Wire;

/// The version of the interface that this engine speaks.
const VERSION: c_int = 1;

/// Declares the functions of the interface, and how they are found in a library.
macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of a library, which stays loaded: an MPI cannot be unloaded.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            fn find(library: &'static Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the interface declares the function so; its version is asked before any other.
                        $name: unsafe { *library.get::<unsafe extern "C" fn($($argument),*) -> $result>($symbol)? },
                    )*
                })
            }
        }
    };
}

functions! {
    version = c"ioassay_mpi_version": fn() -> c_int;
    begin = c"ioassay_mpi_begin": fn(c_int, *mut c_int, *mut c_int) -> c_int;
    library = c"ioassay_mpi_library": fn(*mut c_char, usize) -> c_int;
    error_text = c"ioassay_mpi_error_text": fn(c_int, *mut c_char, usize) -> ();
    send = c"ioassay_mpi_send": fn(c_int, *const c_void, usize, *mut *mut c_void) -> c_int;
    look = c"ioassay_mpi_look": fn(*mut c_int, *mut c_int, *mut usize) -> c_int;
    receive = c"ioassay_mpi_receive": fn(c_int, *mut c_void, usize, *mut *mut c_void) -> c_int;
    done = c"ioassay_mpi_done": fn(*mut *mut c_void, *mut c_int) -> c_int;
    communicator = c"ioassay_mpi_communicator": fn(c_int, *mut i32) -> c_int;
    end = c"ioassay_mpi_end": fn() -> c_int;
}

/// A library that is loaded. Nothing has begun.
pub struct Loaded(Functions);

impl Loaded {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// If it cannot be loaded, or is not of this version.
    pub fn load(path: &Path) -> io::Result<Self> {
        let unusable = |error: libloading::Error| build_it(error.to_string());
        let trusted = TrustedLibrary::open(path)
            .map_err(|error| if error.raw_os_error().is_some() { build_it(error.to_string()) } else { error })?;
        // SAFETY: it is what the user names as the site's MPI; loading one runs its initialisers, which MPIs have few of.
        let library = unsafe { trusted.load() }.map_err(unusable)?;
        let functions = Functions::find(Box::leak(Box::new(library))).map_err(unusable)?;
        // SAFETY: takes nothing, may be called at any time.
        let version = unsafe { (functions.version)() };
        if version != VERSION {
            let message = format!("{} has version {version}, but this engine needs {VERSION}", path.display());
            return Err(build_it(message));
        }
        Ok(Self(functions))
    }

    /// What the MPI calls itself: its first line.
    pub fn name(&self) -> String {
        let mut text: [c_char; 256] = [0; 256];
        // SAFETY: the text has this length.
        unsafe { (self.0.library)(text.as_mut_ptr(), text.len()) };
        line_of(&text)
    }

    /// Begins, as one of those that the launcher has started. With `threads` other threads of the process use the MPI too.
    pub fn begin(self, threads: bool) -> io::Result<Mpi> {
        let (mut rank, mut size) = (0, 0);
        BEGINS.store(true, Ordering::SeqCst);
        // SAFETY: a function that takes nothing and does not unwind.
        unsafe { libc::atexit(ended_by_mpi) };
        // SAFETY: both are valid for writing.
        let error = unsafe { (self.0.begin)(threads.into(), &mut rank, &mut size) };
        BEGINS.store(false, Ordering::SeqCst);
        self.0.check(error)?;
        Ok(Mpi {
            functions: self.0,
            rank: rank as u32,
            size: size as u32,
            sending: VecDeque::new(),
            coming: None,
            early: VecDeque::new(),
        })
    }
}

/// A library that cannot be used, and what to do about it.
fn build_it(what: String) -> io::Error {
    Explained { what, remedy: "build it on this site: ioassay mpi build --force".to_owned() }.into_io()
}

/// What to do where another MPI's launcher may have started the processes.
pub const OTHER_LAUNCHER: &str =
    "use the mpirun that belongs to the mpicc (ioassay mpi list), or another --mpi with srun (srun --mpi=list)";

/// MPI begins at this moment.
static BEGINS: AtomicBool = AtomicBool::new(false);

/// Some MPIs end the process where they cannot begin, and say why in words for their own developers.
extern "C" fn ended_by_mpi() {
    if BEGINS.load(Ordering::SeqCst) {
        let message = format!(
            "ioassay-engine: MPI terminated this process while starting, for the reason printed above. Another MPI's \
             launcher may have started it\n  \
             try: {OTHER_LAUNCHER}\n"
        );
        let _ = io::stderr().write_all(message.as_bytes());
        end_for_all();
    }
}

/// Ends this process by a signal. The others may wait for it in their MPI for ever: all launchers end them when one is
/// killed, and MPICH's does not when one merely ends.
pub fn end_for_all() {
    let terminate: SigSet = [Signal::SIGTERM].into_iter().collect();
    // SAFETY: no function of this process is installed or taken away.
    let by_default = unsafe { signal(Signal::SIGTERM, SigHandler::SigDfl) };
    if by_default.is_ok() && terminate.thread_unblock().is_ok() {
        let _ = raise(Signal::SIGTERM);
    }
}

impl Functions {
    fn check(&self, error: c_int) -> io::Result<()> {
        if error == 0 {
            return Ok(());
        }
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: the text has this length.
        unsafe { (self.error_text)(error, text.as_mut_ptr(), text.len()) };
        Err(io::Error::other(line_of(&text)))
    }
}

/// The first line of a text that ends with a zero.
fn line_of(text: &[c_char]) -> String {
    // SAFETY: its writer put a zero within its length, or left the initial one.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    text.to_string_lossy().lines().next().unwrap_or_default().trim().to_owned()
}

/// Something under way. The library knows its address, and so it must not be moved.
struct Transfer {
    request: *mut c_void,
    bytes: Vec<u8>,
}

/// An MPI that has begun. Its functions are called from the thread that began it.
pub struct Mpi {
    functions: Functions,
    rank: u32,
    size: u32,
    sending: VecDeque<Transfer>,
    /// A message that comes in, and from whom.
    coming: Option<(u32, Transfer)>,
    /// Messages that came before they were asked for.
    early: VecDeque<(u32, Vec<u8>)>,
}

impl Mpi {
    /// This process among all.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// A communicator of all processes in the order of `place`, as its Fortran handle. All call it, and wait for each other.
    pub fn communicator(&mut self, place: u32) -> io::Result<i32> {
        let mut handle = 0;
        // SAFETY: the handle is valid for writing.
        let error = unsafe { (self.functions.communicator)(place as c_int, &mut handle) };
        self.functions.check(error)?;
        Ok(handle)
    }

    /// Ends. All call it, and wait for each other.
    pub fn end(self) -> io::Result<()> {
        // SAFETY: nothing is under way: everything that was sent has left, and nobody sends to one who ends.
        let error = unsafe { (self.functions.end)() };
        self.functions.check(error)
    }

    /// A message of `process`, if one has arrived. Those of others are kept for later.
    pub fn receive_from(&mut self, process: u32) -> io::Result<Option<Vec<u8>>> {
        if let Some(nth) = self.early.iter().position(|(from, _)| *from == process) {
            return Ok(self.early.remove(nth).map(|(_, message)| message));
        }
        match self.receive_new()? {
            Some((from, message)) if from == process => Ok(Some(message)),
            Some(other) => {
                self.early.push_back(other);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    fn receive_new(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        if self.coming.is_none() {
            let (mut there, mut from, mut length) = (0, 0, 0);
            // SAFETY: all three are valid for writing.
            let error = unsafe { (self.functions.look)(&mut there, &mut from, &mut length) };
            self.functions.check(error)?;
            if there == 0 {
                return Ok(None);
            }
            let mut transfer = Transfer { request: std::ptr::null_mut(), bytes: vec![0; length] };
            let bytes = transfer.bytes.as_mut_ptr().cast();
            // SAFETY: as for `send`; the probed message has this length.
            let error = unsafe { (self.functions.receive)(from, bytes, length, &mut transfer.request) };
            self.functions.check(error)?;
            self.coming = Some((from as u32, transfer));
        }
        let Some((from, mut transfer)) = self.coming.take() else { return Ok(None) };
        if self.is_done(&mut transfer)? {
            return Ok(Some((from, transfer.bytes)));
        }
        self.coming = Some((from, transfer));
        Ok(None)
    }

    fn is_done(&self, transfer: &mut Transfer) -> io::Result<bool> {
        let mut done = 0;
        // SAFETY: the transfer is under way, and its bytes stay where they are until it is done.
        let error = unsafe { (self.functions.done)(&mut transfer.request, &mut done) };
        self.functions.check(error)?;
        Ok(done != 0)
    }
}

impl Wire for Mpi {
    fn send(&mut self, to: u32, message: Vec<u8>) -> io::Result<()> {
        let mut transfer = Transfer { request: std::ptr::null_mut(), bytes: message };
        let (bytes, length) = (transfer.bytes.as_ptr().cast(), transfer.bytes.len());
        // SAFETY: the bytes are on the heap and stay there until `is_done`, however the transfer itself is moved.
        let error = unsafe { (self.functions.send)(to as c_int, bytes, length, &mut transfer.request) };
        self.functions.check(error)?;
        self.sending.push_back(transfer);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        match self.early.pop_front() {
            Some(early) => Ok(Some(early)),
            None => self.receive_new(),
        }
    }

    fn has_sent_all(&mut self) -> bool {
        let mut still = VecDeque::new();
        while let Some(mut transfer) = self.sending.pop_front() {
            // One that failed is not sent by looking at it again.
            if let Ok(false) = self.is_done(&mut transfer) {
                still.push_back(transfer);
            }
        }
        self.sending = still;
        self.sending.is_empty()
    }
}

/// The wire between nodes over the wire between all processes: each node has one that speaks.
pub struct LeaderWire<W> {
    all: W,
    /// The process that speaks for each node.
    processes: Vec<u32>,
}

impl<W: Wire> LeaderWire<W> {
    /// Over `all`; `processes` speak for their nodes.
    pub fn new(all: W, processes: Vec<u32>) -> Self {
        Self { all, processes }
    }

    /// The wire between all.
    pub fn into_all(self) -> W {
        self.all
    }
}

impl<W: Wire> Wire for LeaderWire<W> {
    fn send(&mut self, to: u32, message: Vec<u8>) -> io::Result<()> {
        self.all.send(self.processes[to as usize], message)
    }

    fn receive(&mut self) -> io::Result<Option<(u32, Vec<u8>)>> {
        let Some((from, message)) = self.all.receive()? else { return Ok(None) };
        match self.processes.binary_search(&from) {
            Ok(node) => Ok(Some((node as u32, message))),
            Err(_) => Err(io::Error::other(format!("process {from} sent an unexpected message"))),
        }
    }

    fn has_sent_all(&mut self) -> bool {
        self.all.has_sent_all()
    }
}
