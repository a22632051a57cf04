//! The seccomp filter: which system calls stop.
//!
//! Written here because the libraries that compile filters kill programs of another architecture (32-bit ones), and those
//! are to run unharmed: their calls pass, unseen.

use std::io;

use libc::sock_filter;

use super::calls;

/// `AUDIT_ARCH_…` of `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
pub const ARCHITECTURE: u32 = 0xc000_003e;
/// `AUDIT_ARCH_…` of `linux/audit.h`.
#[cfg(target_arch = "aarch64")]
pub const ARCHITECTURE: u32 = 0xc000_00b7;

/// Places in `seccomp_data`; of an argument, its lower half.
const NUMBER: u32 = 0;
const ARCHITECTURE_PLACE: u32 = 4;
const fn argument(place: u32) -> u32 {
    16 + 8 * place
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Where a jump goes to.
#[derive(Clone, Copy)]
enum To {
    Next,
    /// Over so many.
    Over(u8),
    Pass,
    Stop,
}

/// The filter: calls that matter stop, all others pass.
pub fn program() -> Vec<sock_filter> {
    // Code, value, where to if so, where to if not.
    let mut steps: Vec<(u32, u32, To, To)> = vec![
        (LOAD, ARCHITECTURE_PLACE, To::Next, To::Next),
        (IF_EQUAL, ARCHITECTURE, To::Next, To::Pass),
        (LOAD, NUMBER, To::Next, To::Next),
    ];
    let looked_into = [libc::SYS_mmap, libc::SYS_fcntl];
    let plain = calls::numbers().filter(|number| !looked_into.contains(number));
    steps.extend(plain.map(|number| (IF_EQUAL, number as u32, To::Stop, To::Next)));
    steps.extend([
        (IF_EQUAL, libc::SYS_mmap as u32, To::Next, To::Over(2)),
        (LOAD, argument(3), To::Next, To::Next),
        (IF_ANY_BIT, libc::MAP_ANONYMOUS as u32, To::Pass, To::Stop),
        (IF_EQUAL, libc::SYS_fcntl as u32, To::Next, To::Pass),
        (LOAD, argument(1), To::Next, To::Next),
    ]);
    let commands = calls::DUPLICATES.iter().chain(&calls::LOCKS);
    steps.extend(commands.map(|command| (IF_EQUAL, *command as u32, To::Stop, To::Next)));
    let pass = steps.len();
    steps.push((RETURN, libc::SECCOMP_RET_ALLOW, To::Next, To::Next));
    steps.push((RETURN, libc::SECCOMP_RET_TRACE, To::Next, To::Next));
    let distance = |from: usize, to: To| match to {
        To::Next => 0,
        To::Over(steps) => steps,
        To::Pass => u8::try_from(pass - from - 1).expect("the filter is short"),
        To::Stop => u8::try_from(pass - from).expect("the filter is short"),
    };
    let step = |(index, (code, value, so, not)): (usize, (u32, u32, To, To))| sock_filter {
        code: code as u16,
        jt: distance(index, so),
        jf: distance(index, not),
        k: value,
    };
    steps.into_iter().enumerate().map(step).collect()
}

/// Puts the calling process under the filter. It needs to be root, or to give up that programs it starts get privileges.
///
/// # Errors
/// If the kernel has no such filters.
pub fn install(program: &[sock_filter]) -> io::Result<()> {
    let whole = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let install = || {
        // SAFETY: the kernel copies the program.
        let failed = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const whole) };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    match install() {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            // SAFETY: it changes nothing in memory.
            if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
            install()
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter says of a call, as the kernel would run it.
    fn verdict(architecture: u32, number: i64, arguments: [u64; 6]) -> u32 {
        let program = program();
        let (mut position, mut value) = (0, 0_u32);
        loop {
            let step = program[position];
            position += 1;
            match u32::from(step.code) {
                LOAD => {
                    value = match step.k {
                        NUMBER => number as u32,
                        ARCHITECTURE_PLACE => architecture,
                        place => arguments[(place as usize - 16) / 8] as u32,
                    };
                }
                IF_EQUAL => position += usize::from(if value == step.k { step.jt } else { step.jf }),
                IF_ANY_BIT => position += usize::from(if value & step.k != 0 { step.jt } else { step.jf }),
                RETURN => return step.k,
                code => panic!("no such step: {code}"),
            }
        }
    }

    #[test]
    fn the_filter_stops_what_matters() {
        let calls = calls::Calls::all();
        let commands = calls::LOCKS.iter().chain(&calls::DUPLICATES).chain(&[libc::F_GETFL, libc::F_SETFD]);
        let arguments = commands
            .map(|command| [3, *command as u64, 0, 0, 0, 0])
            .chain([[0, 0, 0, libc::MAP_ANONYMOUS as u64, 0, 0], [0, 0, 0, libc::MAP_SHARED as u64, 3, 0]]);
        for arguments in arguments {
            for number in 0..600 {
                let stops = verdict(ARCHITECTURE, number, arguments) == libc::SECCOMP_RET_TRACE;
                assert_eq!(stops, calls.of(number as u64, &arguments).is_some(), "{number} {arguments:?}");
            }
        }
    }

    #[test]
    fn calls_of_another_architecture_pass() {
        assert_eq!(verdict(0x4000_0003, libc::SYS_read, [0; 6]), libc::SECCOMP_RET_ALLOW);
    }
}
