//! Adapts the caller's key-value store (C function pointers) to the trait of the engine.

use super::options;
use super::pointers::{In, List};
use super::types::{lxla_key_value_reply_fn, lxla_key_value_store, lxla_status};
use base::allocation::copied;
use base::error;
use base::error::{Code, Error, Result, quoted, shortened};
use engine::KeyValueStore;
use engine::exceptions::catching;
use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

/// Name of the store's argument in error messages.
const ARGUMENT: &str = "options.key_value_store";
/// Maximum length in bytes of a callback's message within an error message.
const MOST_BYTES_OF_A_MESSAGE: usize = 4096;

/// Type of `lxla_key_value_get_fn` without NULL.
type Get = unsafe extern "C-unwind" fn(
    *mut c_void,
    *const c_char,
    usize,
    i64,
    lxla_key_value_reply_fn,
    *mut c_void,
) -> lxla_status;
/// Type of `lxla_key_value_put_fn` without NULL.
type Put = unsafe extern "C-unwind" fn(
    *mut c_void,
    *const c_char,
    usize,
    *const c_void,
    usize,
    lxla_key_value_reply_fn,
    *mut c_void,
) -> lxla_status;
/// Type of `lxla_key_value_try_get_fn` without NULL.
type TryGet =
    unsafe extern "C-unwind" fn(*mut c_void, *const c_char, usize, lxla_key_value_reply_fn, *mut c_void) -> lxla_status;

/// Key-value store whose functions are callbacks of the caller.
struct CallersStore {
    user: *mut c_void,
    get: Get,
    put: Put,
    try_get: TryGet,
}

// SAFETY: `user` is only passed to the caller's functions, which may be called from any thread.
unsafe impl Send for CallersStore {}
// SAFETY: as above.
unsafe impl Sync for CallersStore {}

/// Converts the caller's store; None if it is NULL.
pub fn optional_store(store: In<lxla_key_value_store>) -> Result<Option<Arc<dyn KeyValueStore>>> {
    if store.is_null() {
        return Ok(None);
    }
    let given = options::read_argument(ARGUMENT, store)?;
    let store: Arc<dyn KeyValueStore> = Arc::new(CallersStore {
        user: given.user,
        get: required("get", given.get)?,
        put: required("put", given.put)?,
        try_get: required("try_get", given.try_get)?,
    });
    Ok(Some(store))
}

fn required<F>(field: &str, function: Option<F>) -> Result<F> {
    function.ok_or_else(|| error!(InvalidArgument, "{ARGUMENT}.{field}: it is NULL; want a function"))
}

impl KeyValueStore for CallersStore {
    fn get(&self, key: &[u8], timeout: Duration) -> Result<Vec<u8>> {
        let timeout_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let answer = Answer::of("get", move |reply, to| {
            // SAFETY: the caller's promise, see `lxla_key_value_store`; the key is pointer and length.
            unsafe { (self.get)(self.user, key.as_ptr().cast(), key.len(), timeout_ms, reply, to) }
        })?;
        answer.value("get", key)
    }

    fn try_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let answer = Answer::of("try_get", move |reply, to| {
            // SAFETY: the caller's promise, see `lxla_key_value_store`; the key is pointer and length.
            unsafe { (self.try_get)(self.user, key.as_ptr().cast(), key.len(), reply, to) }
        })?;
        if answer.status == Code::NotFound as lxla_status {
            return Ok(None);
        }
        answer.value("try_get", key).map(Some)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let answer = Answer::of("put", move |reply, to| {
            let (start, size) = (key.as_ptr().cast(), key.len());
            // SAFETY: the caller's promise, see `lxla_key_value_store`; key and value are pointer and length.
            unsafe { (self.put)(self.user, start, size, value.as_ptr().cast(), value.len(), reply, to) }
        })?;
        if answer.status == 0 { Ok(()) } else { Err(answer.failure("put", key)) }
    }
}

/// Bytes passed to the reply function, or the error for invalid ones; None if the callback did not reply.
type Reply = Option<Result<Vec<u8>>>;

/// Reply function passed to the callbacks: copies the bytes to the [`Reply`] at `to`.
unsafe extern "C" fn take_reply(to: *mut c_void, bytes: *const c_void, size: usize) {
    // SAFETY: the caller passes the pointer that it was given, before its function returns.
    let Some(reply) = (unsafe { to.cast::<Reply>().as_mut() }) else { return };
    // SAFETY: the caller passes pointer and length.
    let given = unsafe { List::at(bytes.cast::<u8>()) }.get("bytes", size);
    *reply = Some(given.and_then(|bytes| copied(bytes, "a value of the key-value store")));
}

/// Status returned by a callback, and the bytes that it replied.
struct Answer {
    status: lxla_status,
    reply: Reply,
}

impl Answer {
    /// Calls a callback with the reply function and its `to` argument, the last two of every callback's arguments.
    fn of(
        function: &str,
        call: impl FnOnce(lxla_key_value_reply_fn, *mut c_void) -> lxla_status + Copy,
    ) -> Result<Answer> {
        let mut reply: Reply = None;
        let to = (&raw mut reply).cast();
        let status = catching(move || call(Some(take_reply), to));
        let status = status.map_err(|thrown| error!(Internal, "{ARGUMENT}.{function}: it {thrown}"))?;
        Ok(Answer { status, reply })
    }

    /// Returns the replied value, or the error of the callback.
    fn value(self, function: &str, key: &[u8]) -> Result<Vec<u8>> {
        if self.status != 0 {
            return Err(self.failure(function, key));
        }
        match self.reply {
            Some(reply) => reply.map_err(|e| e.context(format_args!("{ARGUMENT}.{function}"))),
            None => {
                let key = quoted(&String::from_utf8_lossy(key));
                Err(error!(Internal, "{ARGUMENT}.{function}: it returned OK for the key {key} without a reply"))
            }
        }
    }

    /// Returns the error for a callback whose status is not OK.
    fn failure(self, function: &str, key: &[u8]) -> Error {
        let (code, status) = match Code::from_number(self.status) {
            Some(code) => (code, code.name().to_string_lossy()),
            None => (Code::Internal, format!("{}, which is not a status code,", self.status).into()),
        };
        let key = quoted(&String::from_utf8_lossy(key));
        let message = match self.reply {
            Some(Ok(text)) if !text.is_empty() => {
                format!(": {}", shortened(&String::from_utf8_lossy(&text), MOST_BYTES_OF_A_MESSAGE))
            }
            _ => String::new(),
        };
        Error::new(code, format!("{ARGUMENT}.{function}: it returned {status} for the key {key}{message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status and reply of every callback of a store.
    struct Fixed {
        status: lxla_status,
        reply: Option<&'static [u8]>,
    }

    fn answer(user: *mut c_void, reply: lxla_key_value_reply_fn, to: *mut c_void) -> lxla_status {
        // SAFETY: `user` of the stores below is a `Fixed` that outlives them.
        let fixed = unsafe { &*user.cast::<Fixed>() };
        if let Some(bytes) = fixed.reply {
            // SAFETY: the arguments are those that the function was passed, and the bytes are pointer and length.
            unsafe { reply.unwrap()(to, bytes.as_ptr().cast(), bytes.len()) };
        }
        fixed.status
    }

    unsafe extern "C-unwind" fn get(
        user: *mut c_void,
        _key: *const c_char,
        _key_size: usize,
        _timeout_ms: i64,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status {
        answer(user, reply, to)
    }

    unsafe extern "C-unwind" fn put(
        user: *mut c_void,
        _key: *const c_char,
        _key_size: usize,
        _value: *const c_void,
        _value_size: usize,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status {
        answer(user, reply, to)
    }

    unsafe extern "C-unwind" fn try_get(
        user: *mut c_void,
        _key: *const c_char,
        _key_size: usize,
        reply: lxla_key_value_reply_fn,
        to: *mut c_void,
    ) -> lxla_status {
        answer(user, reply, to)
    }

    fn given(fixed: &Fixed) -> lxla_key_value_store {
        lxla_key_value_store {
            struct_size: size_of::<lxla_key_value_store>(),
            user: (&raw const *fixed).cast_mut().cast(),
            get: Some(get),
            put: Some(put),
            try_get: Some(try_get),
        }
    }

    fn refused(store: &lxla_key_value_store) -> Error {
        optional_store(store.into()).err().unwrap()
    }

    #[test]
    fn values_and_failures_of_callers_functions_are_told_apart() {
        let told = |status: lxla_status, reply: Option<&'static [u8]>| {
            let fixed = Fixed { status, reply };
            let store = optional_store((&given(&fixed)).into()).unwrap().unwrap();
            let text = |e: Error| format!("{:?} {e}", e.code);
            let got = store.get(b"a", Duration::from_secs(1)).map_err(text);
            (got, store.try_get(b"a").map_err(text), store.put(b"a", b"b").map_err(text))
        };
        assert_eq!(told(0, Some(b"")), (Ok(vec![]), Ok(Some(vec![])), Ok(())));
        assert_eq!(told(0, Some(b"c")), (Ok(b"c".to_vec()), Ok(Some(b"c".to_vec())), Ok(())));
        let (got, tried, put) = told(0, None);
        let silent = "Internal options.key_value_store.get: it returned OK for the key \"a\" without a reply";
        assert_eq!(got.unwrap_err(), silent);
        assert_eq!((tried.unwrap_err(), put), (silent.replace(".get", ".try_get"), Ok(())));
        let (got, tried, put) = told(14, Some(b"the server is gone"));
        let gone = "Unavailable options.key_value_store.get: it returned UNAVAILABLE for the key \"a\": \
                    the server is gone";
        assert_eq!(got.unwrap_err(), gone);
        assert_eq!(tried.unwrap_err(), gone.replace(".get", ".try_get"));
        assert_eq!(put.unwrap_err(), gone.replace(".get", ".put"));
        let (got, tried, _) = told(5, None);
        assert_eq!(got.unwrap_err(), "NotFound options.key_value_store.get: it returned NOT_FOUND for the key \"a\"");
        assert_eq!(tried, Ok(None));
        assert!(told(99, None).2.unwrap_err().starts_with("Internal options.key_value_store.put: it returned 99, "));
    }

    #[test]
    fn stores_without_all_functions_are_refused() {
        let fixed = Fixed { status: 0, reply: None };
        assert!(optional_store(In::default()).unwrap().is_none());
        let no_put = refused(&lxla_key_value_store { put: None, ..given(&fixed) });
        assert_eq!(no_put.code, Code::InvalidArgument);
        assert_eq!(&*no_put.message, "options.key_value_store.put: it is NULL; want a function");
        let shorter = refused(&lxla_key_value_store { struct_size: 32, ..given(&fixed) });
        assert_eq!(&*shorter.message, "options.key_value_store.try_get: it is NULL; want a function");
        let none = refused(&lxla_key_value_store { struct_size: 4, ..given(&fixed) });
        assert_eq!(
            &*none.message,
            "options.key_value_store: struct_size is 4; set it to sizeof(lxla_key_value_store), 40"
        );
    }
}
