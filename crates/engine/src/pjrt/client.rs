//! A client of a plugin, shared by its buffers and executables: its devices, its work in flight, and the number of
//! bytes that its buffers hold.

use super::api::{self, Api, Args, call, function};
use super::create::{Created, create};
use super::event::Event;
use super::key_value::SharedStore;
use super::{exit, sys};
use crate::{EngineOptions, MemoryStatistics, count_enqueued};
use base::error;
use base::error::{Error, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Owns a `PJRT_Client`. Kept alive by its buffers and executables.
pub struct Client {
    pub(super) api: &'static Api,
    raw: *mut sys::PJRT_Client,
    /// Devices of this process.
    devices: Vec<*mut sys::PJRT_Device>,
    /// Global id of the device of this process, if there is exactly one and the plugin reports its id.
    only_device: Option<i32>,
    /// Key-value store of the client's processes, if there are several.
    store: Option<Arc<SharedStore>>,
    /// Number of this process, from 0.
    process_index: i32,
    /// Whether device memory is host memory that can be read in place.
    pub(super) host_readable: bool,
    /// Locked while a program is enqueued on several devices: two such programs must be enqueued in the same order on
    /// all devices, or each would wait for the other in its first collective.
    pub(super) launching: Mutex<()>,
    in_flight: Vec<Mutex<InFlight>>,
    live: AtomicU64,
    peak: AtomicU64,
}

/// Number of runs and copies that may be in flight on one device. Less than the limit of PJRT's CPU client (32 runs),
/// so that it holds on every plugin.
pub(super) const MOST_IN_FLIGHT: usize = 16;

/// Work of one device that may not have ended, oldest first.
#[derive(Default)]
struct InFlight {
    /// With their numbers in the order of enqueuing, over all devices.
    events: VecDeque<(u64, Arc<Event>)>,
    /// First error of an event that was removed without being awaited; reported by the next wait.
    failure: Option<Error>,
}

// SAFETY: PJRT clients and devices may be used from any thread.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    /// Creates a client with the devices that the options ask for, in one of several processes if they are given.
    pub fn start(api: &'static Api, options: &EngineOptions) -> Result<Arc<Client>> {
        let device_count = options.device_count;
        check_threads(options.plugin_options.device_count().unwrap_or(device_count))?;
        let Created { raw, store } = create(api, options)?;
        let mut client = Client {
            api,
            raw,
            devices: Vec::new(),
            only_device: None,
            store,
            process_index: 0,
            host_readable: false,
            launching: Mutex::new(()),
            in_flight: Vec::new(),
            live: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        };
        client.devices = client.addressable_devices()?;
        client.in_flight.resize_with(client.devices.len(), Mutex::default);
        if client.devices.is_empty() {
            return Err(error!(Unavailable, "the plugin's client has no device that this process can use"));
        }
        if device_count != 0 && client.devices.len() != device_count {
            return Err(error!(
                InvalidArgument,
                "device_count: asked for {device_count} devices, the plugin has {}",
                client.devices.len()
            ));
        }
        if client.devices.len() == 1 {
            // A plugin that does not report the id gets portable executables.
            client.only_device = client.device_id(0).ok();
        }
        client.host_readable = client.platform_name()? == "cpu";
        client.process_index = client.find_process_index();
        let client = Arc::new(client);
        exit::register(&client);
        Ok(client)
    }

    fn addressable_devices(&self) -> Result<Vec<*mut sys::PJRT_Device>> {
        let mut args = Args::<sys::PJRT_Client_AddressableDevices_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_AddressableDevices, args)?;
        if args.num_addressable_devices == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the plugin returned pointer and length, which are valid as long as the client.
        Ok(unsafe { std::slice::from_raw_parts(args.addressable_devices, args.num_addressable_devices) }.to_vec())
    }

    /// Number of this process as reported by the plugin; 0 if it does not report one.
    fn find_process_index(&self) -> i32 {
        let mut args = Args::<sys::PJRT_Client_ProcessIndex_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_ProcessIndex, args).map_or(0, |()| args.process_index)
    }

    /// Number of this process among those that the client runs in, from 0.
    pub fn process_index(&self) -> i32 {
        self.process_index
    }

    /// Platform name reported by the plugin.
    pub fn platform_name(&self) -> Result<String> {
        let mut args = Args::<sys::PJRT_Client_PlatformName_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_PlatformName, args)?;
        // SAFETY: the plugin returned pointer and length, which are valid as long as the client.
        Ok(unsafe { api::text(args.platform_name, args.platform_name_size) })
    }

    /// Platform version reported by the plugin.
    pub fn platform_version(&self) -> Result<String> {
        let mut args = Args::<sys::PJRT_Client_PlatformVersion_Args>::new(self.api);
        args.client = self.raw;
        call!(self.api, PJRT_Client_PlatformVersion, args)?;
        // SAFETY: the plugin returned pointer and length, which are valid as long as the client.
        Ok(unsafe { api::text(args.platform_version, args.platform_version_size) })
    }

    pub(super) fn device(&self, index: usize) -> Result<*mut sys::PJRT_Device> {
        self.devices
            .get(index)
            .copied()
            .ok_or_else(|| error!(InvalidArgument, "device: there is no device {index}, only {}", self.devices.len()))
    }

    /// Global id of the client's device, if it has exactly one and the plugin reports its id. Programs are then
    /// compiled for this device.
    pub fn only_device(&self) -> Option<i32> {
        self.only_device
    }

    /// Device to name in an execution; null if programs are compiled for [`Client::only_device`].
    pub(super) fn device_to_name(&self, index: usize) -> Result<*mut sys::PJRT_Device> {
        self.device(index).map(|device| if self.only_device.is_some() { null_mut() } else { device })
    }

    /// Id of a device, which is unique among the devices of all processes.
    pub(super) fn device_id(&self, index: usize) -> Result<i32> {
        let mut device = Args::<sys::PJRT_Device_GetDescription_Args>::new(self.api);
        device.device = self.device(index)?;
        call!(self.api, PJRT_Device_GetDescription, device)?;
        let mut args = Args::<sys::PJRT_DeviceDescription_Id_Args>::new(self.api);
        args.device_description = device.device_description;
        call!(self.api, PJRT_DeviceDescription_Id, args)?;
        Ok(args.id)
    }

    /// Statistics of a device's memory, those that the plugin reports.
    pub fn memory_statistics(&self, index: usize) -> Result<MemoryStatistics> {
        let mut args = Args::<sys::PJRT_Device_MemoryStats_Args>::new(self.api);
        args.device = self.device(index)?;
        call!(self.api, PJRT_Device_MemoryStats, args)?;
        let all = [
            ("bytes_in_use", args.bytes_in_use, true),
            ("peak_bytes_in_use", args.peak_bytes_in_use, args.peak_bytes_in_use_is_set),
            ("num_allocs", args.num_allocs, args.num_allocs_is_set),
            ("largest_alloc_size", args.largest_alloc_size, args.largest_alloc_size_is_set),
            ("bytes_limit", args.bytes_limit, args.bytes_limit_is_set),
            ("bytes_reserved", args.bytes_reserved, args.bytes_reserved_is_set),
            ("peak_bytes_reserved", args.peak_bytes_reserved, args.peak_bytes_reserved_is_set),
            ("bytes_reservable_limit", args.bytes_reservable_limit, args.bytes_reservable_limit_is_set),
            ("largest_free_block_bytes", args.largest_free_block_bytes, args.largest_free_block_bytes_is_set),
            ("pool_bytes", args.pool_bytes, args.pool_bytes_is_set),
            ("peak_pool_bytes", args.peak_pool_bytes, args.peak_pool_bytes_is_set),
        ];
        Ok(all.into_iter().filter(|&(_, _, is_set)| is_set).map(|(name, value, _)| (name, value)).collect())
    }

    /// Counts bytes that were allocated and freed by the same operation.
    pub(super) fn count(&self, appeared: u64, freed: u64) {
        if appeared >= freed {
            let live = self.live.fetch_add(appeared - freed, Ordering::Relaxed) + (appeared - freed);
            self.peak.fetch_max(live, Ordering::Relaxed);
        } else {
            self.live.fetch_sub(freed - appeared, Ordering::Relaxed);
        }
    }

    /// Adds the event of enqueued work, and removes events that have ended, keeping the first error. Blocks until the
    /// oldest work has ended if there are more than [`MOST_IN_FLIGHT`] others: a program that enqueues faster than the
    /// device runs would hold the memory of all their results.
    pub(super) fn in_flight(&self, device: usize, event: Event) {
        let oldest = {
            let mut list = self.in_flight[device].lock();
            while list.events.front().is_some_and(|(_, oldest)| oldest.is_ready()) {
                if let Some(Err(error)) = list.events.pop_front().map(|(_, ended)| ended.wait()) {
                    list.failure.get_or_insert(error);
                }
            }
            let number = count_enqueued();
            list.events.push_back((number, Arc::new(event)));
            if list.events.len() > MOST_IN_FLIGHT { list.events.front().cloned() } else { None }
        };
        if let Some((_, oldest)) = oldest {
            // Its error is reported when it is removed from the list.
            let _ = oldest.wait();
        }
    }

    /// Drops a value when the work that was enqueued last on a device has ended.
    pub fn when_ended(&self, device: usize, value: Box<dyn Any + Send>) {
        let last = self.in_flight[device].lock().events.back().cloned();
        if let Some((_, last)) = last {
            // A plugin that refuses has dropped the value.
            let _ = last.drop_when_ended(value);
        }
    }

    /// Number of events in flight on a device that were not found to have ended.
    #[cfg(test)]
    pub(super) fn in_flight_count(&self, device: usize) -> usize {
        self.in_flight[device].lock().events.len()
    }

    /// Blocks until all work enqueued on a device has ended. Returns the first error that was not reported before.
    pub fn wait(&self, device: usize) -> Result<()> {
        self.wait_for(device, u64::MAX)
    }

    /// Does what [`Client::wait`] does, for the work with numbers up to `last`.
    pub fn wait_for(&self, device: usize, last: u64) -> Result<()> {
        let events = self.numbered(device, last);
        let failure = self.in_flight[device].lock().failure.take();
        let results: Vec<Result<()>> = events.iter().map(|event| event.wait()).collect();
        let mut list = self.in_flight[device].lock();
        list.events.retain(|(_, event)| !events.iter().any(|waited| Arc::ptr_eq(waited, event)));
        drop(list);
        failure.map_or(Ok(()), Err)?;
        results.into_iter().collect()
    }

    /// Waits for the work on a device with numbers up to `last`, until `deadline` at most. Returns whether it ended.
    pub fn has_ended_by(&self, device: usize, last: u64, deadline: Instant) -> bool {
        self.numbered(device, last).iter().all(|event| event.has_ended_by(deadline))
    }

    /// Events in flight on a device, up to this number.
    fn numbered(&self, device: usize, last: u64) -> Vec<Arc<Event>> {
        let list = self.in_flight[device].lock();
        list.events.iter().filter(|(number, _)| *number <= last).map(|(_, event)| event.clone()).collect()
    }

    /// Bytes held by buffers now, and their maximum so far.
    pub fn memory(&self) -> (u64, u64) {
        (self.live.load(Ordering::Relaxed), self.peak.load(Ordering::Relaxed))
    }

    /// Resets the peak to the bytes that are live now.
    pub fn reset_peak(&self) {
        self.peak.store(self.live.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Raw client, for PJRT calls.
    pub(super) fn raw(&self) -> *mut sys::PJRT_Client {
        self.raw
    }

    /// Number of devices of this process.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }
}

impl exit::Settle for Client {
    /// Blocks until nothing is in flight. Errors are ignored.
    fn settle(&self) {
        for device in 0..self.devices.len() {
            let _ = self.wait(device);
        }
    }
}

/// Number of devices from which the available threads are checked.
const MANY_DEVICES: usize = 16;
/// Number of threads of a client in addition to one per device.
const OTHER_THREADS: usize = 64;
/// Stack size of a plugin's thread: the usual limit.
const THREAD_STACK: usize = 8 << 20;

/// Returns an error if the process cannot start a thread for each device because of limits on processes or address
/// space. A CPU plugin starts them, and ends the process if it cannot.
fn check_threads(device_count: usize) -> Result<()> {
    if device_count < MANY_DEVICES {
        return Ok(());
    }
    let wanted = device_count + OTHER_THREADS;
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    std::thread::scope(|scope| {
        // All threads block until the channel closes, so that they exist at the same time.
        let start = |_: &usize| {
            let builder = std::thread::Builder::new().stack_size(THREAD_STACK);
            builder.spawn_scoped(scope, || held.lock().recv().is_err()).is_ok()
        };
        let started = (0..wanted).take_while(start).count();
        drop(release);
        if started == wanted {
            return Ok(());
        }
        Err(error!(
            ResourceExhausted,
            "options.device_count: {device_count} devices need {wanted} threads; this process can have {started} more"
        ))
    })
}

impl Drop for Client {
    fn drop(&mut self) {
        let Ok(_inside) = exit::enter() else {
            // The plugin's client remains, and may still call the store.
            std::mem::forget(self.store.take());
            return;
        };
        exit::Settle::settle(self);
        for list in &self.in_flight {
            list.lock().events.clear();
        }
        let mut args = Args::<sys::PJRT_Client_Destroy_Args>::new(self.api);
        args.client = self.raw;
        let _ = call!(self.api, PJRT_Client_Destroy, args);
    }
}
