/* Hooks with a variable number of arguments: each passes them on as a list to the hook of the function that takes one.
   `streams.rs` and `streams_wide.rs` export them by their own names. */

#include <stdarg.h>

/* By what precedes the arguments: a format; and before it a stream or descriptor, how strict to be, or both. */
#define FORMAT(name, with_list)                                                                                        \
    int with_list(const void *format, va_list arguments);                                                              \
    int ioassay_##name(const void *format, ...);                                                                       \
    int ioassay_##name(const void *format, ...)                                                                        \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        int result = with_list(format, arguments);                                                                     \
        va_end(arguments);                                                                                             \
        return result;                                                                                                 \
    }
#define AFTER_ONE(name, with_list, kind)                                                                               \
    int with_list(kind first, const void *format, va_list arguments);                                                  \
    int ioassay_##name(kind first, const void *format, ...);                                                           \
    int ioassay_##name(kind first, const void *format, ...)                                                            \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        int result = with_list(first, format, arguments);                                                              \
        va_end(arguments);                                                                                             \
        return result;                                                                                                 \
    }
#define AFTER_TWO(name, with_list, kind)                                                                               \
    int with_list(kind first, int strict, const void *format, va_list arguments);                                      \
    int ioassay_##name(kind first, int strict, const void *format, ...);                                               \
    int ioassay_##name(kind first, int strict, const void *format, ...)                                                \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, format);                                                                                   \
        int result = with_list(first, strict, format, arguments);                                                      \
        va_end(arguments);                                                                                             \
        return result;                                                                                                 \
    }

/* What `variadic!` of `streams.rs` exports to here is hidden, so that it is called without a detour. */
#pragma GCC visibility push(hidden)

FORMAT(printf, ioassay_vprintf)
FORMAT(scanf, ioassay_vscanf)
FORMAT(__isoc99_scanf, ioassay___isoc99_vscanf)
FORMAT(__isoc23_scanf, ioassay___isoc23_vscanf)
FORMAT(wprintf, ioassay_vwprintf)
FORMAT(wscanf, ioassay_vwscanf)
FORMAT(__isoc99_wscanf, ioassay___isoc99_vwscanf)
FORMAT(__isoc23_wscanf, ioassay___isoc23_vwscanf)
AFTER_ONE(__printf_chk, ioassay___vprintf_chk, int)
AFTER_ONE(__wprintf_chk, ioassay___vwprintf_chk, int)
AFTER_ONE(dprintf, ioassay_vdprintf, int)
AFTER_ONE(fprintf, ioassay_vfprintf, void *)
AFTER_ONE(fscanf, ioassay_vfscanf, void *)
AFTER_ONE(__isoc99_fscanf, ioassay___isoc99_vfscanf, void *)
AFTER_ONE(__isoc23_fscanf, ioassay___isoc23_vfscanf, void *)
AFTER_ONE(fwprintf, ioassay_vfwprintf, void *)
AFTER_ONE(fwscanf, ioassay_vfwscanf, void *)
AFTER_ONE(__isoc99_fwscanf, ioassay___isoc99_vfwscanf, void *)
AFTER_ONE(__isoc23_fwscanf, ioassay___isoc23_vfwscanf, void *)
AFTER_TWO(__dprintf_chk, ioassay___vdprintf_chk, int)
AFTER_TWO(__fprintf_chk, ioassay___vfprintf_chk, void *)
AFTER_TWO(__fwprintf_chk, ioassay___vfwprintf_chk, void *)

#pragma GCC visibility pop
