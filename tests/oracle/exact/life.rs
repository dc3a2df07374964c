//! The life of tensors between operations: copies, in-place changes, releases, and everything that runs recorded
//! operations.

use super::action::Action;
use super::twin::{Outcome, Pair, Twin};
use super::values::content;
use crate::program::in_words;
use crate::scratch::Scratch;
use base::types::DType;
use lazyxla::device;
use lazyxla::sync;
use lazyxla::tensor;

const MOST_LENT: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    Step,
    StepSome,
    Read,
    Sync,
    Snapshot,
    Assign,
    Write,
    Release,
    Save,
    Move,
    Lend,
    Shard,
}

impl Life {
    pub const TABLE: &[(usize, Life)] = &[
        (10, Life::Step),
        (16, Life::StepSome),
        (8, Life::Read),
        (8, Life::Sync),
        (8, Life::Snapshot),
        (8, Life::Assign),
        (3, Life::Write),
        (12, Life::Release),
        (2, Life::Save),
        (3, Life::Move),
        (6, Life::Lend),
    ];
    /// Further actions of programs on a mesh.
    pub const ON_MESH: &[(usize, Life)] = &[(40, Life::Shard)];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        if let Life::Step = self {
            let mut places = std::iter::once(twin.home).chain(twin.others);
            return places.try_for_each(|place| sync::mark_step(place.device).map_err(in_words));
        }
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        match self {
            Life::Step => unreachable!("done before"),
            Life::Read => twin.compare(a),
            Life::Snapshot => twin.moved(a.bound, |world| tensor::snapshot(world.of(a))),
            Life::Release => twin.release(action.tensors[0] as usize % twin.count()),
            Life::Write => {
                let (bytes, bound) = content(&a.ty(), action.tensors[1], twin.specials);
                twin.in_place(a, bound, |world| sync::write(world.of(a), &bytes))
            }
            Life::Assign => {
                let ty = a.ty();
                let fits = |pair: Pair| action.numbers[0].is_multiple_of(8) || pair.ty() == ty;
                let b = twin.pick_where(action.tensors[1], fits).unwrap_or(a);
                twin.in_place(a, b.bound, |world| tensor::assign(world.of(a), world.of(b)))
            }
            Life::StepSome => {
                let picked = action.tensors[..1 + action.numbers[0] as usize % 3].iter();
                let some: Vec<_> = picked.filter_map(|&i| twin.pick(i)).map(|pair| pair.lazy).collect();
                sync::step_tensors(&some, action.numbers[1] < 32).map_err(in_words)
            }
            Life::Sync => {
                let b = twin.pick(action.tensors[1]).unwrap_or(a);
                sync::sync(&[a.lazy, b.lazy]).map_err(in_words)
            }
            Life::Save => {
                let b = twin.pick(action.tensors[1]).unwrap_or(a);
                if [a, b].iter().all(|pair| can_be_saved(pair.dtype())) { save(twin, a, b) } else { Ok(()) }
            }
            Life::Move => go_and_return(twin, action, a),
            Life::Lend => lend(twin, action, a),
            Life::Shard => shard(twin, action, a),
        }
    }
}

/// Copies a tensor to another place and back.
fn go_and_return(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let (home, others, dims) = (twin.home, twin.others, a.ty().dims);
    let there = &others[action.numbers[0] as usize % others.len()];
    let of_copy = twin.draw(there, &dims, action.tensors[1]);
    let of_result = twin.draw(home, &dims, action.tensors[2]);
    twin.moved(a.bound, |world| {
        if world.is_native {
            return tensor::snapshot(a.native);
        }
        let copy = there.bring(a.lazy, of_copy.as_ref())?;
        let result = home.bring(copy, of_result.as_ref());
        device::release(copy)?;
        result
    })
}

/// Constrains the sharding of a tensor: of a new tensor with the same value, or of the tensor itself, which then gets
/// the constraint's result assigned.
fn shard(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let home = twin.home;
    let Some(sharding) = twin.draw(home, &a.ty().dims, action.tensors[1]) else { return Ok(()) };
    let constrained = || tensor::shard(a.lazy, home.device, &sharding);
    let [is_new, is_checked] = [action.numbers[0] >= 64, action.numbers[1] < 64];
    let result = if is_new {
        twin.moved(a.bound, |world| if world.is_native { tensor::snapshot(a.native) } else { constrained() })?;
        twin.newest()
    } else {
        twin.in_place(a, a.bound, |world| {
            if world.is_native {
                return Ok(());
            }
            let mut scratch = Scratch::default();
            tensor::assign(a.lazy, scratch.keep(constrained()?))
        })?;
        a
    };
    if is_checked { home.check_sharding(result.lazy, &sharding) } else { Ok(()) }
}

/// Copies a tensor to the host device and back, where both copies may alias its memory. The copy on the host must not
/// change while further steps run.
fn lend(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let kept = sync::to_device(a.lazy, twin.host).map_err(in_words)?;
    twin.lent.push(Pair { native: tensor::snapshot(a.native).map_err(in_words)?, lazy: kept, ..a });
    if twin.lent.len() > MOST_LENT {
        let oldest = twin.lent.remove(0);
        twin.take_back(oldest)?;
    }
    let home = twin.home;
    let sharding = twin.draw(home, &a.ty().dims, action.tensors[2]);
    twin.moved(a.bound, |world| {
        if world.is_native {
            return tensor::snapshot(a.native);
        }
        home.bring(kept, sharding.as_ref())
    })
}

/// Returns true if safetensors has a name for the dtype.
fn can_be_saved(dtype: DType) -> bool {
    !dtype.is_subbyte() && !matches!(dtype, DType::C128 | DType::F8E4M3 | DType::F8E3M4 | DType::F8E4M3B11FNUZ)
}

/// Saves two tensors, loads the first one and assigns it to itself.
fn save(twin: &mut Twin, a: Pair, b: Pair) -> Outcome {
    let path = twin.folder.join("saved");
    let saved = sync::save_async(&path, &["a", "b"], &[a.lazy, b.lazy], None).map_err(in_words)?;
    // Steps between the call and the end of the write must not affect the file.
    sync::mark_step(twin.lazy.device).map_err(in_words)?;
    saved.wait().map_err(in_words)?;
    let loaded = sync::load(twin.lazy.device, &path, "a").map_err(in_words)?;
    tensor::assign(a.lazy, loaded).map_err(in_words)?;
    device::release(loaded).map_err(in_words)
}
