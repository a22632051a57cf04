//! The environment of programs that the process starts: it names the recorder also where the process has left that out.
//!
//! Build systems and schedulers start programs with an environment of their own; what these do belongs to the same record.

use core::ffi::c_char;
use core::ptr::null;

use crate::files::can_be_text;
use crate::text::{Buffer, Variables};
use crate::{process, real, root};

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Variables that an environment may have. One that has more is passed on as it is: there is no memory for it.
const MOST: usize = 1000;
/// Those of most environments that a program makes up: threads with a small stack have room for so many.
const FEW: usize = 60;

unsafe extern "C" {
    #[link_name = "environ"]
    static ENVIRONMENT: *const *const c_char;
}

/// That of this process.
pub fn of_process() -> *const *const c_char {
    // SAFETY: the C library's variable. Who changes it while others read it breaks any program.
    unsafe { ENVIRONMENT }
}

/// Runs `start` with that environment, and with the recorder in it. The memory for that is on the stack: in a child of `vfork`
/// all other is its parent's.
///
/// # Safety
/// A list of texts up to a null pointer, or null.
pub unsafe fn with_recorder<R>(environment: *const *const c_char, start: impl FnOnce(*const *const c_char) -> R) -> R {
    if !environment.is_null() && !can_be_text(environment.cast()) {
        return start(environment);
    }
    // SAFETY: the caller's.
    let variables = || unsafe { Variables::of(environment) };
    let library = real::own_path().to_bytes();
    let preloaded = variables().find(&PRELOAD[..PRELOAD.len() - 1]).unwrap_or_default();
    let has_library = preloaded.split(|&byte| byte == b':' || byte == b' ').any(|path| path == library);
    let has_directory = variables().find(process::VARIABLE.to_bytes()) == Some(process::directory());
    let root = root::variable();
    let has_root = root.is_none_or(|root| variables().any(|variable| variable == root.to_bytes()));
    if has_library && has_directory && has_root {
        return start(environment);
    }
    let library = if has_library { b"" } else { library };
    // SAFETY: the caller's.
    unsafe {
        match variables().count() {
            count if count > MOST => start(environment),
            count if count > FEW => with_changed::<{ MOST + 4 }, R>(environment, library, preloaded, start),
            _ => with_changed::<{ FEW + 4 }, R>(environment, library, preloaded, start),
        }
    }
}

/// # Safety
/// As for [`with_recorder`], and there are less than `N - 3` variables.
#[inline(never)]
unsafe fn with_changed<const N: usize, R>(
    environment: *const *const c_char,
    library: &[u8],
    preloaded: &[u8],
    start: impl FnOnce(*const *const c_char) -> R,
) -> R {
    let (preload, directory) = (Buffer::<1024>::new(), Buffer::<600>::new());
    let separator: &[u8] = if preloaded.is_empty() || library.is_empty() { b"" } else { b":" };
    let fit = preload.set(&[PRELOAD, library, separator, preloaded])
        && directory.set(&[process::VARIABLE.to_bytes(), b"=", process::directory()]);
    if !fit {
        return start(environment);
    }
    let mut list = [null(); N];
    list[0] = preload.as_c_str().as_ptr();
    list[1] = directory.as_c_str().as_ptr();
    let root = root::variable();
    list[2] = root.unwrap_or(c"").as_ptr();
    let own_variables = if root.is_some() { 3 } else { 2 };
    // SAFETY: the caller's.
    let others = unsafe { Variables::of(environment) }.filter(|variable| {
        let is = |name: &[u8]| variable.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="));
        let is_ours = is(&PRELOAD[..PRELOAD.len() - 1]) || is(process::VARIABLE.to_bytes());
        !is_ours && !is(root::VARIABLE)
    });
    for (entry, variable) in list[own_variables..N - 1].iter_mut().zip(others) {
        *entry = variable.as_ptr().cast();
    }
    start(list.as_ptr())
}
