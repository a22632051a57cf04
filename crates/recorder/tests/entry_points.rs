//! Every function of the C library that may do I/O has a hook, or a reason to have none: so a new one is noticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What is in the names of functions that may do I/O.
const STEMS: &str = "access advi aio alloc attr chflags chmod chown clos copy creat dent dir dup fcntl fd ftw \
    fts glob handle ioctl link lock map memfd mk mount open path pipe print read recv remov \
    renam root scan seek send shm splice stat swap sync tee temp tmp trunc utime write";

/// Functions that have no hook, by reason. A star stands for anything.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "they are of another family of hooks, which has its own list",
        "aio_* lio_listio* *open_memstream open_wmemstream fmemopen fopencookie fopen* freopen* fdopen fclose \
         fcloseall fread* __fread_* fwrite* fseek* __fseeko64 *print* *scanf* popen pclose tmpfile* posix_spawn* \
         unlockpt *getdelim",
    ),
    (
        "they ask or set what a stream is like",
        "__freadable __freading __fwriting *flockfile *unlocked* funlockfile ftrylockfile __fsetlocking",
    ),
    (
        "the C library's own libraries call them, and nobody else may",
        "*_nocancel _IO_* __libc_* __nss_* _nss_* __open_catalog __mmap __munmap __madvise __fstat64 \
         __file_change_detection* __shm_get_name __shm_directory __netlink_* __internal_* __twalk_r _dl_* \
         _thread_db_* __nptl_* __resolv_context_* __idna_* __lll_lock* __rpc_* __merge_* __copy_grp _pthread_* \
         __pthread_* _nl_*",
    ),
    (
        "they make threads, locks in memory and signals, or ask the clock",
        "pthread_* mtx_* rwlock_* *clock* thrd_* tss_* __cxa_thread* __sched_* *timeofday",
    ),
    (
        "they move between processes or nodes, not to storage; what they make is looked up when it is first used",
        "pipe pipe2 __pipe *recv* *send sendto sendm* __send* eventfd* signalfd timerfd_* epoll_create* \
         pidfd_* process_vm_* tee vmsplice mq_* __mq_open_2 sem_* shmat shmdt shmctl shmget isfdtype",
    ),
    ("terminals, and who is at them", "openpty posix_openpt tcsendbreak tcgetattr tcsetattr *utmp* logwtmp updwtmp*"),
    (
        "they change what is mounted or what the kernel has, or ask for rights",
        "mount* umount* move_mount fsmount fsopen open_tree pivot_root swapon swapoff create_module fattach \
         fdetach *mntent*",
    ),
    (
        "nobody remembers which file is mapped where",
        "madvise __munmap posix_madvise process_madvise remap_file_pages mlock* munlock*",
    ),
    ("a name is made up, nothing is opened", "mktemp __mktemp tmpnam* tempnam"),
    ("where a listing is, and what it is of", "rewinddir seekdir telldir dirfd globfree* glob_pattern_p"),
    ("they ask for limits of names, mostly without the kernel", "pathconf fpathconf"),
    ("the directory in which the process is", "get_current_dir_name"),
    ("the kernel has no such call", "chflags fchflags ustat llseek"),
    ("devices; of files only clones, which copy nothing", "ioctl"),
    ("what they do is done inside of the C library, and few programs use its own", "fts_* fts64_*"),
    (
        "libraries, catalogues, character sets and logs that the C library reads by itself",
        "dlopen dlclose dlmopen catopen catclose iconv_open iconv_close openlog closelog *textdomain* argp_* _dl* \
         backtrace_symbols_fd __backtrace_symbols_fd dirname __gconv_*",
    ),
    (
        "network services of old",
        "xdr* svc* clnt* *pmap* res_* __res_* rexec* authunix* authdes* authnone* getrpc* registerrpc _rpc* key_* \
         rpc* svcerr* _seterr_reply callrpc inet6_* __ivaliduser passwd2des",
    ),
    (
        "memory",
        "aligned_alloc calloc malloc* __malloc_* realloc* __realloc_hook *memalign* pvalloc valloc pkey_alloc \
         obstack_alloc* _obstack_allocated_p bcopy *buffer_alloc*",
    ),
    (
        "numbers, texts, random numbers",
        "copysign* mktime initstate* setstate* str* wcs* __wcs* timer_* __str* *duplocale argz_* envz_* \
         re_compile* __fdelt_* printf_size* parse_printf* hcreate* getsubopt",
    ),
];

#[test]
fn every_function_that_may_do_io_has_a_hook_or_a_reason_to_have_none() {
    let hooks = hooks();
    let missing: Vec<_> = exported_by_libc()
        .into_iter()
        .filter(|name| STEMS.split_whitespace().any(|stem| name.contains(stem)))
        .filter(|name| !hooks.contains(name) && reason(name).is_none())
        .collect();
    assert!(missing.is_empty(), "neither a hook in crates/recorder/src/hooks nor a reason in LEFT_OUT: {missing:?}");
}

#[test]
fn reasons_are_for_functions_that_exist() {
    let names: Vec<_> = exported_by_libc().into_iter().collect();
    for (reason, patterns) in LEFT_OUT {
        let exists = patterns.split_whitespace().any(|pattern| names.iter().any(|name| is_of(name, pattern)));
        assert!(exists, "of `{patterns}` there is none: {reason}");
    }
}

fn reason(name: &str) -> Option<&'static str> {
    let (reason, _) =
        LEFT_OUT.iter().find(|(_, patterns)| patterns.split_whitespace().any(|pattern| is_of(name, pattern)))?;
    Some(reason)
}

/// Whether a name is of a pattern, which may begin or end with a star.
fn is_of(name: &str, pattern: &str) -> bool {
    let within = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (false, false) => name == within,
        (false, true) => name.starts_with(within),
        (true, false) => name.ends_with(within),
        (true, true) => name.contains(within),
    }
}

/// The functions that are replaced: as the sources declare them.
fn hooks() -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/hooks");
    let mut hooks = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let hook = line.strip_prefix("    fn ").or_else(|| line.strip_prefix("pub unsafe extern \"C\" fn "));
            let names = hook.and_then(|hook| hook.split('(').next()).into_iter().flat_map(|names| names.split(" | "));
            hooks.extend(names.map(str::to_owned));
        }
    }
    assert!(hooks.contains("read") && hooks.contains("vfork"), "{hooks:?}");
    hooks
}

/// The functions of this process's C library.
fn exported_by_libc() -> BTreeSet<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("/libc"));
    let bytes = fs::read(library.expect("tests are linked with a shared C library")).unwrap();
    let number = |offset: usize, size: usize| {
        bytes[offset..offset + size].iter().rev().fold(0, |sum, &byte| sum << 8 | byte as usize)
    };
    // ELF, 64 bits: a table of section headers, of which the dynamic symbols' (kind 11) names that of their texts.
    let (sections, header_bytes) = (number(0x28, 8), number(0x3a, 2));
    let section = |index: usize| sections + index * header_bytes;
    let symbols = (0..number(0x3c, 2)).map(section).find(|&header| number(header + 4, 4) == 11).unwrap();
    let texts = number(section(number(symbols + 0x28, 4)) + 0x18, 8);
    let (begin, length) = (number(symbols + 0x18, 8), number(symbols + 0x20, 8));
    let functions = (begin..begin + length).step_by(24).filter(|&symbol| {
        // A function, possibly one that is chosen by processor, and defined here.
        matches!(bytes[symbol + 4] & 15, 2 | 10) && number(symbol + 6, 2) != 0
    });
    let text = |begin: usize| bytes[begin..].split(|&byte| byte == 0).next().unwrap();
    functions.map(|symbol| String::from_utf8_lossy(text(texts + number(symbol, 4))).into_owned()).collect()
}
