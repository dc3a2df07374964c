//! Creation of a plugin's client: its options, and the store of the processes that run a program together.

use super::api::{Api, Args, call, function};
use super::key_value::SharedStore;
use super::sys::{self, VersionedStruct};
use crate::plugin_options::{DEVICE_COUNT, NODE_ID, NUM_NODES};
use crate::{EngineOptions, OptionValue, PluginOptions, Processes};
use base::error;
use base::error::{Code, Error, Result};
use base::log::{Level, log};
use std::sync::Arc;

/// Name and value of an option that the library sets. All values are int64: a value of another type would end the
/// process.
type NamedInteger = (&'static str, i64);

/// A new client, and the store that it may call during its lifetime.
pub struct Created {
    /// The plugin's client.
    pub raw: *mut sys::PJRT_Client,
    /// The store of its processes, if there are several.
    pub store: Option<Arc<SharedStore>>,
}

/// Creates a client. Options of the library that the plugin rejects are left out; those of the caller never are. A
/// plugin that has called the store accepted the options: its errors, which may be those of the store, are returned.
pub fn create(api: &'static Api, options: &EngineOptions) -> Result<Created> {
    let EngineOptions { device_count, processes, plugin_options, .. } = options;
    let mut own = Vec::new();
    if plugin_options.device_count().is_none() {
        own.push((DEVICE_COUNT, (*device_count).max(1) as i64));
    }
    if let Some(processes) = processes {
        check(processes)?;
        own.extend([(NODE_ID, i64::from(processes.id)), (NUM_NODES, i64::from(processes.count))]);
    }
    let store = processes.as_ref().map(|processes| SharedStore::new(processes.store.clone()));
    loop {
        match create_with(api, &own, plugin_options, store.as_deref()) {
            Ok(raw) => return Ok(Created { raw, store }),
            Err(error) if is_rejection(&error, store.as_deref()) && leave_out(&mut own, &error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether an error may mean that the plugin rejects an option.
fn is_rejection(error: &Error, store: Option<&SharedStore>) -> bool {
    error.code == Code::InvalidArgument && !store.is_some_and(SharedStore::was_called)
}

fn check(processes: &Processes) -> Result<()> {
    let Processes { id, count, .. } = *processes;
    if count < 1 {
        return Err(error!(InvalidArgument, "process_count: {count} given; want 1 or more"));
    }
    if !(0..count).contains(&id) {
        return Err(error!(InvalidArgument, "process_id: {id} given; want 0 to {}", count - 1));
    }
    Ok(())
}

fn create_with(
    api: &Api,
    own: &[NamedInteger],
    of_caller: &PluginOptions,
    store: Option<&SharedStore>,
) -> Result<*mut sys::PJRT_Client> {
    let of_library = own.iter().map(|&(name, number)| named_value(api, name, &OptionValue::Integer(number)));
    let of_caller = of_caller.iter().map(|(name, value)| named_value(api, name, value));
    let named: Vec<sys::PJRT_NamedValue> = of_library.chain(of_caller).collect();
    let mut args = Args::<sys::PJRT_Client_Create_Args>::new(api);
    args.create_options = named.as_ptr();
    args.num_options = named.len();
    if let Some(store) = store {
        store.hand_to(&mut args);
    }
    call!(api, PJRT_Client_Create, args).map(|()| args.client)
}

/// Makes PJRT's form of an option, which points to the name and to a value that is a text or a list.
fn named_value(api: &Api, name: &str, value: &OptionValue) -> sys::PJRT_NamedValue {
    let mut named = *Args::<sys::PJRT_NamedValue>::new(api);
    // The entries are adjacent in an array, so that struct_size must be their distance.
    named.struct_size = sys::PJRT_NamedValue::STRUCT_SIZE;
    named.name = name.as_ptr().cast();
    named.name_size = name.len();
    named.value_size = 1;
    match value {
        OptionValue::Text(text) => {
            named.type_ = sys::PJRT_NamedValue_kString;
            named.value.string_value = text.as_ptr().cast();
            named.value_size = text.len();
        }
        OptionValue::Integer(number) => {
            named.type_ = sys::PJRT_NamedValue_kInt64;
            named.value.int64_value = *number;
        }
        OptionValue::Integers(numbers) => {
            named.type_ = sys::PJRT_NamedValue_kInt64List;
            named.value.int64_array_value = numbers.as_ptr();
            named.value_size = numbers.len();
        }
        OptionValue::Float(number) => {
            named.type_ = sys::PJRT_NamedValue_kFloat;
            named.value.float_value = *number;
        }
        OptionValue::Flag(flag) => {
            named.type_ = sys::PJRT_NamedValue_kBool;
            named.value.bool_value = *flag;
        }
    }
    named
}

/// Removes the options that the plugin's error names. If it names none, removes the number of devices, which only CPU
/// plugins support. Returns false if there is nothing to remove.
fn leave_out(options: &mut Vec<NamedInteger>, error: &Error) -> bool {
    let is_named = |name: &str| error.message.contains(name);
    let is_alone = is_named(NODE_ID) || is_named(NUM_NODES);
    let before = options.len();
    if is_alone {
        options.retain(|&(name, _)| name == DEVICE_COUNT);
    } else {
        options.retain(|&(name, _)| name != DEVICE_COUNT);
    }
    let is_changed = options.len() < before;
    if is_alone && is_changed {
        log(Level::Warning, || format!("the plugin does not run in several processes: {error}"));
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyValueStore;
    use std::time::Duration;

    struct Nothing;

    impl KeyValueStore for Nothing {
        fn get(&self, _key: &[u8], _timeout: Duration) -> Result<Vec<u8>> {
            Ok(vec![])
        }

        fn try_get(&self, _key: &[u8]) -> Result<Option<Vec<u8>>> {
            Ok(None)
        }

        fn put(&self, _key: &[u8], _value: &[u8]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn rejected_options_are_left_out_and_other_errors_are_not_hidden() {
        let after = |given: &[&'static str], message: &str| {
            let mut options: Vec<NamedInteger> = given.iter().map(|&name| (name, 1)).collect();
            let is_changed = leave_out(&mut options, &Error::new(Code::InvalidArgument, message));
            is_changed.then(|| options.iter().map(|&(name, _)| name).collect::<Vec<_>>())
        };
        let all = [DEVICE_COUNT, NODE_ID, NUM_NODES];
        assert_eq!(after(&all, "Unexpected option name: num_nodes").unwrap(), [DEVICE_COUNT]);
        assert_eq!(after(&all, "Unexpected option name: cpu_device_count").unwrap(), [NODE_ID, NUM_NODES]);
        assert_eq!(after(&all, "no options, please").unwrap(), [NODE_ID, NUM_NODES]);
        assert!(after(&[DEVICE_COUNT], "no options, please").unwrap().is_empty());
        assert_eq!(after(&[NODE_ID, NUM_NODES], "the other process gave another topology"), None);
        assert_eq!(after(&[], "Unexpected option name: num_nodes"), None);
    }

    #[test]
    fn wrong_processes_are_refused() {
        let of = |id: i32, count: i32| check(&Processes { id, count, store: Arc::new(Nothing) });
        assert!(of(0, 1).is_ok() && of(2, 3).is_ok());
        assert_eq!(&*of(3, 3).unwrap_err().message, "process_id: 3 given; want 0 to 2");
        assert_eq!(&*of(-1, 1).unwrap_err().message, "process_id: -1 given; want 0 to 0");
        assert_eq!(&*of(0, 0).unwrap_err().message, "process_count: 0 given; want 1 or more");
    }
}
