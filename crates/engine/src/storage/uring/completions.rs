//! Handing transfers to the kernel and waiting until enough of them have ended.
//!
//! What counts is what the completion queue holds, never that the system call returned: it does so early after a signal
//! (`EINTR`), when the kernel has no room for more completions (`EBUSY`), and when it took only some of the entries.
//! Not here: what a transfer is.

use std::io;

use io_uring::IoUring;

/// The two ends of a ring.
pub(super) trait Queues {
    /// Hands over what was pushed, and waits until `at_least` completions are in the queue.
    fn enter(&mut self, at_least: u32) -> io::Result<()>;

    /// Takes the completions that are there: of each the transfer's user data and the kernel's answer.
    fn take_completions(&mut self, take: impl FnMut(u64, i32));
}

impl Queues for IoUring {
    fn enter(&mut self, at_least: u32) -> io::Result<()> {
        // A kernel thread that takes the transfers by itself need not be called where enough have ended already.
        let enough = self.params().is_setup_sqpoll() && self.completion().len() >= at_least as usize;
        self.submit_and_wait(if enough { 0 } else { at_least as usize }).map(drop)
    }

    fn take_completions(&mut self, mut take: impl FnMut(u64, i32)) {
        self.completion().for_each(|completion| take(completion.user_data(), completion.result()));
    }
}

/// Waits until at least `at_least` transfers have ended, and passes each that has to `ended` with its user data: how many
/// bytes it moved, or why not.
///
/// # Errors
/// If nothing can be handed over or awaited. What had ended until then was passed on.
pub(super) fn finish(
    queues: &mut impl Queues,
    at_least: u32,
    mut ended: impl FnMut(u64, io::Result<usize>),
) -> io::Result<()> {
    let mut missing = at_least;
    loop {
        let entered = queues.enter(missing);
        queues.take_completions(|user_data, answer| {
            missing = missing.saturating_sub(1);
            ended(user_data, moved(answer));
        });
        match entered {
            Ok(()) if missing == 0 => return Ok(()),
            Ok(()) => {}
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY)) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The kernel's answer: bytes, or an error number below 0.
fn moved(result: i32) -> io::Result<usize> {
    if result >= 0 { Ok(result as usize) } else { Err(io::Error::from_raw_os_error(-result)) }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// What a call returns, and the completions that it leaves.
    type Answer = (io::Result<()>, Vec<(u64, i32)>);

    /// What ended, what the call returned and what the kernel was asked for.
    type Finished = (Vec<(u64, Result<usize, i32>)>, Option<i32>, Vec<u32>);

    /// A kernel that answers each call as it was set up, and keeps the requests.
    struct Scripted {
        answers: VecDeque<Answer>,
        completions: Vec<(u64, i32)>,
        asked: Vec<u32>,
    }

    impl Queues for Scripted {
        fn enter(&mut self, at_least: u32) -> io::Result<()> {
            self.asked.push(at_least);
            let (answer, completions) = self.answers.pop_front().expect("one call too many");
            self.completions.extend(completions);
            answer
        }

        fn take_completions(&mut self, mut take: impl FnMut(u64, i32)) {
            self.completions.drain(..).for_each(|(user_data, answer)| take(user_data, answer));
        }
    }

    fn finish_by(at_least: u32, answers: Vec<Answer>) -> Finished {
        let mut kernel = Scripted { answers: answers.into(), completions: Vec::new(), asked: Vec::new() };
        let mut all = Vec::new();
        let finished = finish(&mut kernel, at_least, |user_data, moved| {
            all.push((user_data, moved.map_err(|error| error.raw_os_error().unwrap())));
        });
        assert!(kernel.answers.is_empty(), "one call too few");
        (all, finished.err().and_then(|error| error.raw_os_error()), kernel.asked)
    }

    fn errno<T>(number: i32) -> io::Result<T> {
        Err(io::Error::from_raw_os_error(number))
    }

    #[test]
    fn a_call_that_returns_without_a_completion_counts_none_and_is_made_again() {
        for early in [errno(libc::EBUSY), errno(libc::EINTR), Ok(())] {
            let (ended, error, asked) = finish_by(1, vec![(early, vec![]), (Ok(()), vec![(7, 4096)])]);
            assert_eq!((ended, error, asked), (vec![(7, Ok(4096))], None, vec![1, 1]));
        }
    }

    #[test]
    fn completions_that_the_kernel_had_no_more_room_for_are_taken_before_it_is_asked_for_the_rest() {
        let (ended, error, asked) =
            finish_by(3, vec![(errno(libc::EBUSY), vec![(0, 100), (1, -libc::EIO)]), (Ok(()), vec![(2, 100)])]);
        assert_eq!(ended, [(0, Ok(100)), (1, Err(libc::EIO)), (2, Ok(100))]);
        assert_eq!((error, asked), (None, vec![3, 1]));
    }

    #[test]
    fn what_was_refused_for_want_of_room_is_handed_over_again_although_enough_have_ended() {
        let (ended, error, asked) = finish_by(1, vec![(errno(libc::EBUSY), vec![(0, 1), (1, 1)]), (Ok(()), vec![])]);
        assert_eq!((ended.len(), error, asked), (2, None, vec![1, 0]));
    }

    #[test]
    fn an_error_is_returned_and_what_ended_before_it_is_not_lost() {
        let (ended, error, _) = finish_by(2, vec![(errno(libc::ENOMEM), vec![(4, 8)])]);
        assert_eq!((ended, error), (vec![(4, Ok(8))], Some(libc::ENOMEM)));
    }
}
