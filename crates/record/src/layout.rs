//! Structures of plain integers that describe themselves.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// What may stand in a structure of a table: an integer, or an array of such.
///
/// # Safety
/// Any bytes must be a valid value, and there must be no padding.
pub unsafe trait Plain {
    /// How numpy calls it: `<u4`; of an array, its element's.
    const FORMAT: &'static str;
    /// Elements of an array; 1 otherwise.
    const ELEMENTS: usize = 1;
}

macro_rules! plain {
    ($($kind:ty => $format:literal),+ $(,)?) => {
        // SAFETY: integers, and atomics of the same layout.
        $(unsafe impl Plain for $kind { const FORMAT: &'static str = $format; })+
    };
}
plain!(u8 => "<u1", u16 => "<u2", u32 => "<u4", u64 => "<u8", i32 => "<i4", i64 => "<i8");
plain!(AtomicU8 => "<u1", AtomicU16 => "<u2", AtomicU32 => "<u4", AtomicU64 => "<u8");

// SAFETY: an array is its elements, one after another.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const FORMAT: &'static str = T::FORMAT;
    const ELEMENTS: usize = N * T::ELEMENTS;
}

/// A field of a structure.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Of one element, as numpy calls it.
    pub format: &'static str,
    /// 1, or those of an array.
    pub elements: usize,
    /// From the beginning of the structure, in bytes.
    pub offset: usize,
}

/// A structure of a table.
///
/// # Safety
/// As for [`Plain`]: the macro sees to it.
pub unsafe trait Layout: Sized {
    /// Its name.
    const NAME: &'static str;
    /// Its fields, in order.
    const FIELDS: &'static [Field];
}

/// A structure with all zero.
pub fn zeroed<T: Layout>() -> T {
    // SAFETY: any bytes are a valid value (`Layout`).
    unsafe { core::mem::zeroed() }
}

/// The bytes of a structure.
pub fn bytes_of<T: Layout>(of: &T) -> &[u8] {
    // SAFETY: it is of integers without padding (`Layout`).
    unsafe { core::slice::from_raw_parts((&raw const *of).cast(), size_of::<T>()) }
}

/// Declares structures in the layout of C, of [`Plain`] fields and without padding, which a test of the compiler ensures.
#[macro_export]
macro_rules! layout {
    ($($(#[$about:meta])* pub struct $name:ident { $($(#[$field_about:meta])* pub $field:ident: $kind:ty,)+ })+) => {$(
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name { $($(#[$field_about])* pub $field: $kind,)+ }

        const _: () = assert!(
            0 $(+ ::core::mem::size_of::<$kind>())+ == ::core::mem::size_of::<$name>(),
            concat!(stringify!($name), " has padding"),
        );

        // SAFETY: its fields are `Plain` (or the next lines would not compile), and it has no padding.
        unsafe impl $crate::layout::Layout for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [$crate::layout::Field] = &[$($crate::layout::Field {
                name: stringify!($field),
                format: <$kind as $crate::layout::Plain>::FORMAT,
                elements: <$kind as $crate::layout::Plain>::ELEMENTS,
                offset: ::core::mem::offset_of!($name, $field),
            },)+];
        }
    )+};
}
