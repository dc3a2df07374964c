//! Text of an exception: `what()` of a `std::exception`. This library is not linked with a C++ runtime, and a plugin may
//! hide the functions of its own. So it reads the structures of the Itanium C++ ABI, which are the same in all runtimes
//! on this processor: the header before a thrown object, its type, and the types of its bases.

use super::caught::{CPP, Exception, RUST};
use base::error::shortened;
use std::ffi::{CStr, c_char, c_void};

/// Most bytes of an exception's text within a message.
const MOST_BYTES: usize = 1000;
/// Distance from the address of a type, or of the object that was thrown again, to the unwinder's part of a header.
const TYPE_BEFORE: usize = 80;
/// Size of the unwinder's part, behind which the thrown object is.
const UNWINDER_PART: usize = 32;
/// Most classes between a thrown class and `std::exception`.
const DEPTH: usize = 32;

/// Describes an exception.
///
/// # Safety
/// It was caught and is not freed.
pub(super) unsafe fn text_of(exception: *mut Exception) -> String {
    // SAFETY: guaranteed by the caller; the class says which runtime made the header.
    unsafe {
        let class = (*exception).class;
        if class == RUST {
            return "a panic of Rust".to_string();
        }
        if !CPP.contains(&(class >> 8)) {
            return "not one of C++".to_string();
        }
        let Some((ty, object)) = thrown(exception) else { return "thrown again".to_string() };
        let text = match std_exception(ty, object, DEPTH) {
            Some(object) => what(object),
            None if name(ty) == c"PKc" => *object.cast::<*const c_char>(),
            None => std::ptr::null(),
        };
        if text.is_null() {
            return format!("of the C++ type {}", name(ty).to_string_lossy());
        }
        shortened(&CStr::from_ptr(text).to_string_lossy(), MOST_BYTES).into_owned()
    }
}

/// Type and object of an exception of C++.
///
/// # Safety
/// It was caught and is not freed.
unsafe fn thrown(exception: *mut Exception) -> Option<(*const c_void, *const c_void)> {
    // SAFETY: guaranteed by the caller. The header of an exception begins before the unwinder's part.
    unsafe {
        let before = exception.cast::<u8>().sub(TYPE_BEFORE).cast::<*const c_void>();
        match (*exception).class & 0xFF {
            0 => Some((*before, exception.cast::<u8>().add(UNWINDER_PART).cast())),
            // An exception of libstdc++ that was thrown again from a `std::exception_ptr`: there is the first one's
            // object.
            1 if (*exception).class >> 8 == CPP[0] => {
                let object = *before;
                Some((*object.cast::<u8>().sub(UNWINDER_PART + TYPE_BEFORE).cast(), object))
            }
            _ => None,
        }
    }
}

/// Name of a type, as compilers write it.
///
/// # Safety
/// `ty` points to a `std::type_info`.
unsafe fn name<'a>(ty: *const c_void) -> &'a CStr {
    // SAFETY: guaranteed by the caller; the second word is the name, with an asterisk before that of a local type.
    unsafe {
        let name = *ty.cast::<*const c_char>().add(1);
        CStr::from_ptr(if *name == b'*' as c_char { name.add(1) } else { name })
    }
}

/// The part of an object that is a `std::exception`, if its class is derived from it.
///
/// # Safety
/// `ty` points to the `std::type_info` of the object.
unsafe fn std_exception(ty: *const c_void, object: *const c_void, depth: usize) -> Option<*const c_void> {
    // SAFETY: guaranteed by the caller; the class of the `std::type_info` says which of the ABI's structs it is.
    unsafe {
        if name(ty) == c"St9exception" {
            return Some(object);
        }
        let depth = depth.checked_sub(1)?;
        let class = *(*ty.cast::<*const *const c_void>()).sub(1);
        let words = ty.cast::<*const c_void>();
        match name(class).to_bytes() {
            b"N10__cxxabiv120__si_class_type_infoE" => std_exception(*words.add(2), object, depth),
            b"N10__cxxabiv121__vmi_class_type_infoE" => {
                let count = *words.add(2).cast::<u32>().add(1) as usize;
                (0..count).find_map(|i| {
                    let (base, place) = (*words.add(3 + 2 * i), *words.add(4 + 2 * i) as isize);
                    std_exception(base, base_of(object, place)?, depth)
                })
            }
            _ => None,
        }
    }
}

/// A base of an object, by the flags and the offset that its type has for it. None for a base that is not public.
///
/// # Safety
/// The object's type has this base.
unsafe fn base_of(object: *const c_void, place: isize) -> Option<*const c_void> {
    const VIRTUAL: isize = 1;
    const PUBLIC: isize = 2;
    if place & PUBLIC == 0 {
        return None;
    }
    let mut offset = place >> 8;
    if place & VIRTUAL != 0 {
        // SAFETY: an object with virtual bases begins with the address of its table, which has their offsets.
        offset = unsafe { *(*object.cast::<*const u8>()).offset(offset).cast::<isize>() };
    }
    // SAFETY: guaranteed by the caller.
    Some(unsafe { object.cast::<u8>().offset(offset).cast() })
}

/// Calls `what()`, the third function of a `std::exception`, after its destructors. It does not throw.
///
/// # Safety
/// `object` points to a `std::exception`.
unsafe fn what(object: *const c_void) -> *const c_char {
    type What = unsafe extern "C" fn(*const c_void) -> *const c_char;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let what: What = *(*object.cast::<*const What>()).add(2);
        what(object)
    }
}
