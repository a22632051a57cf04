/* Names the steps of an application, so that its I/O profile says what each of them did to storage.
 *
 *     ioassay_region_enter("checkpoint");
 *     write_checkpoint();
 *     ioassay_region_leave("checkpoint");
 *
 * Without the recorder (`ioassay record`) both do nothing: there is nothing to link with. Regions may lie within each
 * other, up to 16 deep; each thread has its own. A name is cut at 255 bytes; at most 256 names (within others) are kept
 * per process, so put no number into a name. The addresses of the two functions are known from the program's start.
 */
#ifndef IOASSAY_REGION_H
#define IOASSAY_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder has these. */
extern void ioassay_region_begin(const char *name) __attribute__((weak));
extern void ioassay_region_end(const char *name) __attribute__((weak));

/* The calling thread enters a region. */
static inline void ioassay_region_enter(const char *name) {
    if (ioassay_region_begin) ioassay_region_begin(name);
}

/* The calling thread leaves the innermost region of that name, and all that it did not leave within it. */
static inline void ioassay_region_leave(const char *name) {
    if (ioassay_region_end) ioassay_region_end(name);
}

#ifdef __cplusplus
}
#endif

#endif
