//! Calls and files: which file a call is on, and what it does to descriptors and the working directory.

use std::cell::RefCell;
use std::rc::Rc;

use super::calls::{Call, Flags};
use super::table::{Name, Outcome};
use super::tracee::{self, Description, Descriptors, Pending, Tracee};

/// Finds out which file a call is on. False where the call is not to be counted: closing what is not open.
pub fn find_file(thread: i32, tracee: &mut Tracee, pending: &mut Pending) -> bool {
    let arguments = pending.arguments;
    let argument = |place: usize| arguments[place];
    let descriptor = |place: usize| argument(place) as i32;
    let place = match pending.call {
        Call::AtPosition(_) | Call::AtOffset(_) | Call::OnDescriptor(_) | Call::Seek => Some(0),
        Call::Control if pending.operation.is_some() => Some(0),
        Call::Map => Some(4),
        Call::Copy(from, _) => Some(from.0),
        _ => None,
    };
    if let Some(place) = place {
        pending.description = tracee.descriptors.borrow_mut().get(thread, descriptor(place));
        return true;
    }
    match pending.call {
        Call::Close => {
            let mut descriptors = tracee.descriptors.borrow_mut();
            pending.description = descriptors.get(thread, descriptor(0));
            // Before it is closed: afterwards another thread may have it again.
            descriptors.forget(descriptor(0));
            pending.description.is_some()
        }
        Call::CloseRange => {
            let (first, last, flags) = (argument(0) as u32, argument(1) as u32, argument(2));
            if flags & u64::from(libc::CLOSE_RANGE_UNSHARE) != 0 {
                let copied = tracee.descriptors.borrow().clone();
                tracee.descriptors = Rc::new(RefCell::new(copied));
            }
            if pending.operation.is_some() {
                tracee.descriptors.borrow_mut().forget_range(first, last);
            }
            true
        }
        Call::OnPath(_, path) => {
            pending.name = path_of(thread, tracee, None, argument(path));
            true
        }
        Call::Beneath(_, base, path) => {
            let base = descriptor(base);
            pending.name = path_of(thread, tracee, Some(base), argument(path));
            // With an empty path it is the open file itself, of which more is known than the name.
            pending.description = tracee.descriptors.borrow().known(base).filter(|description| {
                base != libc::AT_FDCWD && pending.name.as_ref().is_some_and(|name| Rc::ptr_eq(name, &description.name))
            });
            true
        }
        Call::Open(base, path, flags) => {
            // Now: when the call has ended, another thread may have written there.
            pending.flags = open_flags(thread, flags, &pending.arguments);
            if pending.flags & libc::O_TMPFILE != libc::O_TMPFILE {
                pending.name = path_of(thread, tracee, base.map(descriptor), argument(path));
            }
            true
        }
        _ => true,
    }
}

/// The absolute name of a path in a thread's memory. Nothing where it cannot be read.
pub fn path_of(thread: i32, tracee: &Tracee, base: Option<i32>, address: u64) -> Option<Name> {
    let base = base.filter(|base| *base != libc::AT_FDCWD);
    let path = if address == 0 && base.is_some() { Vec::new() } else { tracee::text_at(thread, address)? };
    if path.starts_with(b"/") {
        return Some(path.into());
    }
    if let Some(base) = base {
        let description = tracee.descriptors.borrow_mut().get(thread, base)?;
        return Some(if path.is_empty() {
            description.name.clone()
        } else {
            tracee::beneath(&description.name, &path)
        });
    }
    let mut directory = tracee.directory.borrow_mut();
    if directory.is_none() {
        *directory = tracee::directory_of(thread);
    }
    directory.as_ref().map(|directory| tracee::beneath(directory, &path))
}

fn open_flags(thread: i32, flags: Flags, arguments: &[u64; 6]) -> i32 {
    match flags {
        Flags::Argument(place) => arguments[place] as i32,
        Flags::Behind(place) => tracee::number_at(thread, arguments[place]).unwrap_or(0) as i32,
        Flags::Always(flags) => flags,
    }
}

/// The outcome of a call that has ended, and what it opened; descriptors and directories follow it.
pub fn follow(thread: i32, tracee: &mut Tracee, pending: &Pending, result: i64) -> (Outcome, Option<Rc<Description>>) {
    let argument = |place: usize| pending.arguments[place];
    if result < 0 {
        return (Outcome::Failed(-result as i32), None);
    }
    let bytes = result as u64;
    let mut descriptors = tracee.descriptors.borrow_mut();
    let description = pending.description.as_deref();
    let moved_at = |offset| Outcome::Moved { bytes, offset: Some(offset), block_bytes: alignment(description) };
    let outcome = match (pending.call, &pending.description) {
        (Call::AtOffset(_), _) if argument(3) != u64::MAX => moved_at(argument(3)),
        (Call::AtPosition(_) | Call::AtOffset(_), _) => copied(thread, description, None, bytes),
        (Call::Map, _) => {
            Outcome::Moved { bytes: argument(1), offset: Some(argument(5)), block_bytes: alignment(description) }
        }
        (Call::Copy(from, _), _) => copied(thread, description, from.1.map(argument), bytes),
        (Call::Seek, Some(description)) => {
            description.position.set(bytes);
            Outcome::Done
        }
        (Call::Duplicate | Call::DuplicateTo, _) => {
            duplicate(thread, &mut descriptors, argument(0) as i32, result as i32);
            Outcome::Done
        }
        (Call::Control, _) => {
            if pending.operation.is_none() {
                duplicate(thread, &mut descriptors, argument(0) as i32, result as i32);
            }
            Outcome::Done
        }
        (Call::ChangeDirectory, _) => {
            *tracee.directory.borrow_mut() = None;
            Outcome::Done
        }
        (Call::Open(..) | Call::OpenNameless, _) => {
            descriptors.forget(result as i32);
            let opened = match &pending.name {
                Some(name) => {
                    let about = tracee::about(thread, result as i32);
                    let appends = pending.flags & libc::O_APPEND != 0;
                    // Appending writes are at the end.
                    let position = about.filter(|_| appends).map_or(0, |about| about.size_bytes);
                    let opened = Description::new(name.clone(), about, position);
                    Some(Rc::new(opened))
                }
                None => descriptors.get(thread, result as i32),
            };
            if let Some(opened) = &opened {
                descriptors.set(result as i32, opened.clone());
            }
            return (Outcome::Done, opened);
        }
        _ => Outcome::Done,
    };
    (outcome, None)
}

/// Bytes were moved from where a description is, which moves on, or up to the offset that the call has left in memory.
pub fn copied(thread: i32, description: Option<&Description>, offset: Option<u64>, bytes: u64) -> Outcome {
    let offset = match offset.filter(|address| *address != 0) {
        Some(address) => tracee::number_at(thread, address).map(|end| end.wrapping_sub(bytes)),
        None => description.map(|description| description.advance(bytes)),
    };
    Outcome::Moved { bytes, offset, block_bytes: alignment(description) }
}

/// What offsets are to be a multiple of; 0 where that makes no sense, or is not known.
fn alignment(description: Option<&Description>) -> u32 {
    description.map_or(0, Description::alignment)
}

fn duplicate(thread: i32, descriptors: &mut Descriptors, from: i32, to: i32) {
    if from == to {
        return;
    }
    match descriptors.get(thread, from) {
        Some(description) => descriptors.set(to, description),
        None => descriptors.forget(to),
    }
}
