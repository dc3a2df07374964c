//! Callbacks through which a plugin reaches the key-value store that the processes of a program share.
//!
//! Nothing may unwind into the plugin: a panic of the store becomes an INTERNAL error.

use super::sys;
use crate::KeyValueStore;
use base::error;
use base::error::{Code, Result};
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Function of the plugin that creates an error object.
type CreateError = Option<unsafe extern "C" fn(sys::PJRT_Error_Code, *const c_char, usize) -> *mut sys::PJRT_Error>;

/// A store at a fixed address, which the plugin passes to the callbacks. It must live as long as the plugin's client.
pub struct SharedStore {
    store: Arc<dyn KeyValueStore>,
    was_called: AtomicBool,
}

impl SharedStore {
    /// Allocates the store at a fixed address.
    pub fn new(store: Arc<dyn KeyValueStore>) -> Arc<SharedStore> {
        Arc::new(SharedStore { store, was_called: AtomicBool::new(false) })
    }

    /// Whether the plugin has called the store.
    pub fn was_called(&self) -> bool {
        self.was_called.load(Ordering::Relaxed)
    }

    /// Sets the callbacks in the arguments with which a client is created.
    pub fn hand_to(&self, args: &mut sys::PJRT_Client_Create_Args) {
        let user_arg: *mut c_void = (&raw const *self).cast_mut().cast();
        args.kv_get_callback = Some(get);
        args.kv_get_user_arg = user_arg;
        args.kv_try_get_callback = Some(try_get);
        args.kv_try_get_user_arg = user_arg;
        args.kv_put_callback = Some(put);
        args.kv_put_user_arg = user_arg;
    }
}

/// Callback that waits for a value.
unsafe extern "C" fn get(args: *mut sys::PJRT_KeyValueGetCallback_Args) -> *mut sys::PJRT_Error {
    // SAFETY: the plugin passes arguments that are valid during the call.
    let args = unsafe { &mut *args };
    // SAFETY: the key is pointer and length, and the plugin passes the store that it was given.
    let (key, store) = unsafe { (bytes(args.key, args.key_size), store(args.user_arg)) };
    let timeout = Duration::from_millis(u64::try_from(args.timeout_in_ms).unwrap_or(0));
    let create = args.callback_error;
    let call = || {
        (args.value, args.value_size) = allocated(&store.get(key, timeout)?)?;
        args.value_deleter_callback = Some(free);
        Ok(())
    };
    // SAFETY: the function comes with the arguments.
    unsafe { reported(create, call) }
}

/// Callback that returns a value if there is one.
unsafe extern "C" fn try_get(args: *mut sys::PJRT_KeyValueTryGetCallback_Args) -> *mut sys::PJRT_Error {
    // SAFETY: the plugin passes arguments that are valid during the call.
    let args = unsafe { &mut *args };
    // SAFETY: the key is pointer and length, and the plugin passes the store that it was given.
    let (key, store) = unsafe { (bytes(args.key, args.key_size), store(args.user_arg)) };
    let create = args.callback_error;
    let call = || {
        let missing = || error!(NotFound, "there is no value for {:?}", String::from_utf8_lossy(key));
        (args.value, args.value_size) = allocated(&store.try_get(key)?.ok_or_else(missing)?)?;
        args.value_deleter_callback = Some(free);
        Ok(())
    };
    // SAFETY: the function comes with the arguments.
    unsafe { reported(create, call) }
}

/// Callback that sets a value.
unsafe extern "C" fn put(args: *mut sys::PJRT_KeyValuePutCallback_Args) -> *mut sys::PJRT_Error {
    // SAFETY: the plugin passes arguments that are valid during the call.
    let args = unsafe { &*args };
    // SAFETY: key and value are pointer and length, and the plugin passes the store that it was given.
    let (key, value, store) =
        unsafe { (bytes(args.key, args.key_size), bytes(args.value, args.value_size), store(args.user_arg)) };
    // SAFETY: the function comes with the arguments.
    unsafe { reported(args.callback_error, || store.put(key, value)) }
}

/// Returns the store that was handed to the plugin.
///
/// # Safety
/// `user_arg` is the address of a [`SharedStore`] that lives during the call.
unsafe fn store<'a>(user_arg: *mut c_void) -> &'a dyn KeyValueStore {
    // SAFETY: guaranteed by the caller.
    let shared: &'a SharedStore = unsafe { &*user_arg.cast::<SharedStore>() };
    shared.was_called.store(true, Ordering::Relaxed);
    shared.store.as_ref()
}

/// Bytes that a plugin passes as pointer and length; without bytes, the pointer may be null.
///
/// # Safety
/// `start` points to `size` bytes that are valid during the call, or `size` is 0.
unsafe fn bytes<'a>(start: *const c_char, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: guaranteed by the caller.
        _ => unsafe { std::slice::from_raw_parts(start.cast(), size) },
    }
}

/// Copies a value to memory that [`free`] can free without its size. Returns the memory and the size.
fn allocated(value: &[u8]) -> Result<(*mut c_char, usize)> {
    // SAFETY: malloc takes any size; that of an empty value is not 0, so that null means a failure.
    let memory: *mut u8 = unsafe { libc::malloc(value.len().max(1)) }.cast();
    if memory.is_null() {
        return Err(error!(ResourceExhausted, "no host memory for a value of {} bytes", value.len()));
    }
    // SAFETY: the new memory has room for the value.
    unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), memory, value.len()) };
    Ok((memory.cast(), value.len()))
}

/// Deleter of values.
unsafe extern "C" fn free(value: *mut c_char) {
    // SAFETY: the plugin calls the deleter once, with a value that `allocated` made, or null.
    unsafe { libc::free(value.cast()) };
}

/// Runs a call of the store. Returns null, or its error for the plugin; a panic is an INTERNAL error.
///
/// # Safety
/// `create` is null or the `callback_error` of the arguments of a callback that has not returned.
unsafe fn reported(create: *mut CreateError, call: impl FnOnce() -> Result<()>) -> *mut sys::PJRT_Error {
    let panicked = |_| Err(error!(Internal, "the key-value store panicked"));
    let Err(error) = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked) else { return null_mut() };
    // Codes of this library are unknown to plugins.
    let code = if error.code as u32 <= Code::Unauthenticated as u32 { error.code } else { Code::Internal };
    // SAFETY: guaranteed by the caller.
    match unsafe { create.as_ref() }.copied().flatten() {
        // SAFETY: the plugin's function copies the message.
        Some(create) => unsafe { create(code as u32, error.message.as_ptr().cast(), error.message.len()) },
        None => null_mut(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Error;
    use parking_lot::Mutex;
    use std::collections::HashMap;

    #[derive(Default)]
    struct Memory(Mutex<HashMap<Vec<u8>, Vec<u8>>>);

    impl KeyValueStore for Memory {
        fn get(&self, key: &[u8], timeout: Duration) -> Result<Vec<u8>> {
            let missing = || error!(DeadlineExceeded, "no value after {} ms", timeout.as_millis());
            self.0.lock().get(key).cloned().ok_or_else(missing)
        }

        fn try_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
            Ok(self.0.lock().get(key).cloned())
        }

        fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
            assert_ne!(key, b"panic", "a store that panics");
            self.0.lock().insert(key.to_vec(), value.to_vec());
            Ok(())
        }
    }

    /// Like a plugin's function: the error is a message on the heap.
    unsafe extern "C" fn create(
        code: sys::PJRT_Error_Code,
        message: *const c_char,
        size: usize,
    ) -> *mut sys::PJRT_Error {
        // SAFETY: the callbacks pass pointer and length.
        let message = unsafe { bytes(message, size) };
        Box::into_raw(Box::new((code, String::from_utf8(message.to_vec()).unwrap()))).cast()
    }

    /// Takes an error that [`create`] made.
    fn taken(error: *mut sys::PJRT_Error) -> Option<(sys::PJRT_Error_Code, String)> {
        // SAFETY: every error is a box of this type, and is taken once.
        (!error.is_null()).then(|| *unsafe { Box::from_raw(error.cast::<(sys::PJRT_Error_Code, String)>()) })
    }

    fn created_args() -> (Arc<SharedStore>, sys::PJRT_Client_Create_Args) {
        let store = SharedStore::new(Arc::new(Memory::default()));
        // SAFETY: zero is a valid value of all fields.
        let mut args: sys::PJRT_Client_Create_Args = unsafe { std::mem::zeroed() };
        store.hand_to(&mut args);
        (store, args)
    }

    fn call_put(client: &sys::PJRT_Client_Create_Args, key: &[u8], value: &[u8]) -> *mut sys::PJRT_Error {
        let mut create: CreateError = Some(create);
        // SAFETY: zero is a valid value of all fields.
        let mut args: sys::PJRT_KeyValuePutCallback_Args = unsafe { std::mem::zeroed() };
        (args.key, args.key_size) = (key.as_ptr().cast(), key.len());
        (args.value, args.value_size) = (value.as_ptr().cast(), value.len());
        (args.callback_error, args.user_arg) = (&raw mut create, client.kv_put_user_arg);
        // SAFETY: the arguments are complete.
        unsafe { client.kv_put_callback.unwrap()(&mut args) }
    }

    /// Calls get if `timeout` is given, otherwise try_get.
    fn call_get(
        client: &sys::PJRT_Client_Create_Args,
        key: &[u8],
        timeout: Option<i32>,
    ) -> std::result::Result<Vec<u8>, (sys::PJRT_Error_Code, String)> {
        let mut create: CreateError = Some(create);
        // SAFETY: zero is a valid value of all fields.
        let (mut get, mut try_get): (sys::PJRT_KeyValueGetCallback_Args, sys::PJRT_KeyValueTryGetCallback_Args) =
            unsafe { std::mem::zeroed() };
        let (error, value, size, delete) = match timeout {
            Some(timeout) => {
                (get.key, get.key_size, get.timeout_in_ms) = (key.as_ptr().cast(), key.len(), timeout);
                (get.callback_error, get.user_arg) = (&raw mut create, client.kv_get_user_arg);
                // SAFETY: the arguments are complete.
                let error = unsafe { client.kv_get_callback.unwrap()(&mut get) };
                (error, get.value, get.value_size, get.value_deleter_callback)
            }
            None => {
                (try_get.key, try_get.key_size) = (key.as_ptr().cast(), key.len());
                (try_get.callback_error, try_get.user_arg) = (&raw mut create, client.kv_try_get_user_arg);
                // SAFETY: the arguments are complete.
                let error = unsafe { client.kv_try_get_callback.unwrap()(&mut try_get) };
                (error, try_get.value, try_get.value_size, try_get.value_deleter_callback)
            }
        };
        if let Some(error) = taken(error) {
            return Err(error);
        }
        // SAFETY: without an error there is a value, with its size and deleter.
        Ok(unsafe {
            let copy = bytes(value, size).to_vec();
            delete.unwrap()(value);
            copy
        })
    }

    #[test]
    fn a_plugin_puts_and_gets_values() {
        let (store, client) = created_args();
        assert!(!store.was_called());
        assert!(call_put(&client, b"a", b"one").is_null());
        assert!(store.was_called());
        assert!(call_put(&client, b"empty", b"").is_null());
        for timeout in [Some(10), None] {
            assert_eq!(call_get(&client, b"a", timeout).unwrap(), b"one");
            assert_eq!(call_get(&client, b"empty", timeout).unwrap(), b"");
        }
    }

    #[test]
    fn failures_and_panics_of_the_store_are_errors() {
        let (_store, client) = created_args();
        let late = call_get(&client, b"none", Some(25)).unwrap_err();
        assert_eq!(late, (Code::DeadlineExceeded as u32, "no value after 25 ms".to_string()));
        assert_eq!(call_get(&client, b"none", Some(-1)).unwrap_err().1, "no value after 0 ms");
        assert_eq!(call_get(&client, b"none", None).unwrap_err().0, Code::NotFound as u32);
        let (code, message) = taken(call_put(&client, b"panic", b"")).unwrap();
        assert_eq!((code, message.as_str()), (Code::Internal as u32, "the key-value store panicked"));
        let own = Error::new(Code::Panic, "not PJRT's");
        let mut create: CreateError = Some(create);
        // SAFETY: the function is given.
        let made = taken(unsafe { reported(&raw mut create, || Err(own)) }).unwrap();
        assert_eq!(made, (Code::Internal as u32, "not PJRT's".to_string()));
    }
}
