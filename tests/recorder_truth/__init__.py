"""Whether the recorder counts what programs call: each is recorded and traced with strace in the same run.

    trace          what strace wrote
    system_calls   which class of calls each system call is of
    processes      the programs of a trace, and what each should have been recorded as
    tables         what the recorder counted
    compare        where the two differ
    programs       what is run
    runs           runs it, recorded and traced
    page           the page of the documentation

`strace -k` prints the stack of functions that led to each system call, so it is known who made it: the recorder
itself; a program that called the C library through the recorder; the C library for itself (a stream that refills its
buffer, the dynamic linker), which no library in its place can see; or a program that called the C library past the
recorder: a function that should have been replaced.

`python -m tests.recorder_truth` prints the page docs/reference/recorder-coverage.md.
"""
