//! Who a process is: its command, program and directory, its node, and its place in a job.

use core::ffi::{CStr, c_char};

use ioassay_record::names::{COMMAND_BYTES, JOB_VARIABLES};
use ioassay_record::table::TextKind;

use crate::table::write_text;
use crate::text::{Buffer, Variables};
use crate::{files, sys};

/// The arguments of the process: kept, because a forked child has them too, and programs write over theirs.
static COMMAND: Buffer<{ COMMAND_BYTES + 1 }> = Buffer::new();

/// Keeps the arguments of the process, as many as fit.
///
/// # Safety
/// These are `argc` and `argv`.
pub unsafe fn keep_command(count: i32, arguments: *const *const c_char) {
    let mut rest = COMMAND_BYTES;
    for index in 0..count.max(0) as usize {
        // SAFETY: the caller's.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) }.to_bytes_with_nul();
        let fits = argument.len().min(rest);
        if fits == 0 || !COMMAND.push(&argument[..fits]) {
            break;
        }
        rest -= fits;
    }
}

/// Writes the command down.
pub fn write_command() {
    write_text(TextKind::Command, &[COMMAND.get()]);
}

/// Writes down who the process is, on the node of that name.
pub fn write(node: &[u8]) {
    write_text(TextKind::Node, &[node]);
    if !COMMAND.is_empty() {
        write_command();
    }
    files::with_scratch(|scratch| {
        if let Ok(length @ 1..) = usize::try_from(sys::read_link(c"/proc/self/exe", scratch)) {
            write_text(TextKind::Executable, &[&scratch[..length]]);
        }
    });
    files::with_directory(|directory| write_text(TextKind::Directory, &[directory]));
    let mut job: [&[u8]; JOB_VARIABLES.len()] = [b""; JOB_VARIABLES.len()];
    for variable in Variables::of_process() {
        let name = variable.split(|&byte| byte == b'=').next().unwrap_or_default();
        if let Some(index) = JOB_VARIABLES.iter().position(|known| known.as_bytes() == name) {
            // With the zero byte that ends it.
            // SAFETY: it is there.
            job[index] = unsafe { core::slice::from_raw_parts(variable.as_ptr(), variable.len() + 1) };
        }
    }
    if job.iter().any(|variable| !variable.is_empty()) {
        write_text(TextKind::Job, &job);
    }
}

/// The node's name, as `uname` says.
pub fn node_name(name: &mut [u8; 65]) -> &[u8] {
    // SAFETY: a structure of bytes, which the kernel fills.
    let names = unsafe {
        let mut names: libc::utsname = core::mem::zeroed();
        sys::call(libc::SYS_uname, [&raw mut names as usize, 0, 0, 0, 0, 0]);
        names
    };
    let length = names.nodename.iter().position(|&byte| byte == 0 || byte == b'/' as c_char).unwrap_or(0);
    for (to, from) in name.iter_mut().zip(&names.nodename[..length]) {
        *to = *from as u8;
    }
    &name[..length]
}
