//! Callbacks of the caller that are told when a value is there, or has failed. One thread of the process calls them, one
//! after another: a plugin's own threads must not wait for what a callback does.

use super::exhausted::explain;
use super::transfer::{Materialized, materialize, refuse_in_trace};
use crate::device::{TensorHandle, device_of};
use base::error;
use base::error::Result;
use crossbeam::channel::{Sender, unbounded};
use engine::Tell;
use std::sync::OnceLock;

/// A callback that is due. Calls the caller's function.
type Due = Box<dyn FnOnce() + Send>;

/// Calls `tell` once, on a thread of the library, when the value of a tensor is there, or with its failure. Computes a
/// pending value first, as a sync does: a failure to compile or enqueue it is returned, and `tell` is not called. The
/// value may be consumed meanwhile.
pub fn on_ready(tensor: TensorHandle, tell: Tell) -> Result<()> {
    refuse_in_trace()?;
    let queue = queue()?;
    let device = device_of("tensor", tensor)?;
    let hold = match materialize(device, tensor)? {
        Materialized::Native(_) => return send(queue, Box::new(|| tell(Ok(())))),
        Materialized::Device(hold, _) => hold,
    };
    if let Some(failure) = hold.data().failure() {
        return send(queue, Box::new(|| tell(Err(failure))));
    }
    // The hold ends with this call: the buffer has been asked, and may be consumed.
    hold.data().buffer()?.when_ready(Box::new(move |outcome| {
        let outcome = move || outcome.map_err(|e| explain(e, device, None));
        let _ = send(queue, Box::new(move || tell(outcome())));
    }));
    Ok(())
}

fn send(queue: &Sender<Due>, due: Due) -> Result<()> {
    queue.send(due).map_err(|_| error!(Internal, "the thread that calls callbacks has ended"))
}

/// Channel to the thread that calls the callbacks. The first use starts the thread.
fn queue() -> Result<&'static Sender<Due>> {
    static QUEUE: OnceLock<Sender<Due>> = OnceLock::new();
    if let Some(queue) = QUEUE.get() {
        return Ok(queue);
    }
    let (sender, receiver) = unbounded::<Due>();
    let call_all = move || receiver.into_iter().filter(|_| !engine::exit::is_exiting()).for_each(|due| due());
    let named = std::thread::Builder::new().name("lazyxla-ready".to_string());
    named.spawn(call_all).map_err(|e| error!(Unavailable, "cannot start the thread that calls callbacks: {e}"))?;
    // If another thread was first, its channel is kept; this one closes, and its thread ends.
    Ok(QUEUE.get_or_init(|| sender))
}
