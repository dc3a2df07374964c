//! Exceptions that were caught: their end, as the Itanium C++ ABI defines it.

use std::ffi::{CStr, c_int, c_void};
use std::mem::{MaybeUninit, transmute};

/// Start of an exception (`_Unwind_Exception`).
#[repr(C)]
pub(super) struct Exception {
    pub(super) class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
}

/// Class of Rust's panics. Only the copy of the runtime that raised one can free it.
pub(super) const RUST: u64 = u64::from_be_bytes(*b"MOZ\0RUST");
/// Classes of the exceptions of C++, without the last byte: those of libstdc++ and of libc++.
pub(super) const CPP: [u64; 2] = [u64::from_be_bytes(*b"\0GNUCC++"), u64::from_be_bytes(*b"\0CLNGC++")];

unsafe extern "C" {
    fn _Unwind_DeleteException(exception: *mut Exception);
}

/// Functions of a C++ runtime that begin and end the handling of an exception.
struct Runtime {
    begin_catch: unsafe extern "C" fn(*mut Exception) -> *mut c_void,
    end_catch: unsafe extern "C" fn(),
}

/// Ends the handling of an exception and frees it. C++'s own functions do so for one of C++, because they also count
/// the exceptions in flight (`std::uncaught_exceptions`).
///
/// # Safety
/// It was caught on this thread, and is not used again.
pub(super) unsafe fn free(exception: *mut Exception) {
    // SAFETY: guaranteed by the caller; the functions are those of the runtime that threw it.
    unsafe {
        let class = (*exception).class;
        if class == RUST {
            return;
        }
        match if CPP.contains(&(class >> 8)) { runtime_of(exception) } else { None } {
            Some(Runtime { begin_catch, end_catch }) => {
                begin_catch(exception);
                end_catch();
            }
            None => _Unwind_DeleteException(exception),
        }
    }
}

/// Finds the C++ runtime that threw an exception: the library that has its cleanup function. This library is not linked
/// with one, and a process may have several. None if the runtime does not export its functions (it may be linked
/// statically); the count of exceptions in flight then stays raised.
///
/// # Safety
/// The exception is one of C++.
unsafe fn runtime_of(exception: *mut Exception) -> Option<Runtime> {
    // SAFETY: guaranteed by the caller. The types are those of the Itanium C++ ABI. The library cannot be unloaded
    // before the exception is freed, since the exception needs it.
    unsafe {
        let home = module_of((*exception).cleanup? as *const c_void)?;
        let mut library = libc::dlopen(home.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            // The name of the program itself need not be a path.
            library = libc::dlopen(std::ptr::null(), libc::RTLD_LAZY);
        }
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| {
            let found = libc::dlsym(library, name.as_ptr());
            // The search goes on in the libraries that this one needs.
            let is_there = !found.is_null() && module_of(found)?.dli_fbase == home.dli_fbase;
            is_there.then_some(found)
        };
        let functions = find(c"__cxa_begin_catch").zip(find(c"__cxa_end_catch"));
        libc::dlclose(library);
        let (begin, end) = functions?;
        Some(Runtime {
            begin_catch: transmute::<*mut c_void, unsafe extern "C" fn(*mut Exception) -> *mut c_void>(begin),
            end_catch: transmute::<*mut c_void, unsafe extern "C" fn()>(end),
        })
    }
}

/// The loaded file that has an address.
fn module_of(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address, and only writes to `info`, of which zeros are a value.
    let info = unsafe { (libc::dladdr(address, info.as_mut_ptr()) != 0).then(|| info.assume_init())? };
    (!info.dli_fname.is_null()).then_some(info)
}
