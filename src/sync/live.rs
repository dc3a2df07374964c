//! The live tensors of an environment, by label and size.

use crate::device::{Device, DeviceState, Owner, Place, Shared};
use crate::device_data::DeviceData;
use base::label::Label;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Number of the largest values that are listed.
const MOST_LISTED: usize = 1000;

/// Number of peaks beyond which those of labels without live tensors are forgotten.
const MOST_PEAKS: usize = 1000;

/// Label of the operation that computed data; none for transferred data.
pub(super) fn label_of(data: &DeviceData) -> Label {
    data.origin().map_or(Label::NONE, |(origin, output)| origin.label_of(*output))
}

/// A value of live tensors.
struct Live {
    place: Place,
    ty: String,
    bytes: u64,
    label: Label,
    made_by: Option<String>,
}

/// The values of the live tensors of a device that have memory.
fn values_of(state: &DeviceState) -> Vec<Live> {
    let Some((_, place)) = state.place() else { return Vec::new() };
    let mut live = Vec::new();
    for data in state.live_data().iter().filter(|data| data.has_memory()) {
        live.push(Live {
            place,
            ty: data.ty().to_string(),
            bytes: data.ty().size_bytes() as u64,
            label: label_of(data),
            made_by: data.origin().map(|(origin, _)| origin.name.to_string()),
        });
    }
    live.extend(state.live_arrays().iter().map(|array| Live {
        place,
        ty: array.ty().to_string(),
        bytes: array.bytes().len() as u64,
        label: Label::NONE,
        made_by: None,
    }));
    live
}

/// Notes the bytes of the live tensors of each label, of a device at the end of a sync. Called while a timeline is on.
#[cold]
pub(super) fn note_live(owner: &Owner, state: &DeviceState) {
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for data in state.live_data().iter().filter(|data| data.has_memory()) {
        *bytes.entry(label_of(data).to_string()).or_default() += data.ty().size_bytes() as u64;
    }
    let mut all = owner.shared.peaks.lock();
    let peaks = all.of(owner.shared.timeline().period());
    for (label, &bytes) in &bytes {
        let peak = peaks.entry((owner.place, label.clone())).or_default();
        *peak = bytes.max(*peak);
    }
    // A loop may number its steps in labels.
    if peaks.len() > MOST_PEAKS {
        peaks.retain(|(place, label), _| *place != owner.place || bytes.contains_key(label));
    }
}

/// Returns the live tensors of these devices as a JSON object.
pub fn live_tensors(shared: &Shared, devices: impl Iterator<Item = &'static Device>) -> String {
    let mut live: Vec<Live> = devices.flat_map(|device| values_of(&device.state())).collect();
    live.sort_by_key(|value| Reverse(value.bytes));
    let total: u64 = live.iter().map(|value| value.bytes).sum();
    let mut labels: BTreeMap<(Place, String), (u64, u64)> = BTreeMap::new();
    for value in &live {
        let of = labels.entry((value.place, value.label.to_string())).or_default();
        *of = (of.0 + value.bytes, of.1 + 1);
    }
    let peaks = shared.peaks.lock().of(shared.timeline().period()).clone();
    for key in peaks.keys() {
        labels.entry(key.clone()).or_default();
    }
    let text = |label: &str| if label.is_empty() { Value::Null } else { label.into() };
    let mut by_label: Vec<((Place, String), (u64, u64))> = labels.into_iter().collect();
    by_label.sort_by_key(|(_, (bytes, _))| Reverse(*bytes));
    let by_label = by_label.iter().map(|(key, (bytes, count))| {
        let (place, label) = (key.0.to_string(), text(&key.1));
        json!({"device": place, "label": label, "bytes": bytes, "buffers": count, "peak_bytes": peaks.get(key)})
    });
    let tensors = live.iter().take(MOST_LISTED).map(|value| {
        let (place, label) = (value.place.to_string(), value.label.path());
        json!({"device": place, "type": value.ty, "bytes": value.bytes, "label": label, "made_by": value.made_by})
    });
    let (by_label, tensors): (Vec<Value>, Vec<Value>) = (by_label.collect(), tensors.collect());
    json!({"bytes": total, "buffers": live.len(), "labels": by_label, "largest": tensors}).to_string()
}
