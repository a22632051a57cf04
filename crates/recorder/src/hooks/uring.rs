//! io_uring: calls on rings, by number (`syscall`) and by liburing's functions. What is in the rings is [`rings`]' matter.
//!
//! liburing calls the kernel itself, so that only its own functions are seen. Those that fill in requests and take
//! completions are compiled into programs; what they leave in the memory of the ring is seen at the next call.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::offset_of;

use ioassay_record::rings::{
    Geometry, Parameters, Places, Registration, SINGLE_MMAP, Unreadable, enter, register, setup,
};

use super::hook;
use crate::rings::{self, Addresses, Entered};
use crate::{call, descriptors, masks};

/// The beginning of `struct io_uring` of `<liburing.h>`: the same from version 2.0 on to 2.15.
#[repr(C)]
pub struct Ring {
    kernel_head: *const u32,
    kernel_tail: *const u32,
    kernel_mask: *const u32,
    kernel_entries: *const u32,
    kernel_flags: *const u32,
    kernel_dropped: *const u32,
    array: *const u32,
    requests: *const u8,
    head: u32,
    /// Up to where requests are filled in.
    tail: u32,
    bytes: usize,
    memory: usize,
    /// From version 2.2 on; 0 before.
    mask: u32,
    entries: u32,
    reserved: [u32; 2],
    completions: Completions,
    flags: u32,
    /// Negative once it was closed, and the ring is only a registered one.
    descriptor: c_int,
    features: u32,
    /// The index of a registered ring, or the descriptor.
    enter_descriptor: c_int,
}

#[repr(C)]
struct Completions {
    kernel_head: *const u32,
    kernel_tail: *const u32,
    kernel_mask: *const u32,
    kernel_entries: *const u32,
    kernel_flags: *const u32,
    kernel_overflow: *const u32,
    completions: *const u8,
    bytes: usize,
    memory: usize,
    mask: u32,
    entries: u32,
    reserved: [u32; 2],
}

const _: () = assert!(offset_of!(Ring, flags) == 192);

impl Ring {
    /// Where in the memory of the ring what is.
    ///
    /// # Safety
    /// The library has set it up.
    unsafe fn geometry(&self) -> Result<Geometry, Unreadable> {
        let of = &self.completions;
        if self.kernel_entries.is_null() || of.kernel_entries.is_null() {
            return Err(Unreadable::Kind);
        }
        // SAFETY: the caller's.
        let entries = unsafe { [*self.kernel_entries, *of.kernel_entries] };
        // Before 2.0 the structure was shorter: then this is no copy of that.
        if (self.mask, self.entries) != (0, 0) && self.entries != entries[0] {
            return Err(Unreadable::Kind);
        }
        let beneath = |place: usize, memory: usize| u32::try_from(place.wrapping_sub(memory)).unwrap_or(u32::MAX);
        let place = |place: *const u32| beneath(place as usize, self.memory);
        let has_array = self.flags & setup::NO_SQARRAY == 0;
        Geometry::new(Places {
            flags: self.flags,
            single: self.features & SINGLE_MMAP != 0,
            entries,
            requests: [place(self.kernel_head), place(self.kernel_tail), if has_array { place(self.array) } else { 0 }],
            completions: [beneath(of.kernel_tail as usize, of.memory), beneath(of.completions as usize, of.memory)],
        })
    }

    /// Its number; a ring that is not known yet is followed from here on.
    ///
    /// # Safety
    /// The library has set it up.
    unsafe fn number(&self) -> (u32, i32) {
        let is_index = self.flags & setup::REGISTERED_FD_ONLY != 0;
        match rings::number(self.descriptor, is_index) {
            _ if self.descriptor < 0 => rings::number(self.enter_descriptor, true),
            // SAFETY: the caller's.
            (0, _) => unsafe { self.follow() },
            known => known,
        }
    }

    /// # Safety
    /// The library has set it up.
    unsafe fn follow(&self) -> (u32, i32) {
        // SAFETY: the caller's.
        (rings::follow(self.descriptor, self.flags, unsafe { self.geometry() }, self.addresses()), self.descriptor)
    }

    fn addresses(&self) -> Addresses {
        [self.memory, self.completions.memory, self.requests as usize]
    }
}

/// The library has set up a ring.
///
/// # Safety
/// It has, if it says so.
unsafe fn library_sets_up(ring: *const Ring, real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result == 0
        // SAFETY: the caller's.
        && let Some(ring) = unsafe { ring.as_ref() }
    {
        // SAFETY: the caller's.
        call::update(|| unsafe { ring.follow() });
    }
    result
}

/// A call of the library that may hand over requests, or looks for completions.
///
/// # Safety
/// The library has set the ring up, or it is null.
#[inline(always)]
unsafe fn library_enters(ring: *const Ring, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's.
    let Some(known) = (unsafe { ring.as_ref() }) else { return real() };
    // SAFETY: the caller's.
    let entered = rings::enter(|| unsafe { known.number() }, Some(known.tail));
    let result = real();
    leave(entered, result);
    result
}

#[inline(always)]
fn leave(entered: Option<Entered>, result: c_int) {
    if let Some(entered) = entered {
        rings::leave(entered, u32::try_from(result).ok());
    }
}

/// `io_uring_setup`.
///
/// # Safety
/// The parameters are as the kernel wants them, or it refuses.
pub unsafe fn set_up(parameters: *const Parameters, real: impl FnOnce() -> c_int) -> c_int {
    let descriptor = real();
    if descriptor >= 0 {
        // SAFETY: the kernel has read and written them.
        call::update(|| rings::set_up(descriptor, unsafe { &*parameters }));
    }
    descriptor
}

/// `io_uring_enter`.
#[inline(always)]
pub fn enter_ring(descriptor: c_int, flags: c_uint, real: impl FnOnce() -> c_int) -> c_int {
    let entered = rings::enter(|| rings::number(descriptor, flags & enter::REGISTERED_RING != 0), None);
    let result = real();
    leave(entered, result);
    result
}

/// `io_uring_register`.
///
/// # Safety
/// The argument is as the kernel wants it, or it refuses.
pub unsafe fn register_with(
    descriptor: c_int,
    operation: c_uint,
    argument: *const u8,
    count: c_uint,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let result = real();
    if result >= 0 {
        // SAFETY: the kernel has read it.
        call::update(|| unsafe { registered(descriptor, operation, argument, count) });
    }
    result
}

/// # Safety
/// The kernel has read the argument.
unsafe fn registered(descriptor: c_int, operation: c_uint, argument: *const u8, count: c_uint) {
    let is_index = operation & register::USE_REGISTERED_RING != 0;
    let operation = operation & !register::USE_REGISTERED_RING;
    match operation {
        register::RING_FDS => {
            for step in 0..count as usize {
                // SAFETY: the caller's: index, reserved, descriptor.
                let [index, _, ring, _] = unsafe { argument.cast::<[u32; 4]>().add(step).read_unaligned() };
                rings::register_for_thread_by(ring as c_int, index);
            }
        }
        register::RESIZE_RINGS => {
            // SAFETY: the caller's.
            let parameters = unsafe { &*argument.cast::<Parameters>() };
            let ring = rings::number(descriptor, is_index);
            rings::resize(ring, |before| before.resized(parameters), rings::addresses(parameters));
        }
        _ => {
            let mut begin = [0; Registration::ARGUMENT_BYTES];
            let bytes = Registration::argument_bytes(operation);
            // SAFETY: the caller's: so much of it was read.
            unsafe { core::ptr::copy_nonoverlapping(argument, begin.as_mut_ptr(), bytes) };
            if let Some(registration) = Registration::of(operation, argument as u64, count, &begin) {
                // SAFETY: the caller's.
                unsafe { rings::register(rings::number(descriptor, is_index).0, registration) };
            }
        }
    }
}

/// The library has registered files.
///
/// # Safety
/// The library has set the ring up.
unsafe fn library_registers(ring: *const Ring, registration: Registration, real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if result >= 0
        // SAFETY: the caller's.
        && let Some(ring) = unsafe { ring.as_ref() }
    {
        // SAFETY: the caller's, and the kernel has read the descriptors.
        call::update(|| unsafe { rings::register(ring.number().0, registration) });
    }
    result
}

fn files(address: *const c_int, count: c_uint) -> Registration {
    Registration::Files { address: address as u64, count }
}

fn update(first: c_uint, address: *const c_int, count: c_uint) -> Registration {
    Registration::Update { first, address: address as u64, count }
}

hook! {
    fn io_uring_setup(entries: c_uint, parameters: *mut Parameters) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { set_up(parameters, real) }
    }
    fn io_uring_enter(
        descriptor: c_uint, submit: c_uint, wait: c_uint, flags: c_uint, signals: *mut c_void,
    ) -> c_int |real| {
        enter_ring(descriptor as c_int, flags, || masks::wait(!signals.is_null(), real))
    }
    fn io_uring_enter2(
        descriptor: c_uint, submit: c_uint, wait: c_uint, flags: c_uint, argument: *mut c_void, bytes: usize,
    ) -> c_int |real| {
        enter_ring(descriptor as c_int, flags, || masks::wait(!argument.is_null(), real))
    }
    fn io_uring_register(descriptor: c_uint, operation: c_uint, argument: *const u8, count: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { register_with(descriptor as c_int, operation, argument, count, real) }
    }
    fn io_uring_queue_init(entries: c_uint, ring: *mut Ring, flags: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_sets_up(ring, real) }
    }
    fn io_uring_queue_init_params(entries: c_uint, ring: *mut Ring, parameters: *mut c_void) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_sets_up(ring, real) }
    }
    fn io_uring_queue_mmap(descriptor: c_int, parameters: *mut c_void, ring: *mut Ring) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_sets_up(ring, real) }
    }
    fn io_uring_resize_rings(ring: *mut Ring, parameters: *mut c_void) -> c_int |real| {
        let result = real();
        // SAFETY: the caller's.
        if result >= 0 && let Some(ring) = unsafe { ring.as_ref() } {
            call::update(|| {
                // SAFETY: the library has set it up.
                let ((number, _), geometry) = unsafe { (ring.number(), ring.geometry()) };
                rings::resize((number, ring.descriptor), |_| geometry, ring.addresses());
            });
        }
        result
    }
    // It maps memory of the program, of which it returns how much it used.
    fn io_uring_queue_init_mem(
        entries: c_uint, ring: *mut Ring, parameters: *mut c_void, memory: *mut c_void, bytes: usize,
    ) -> c_int |real| {
        let mut used = 0;
        // SAFETY: the caller's.
        unsafe {
            library_sets_up(ring, || {
                used = real();
                used.min(0)
            });
        }
        used
    }
    fn io_uring_queue_exit(ring: *mut Ring) -> () |real| {
        // SAFETY: the caller's.
        if let Some(ring) = unsafe { ring.as_ref() } && ring.flags & setup::REGISTERED_FD_ONLY == 0 {
            call::update(|| descriptors::forget(ring.descriptor));
        }
        real();
    }
    fn io_uring_register_ring_fd(ring: *mut Ring) -> c_int |real| {
        let result = real();
        // SAFETY: the caller's.
        if result >= 0 && let Some(ring) = unsafe { ring.as_ref() } {
            call::update(|| rings::register_for_thread_by(ring.descriptor, ring.enter_descriptor as u32));
        }
        result
    }
    fn io_uring_register_files(ring: *mut Ring, descriptors: *const c_int, count: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, files(descriptors, count), real) }
    }
    fn io_uring_register_files_tags(
        ring: *mut Ring, descriptors: *const c_int, tags: *const u64, count: c_uint,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, files(descriptors, count), real) }
    }
    fn io_uring_register_files_sparse(ring: *mut Ring, count: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, files(core::ptr::null(), count), real) }
    }
    fn io_uring_register_files_update(
        ring: *mut Ring, first: c_uint, descriptors: *const c_int, count: c_uint,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, update(first, descriptors, count), real) }
    }
    fn io_uring_register_files_update_tag(
        ring: *mut Ring, first: c_uint, descriptors: *const c_int, tags: *const u64, count: c_uint,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, update(first, descriptors, count), real) }
    }
    fn io_uring_unregister_files(ring: *mut Ring) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_registers(ring, Registration::None, real) }
    }
    fn io_uring_submit | io_uring_submit_and_get_events | io_uring_get_events(ring: *mut Ring) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, real) }
    }
    fn io_uring_submit_and_wait(ring: *mut Ring, wait: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, real) }
    }
    fn io_uring_submit_and_wait_timeout(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        time: *mut c_void,
        signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_submit_and_wait_min_timeout(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        time: *mut c_void,
        least: c_uint,
        signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_submit_and_wait_reg(
        ring: *mut Ring,
        completion: *mut c_void,
        wait: c_uint,
        index: c_int,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, real) }
    }
    fn io_uring_wait_cqes(
        ring: *mut Ring, first: *mut c_void, count: c_uint, limit: *mut c_void, signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_wait_cqes_min_timeout(
        ring: *mut Ring,
        first: *mut c_void,
        count: c_uint,
        limit: *mut c_void,
        least: c_uint,
        signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_wait_cqe_timeout(ring: *mut Ring, first: *mut c_void, limit: *mut c_void) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, real) }
    }
    // What the functions that are compiled into programs call.
    fn __io_uring_get_cqe(
        ring: *mut Ring, first: *mut c_void, submit: c_uint, wait: c_uint, signals: *mut c_void,
    ) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, || masks::wait(!signals.is_null(), real)) }
    }
    fn io_uring_peek_batch_cqe(ring: *mut Ring, completions: *mut c_void, count: c_uint) -> c_int |real| {
        // SAFETY: the caller's.
        unsafe { library_enters(ring, real) }
    }
}
