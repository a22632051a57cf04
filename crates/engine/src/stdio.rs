//! Standard error and standard output, neither of which may end the engine: a disk may be full, a reader may have gone.
//!
//! There `eprintln!` and `println!` panic, which would end a measurement with exit code 101 and without a word.

use std::io::{self, Write};

use ioassay_protocol::events::Failure;

use crate::failure;

/// Writes a line to standard error. One that cannot be written is lost: there is nowhere left to say so.
#[macro_export]
macro_rules! say {
    ($($text:tt)+) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($text)+)));
    }};
}
pub use say;

/// Prints `text` on standard output, at once. A reader that has gone (`| head`) has what it wanted.
///
/// # Errors
/// If it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Turns the result of writing to standard output into the one of [`print`].
///
/// # Errors
/// As for [`print`].
pub fn printed(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let remedy = "free space where it is written, or redirect it, and run again".to_owned();
            Err(Failure { path: None, remedy, ..failure::on_path("write", "standard output".as_ref(), &error) })
        }
        _ => Ok(()),
    }
}
