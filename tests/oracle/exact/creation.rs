//! Creation of tensors from scalars, host data and keys.

use super::action::Action;
use super::twin::{MOST_ELEMENTS, Outcome, Twin, World};
use super::values::{ANY, content, dtype, special_dtype};
use crate::record::on;
use crate::scratch::Scratch;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use lazyxla::device::{Device, TensorHandle};
use lazyxla::sync;
use lazyxla::tensor::create;
use ops::creation;
use ops::random::{self, RngAlgorithm};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Creation {
    FromHost,
    Full,
    Iota,
    Eye,
    Arange,
    Linspace,
    OneHot,
    RandomBits,
    RandomUniform,
    RandomBernoulli,
    RandomSplit,
    RngBitGenerator,
}

impl Creation {
    pub const TABLE: &[(usize, Creation)] = &[
        (20, Creation::FromHost),
        (2, Creation::Full),
        (3, Creation::Iota),
        (1, Creation::Eye),
        (1, Creation::Arange),
        (1, Creation::Linspace),
        (2, Creation::OneHot),
        (1, Creation::RandomBits),
        (1, Creation::RandomUniform),
        (1, Creation::RandomBernoulli),
        (1, Creation::RandomSplit),
        (1, Creation::RngBitGenerator),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let [of_dtype, of_shape, seed, more] = action.numbers;
        // Half of the new tensors get the dtype of an existing one, so that they can be operands together.
        let like = if more < 128 { twin.pick(action.tensors[0]) } else { None };
        let choose = if twin.specials { special_dtype } else { dtype };
        let dtype = like.map_or_else(|| choose(of_dtype), |pair| pair.dtype());
        let home = twin.home;
        let ty = TensorType::new(dtype, &home.shape(of_shape));
        let (seed, one) = (seed as i64, ScalarValue::Signed(1));
        match self {
            Creation::FromHost => {
                let (bytes, bound) = content(&ty, action.tensors[1], twin.specials);
                let sharding = twin.draw(home, &ty.dims, action.tensors[2]);
                twin.moved(bound, |world| {
                    if world.is_native {
                        return sync::from_host(world.device, &ty, &bytes);
                    }
                    home.upload(&ty, &bytes, sharding.as_ref())
                })?;
                sharding.map_or(Ok(()), |sharding| home.check_sharding(twin.newest().lazy, &sharding))
            }
            Creation::Full => {
                let value = if dtype == DType::F8E8M0FNU { one } else { ScalarValue::Signed(seed % 2) };
                twin.moved(1.0, |world| create(world.device, |t| creation::full(t, &ty, value)))
            }
            Creation::Iota => {
                twin.computed(4.0, |world| create(world.device, |t| creation::iota(t, &ty, seed % 4 - 1)))
            }
            Creation::Eye => {
                let (rows, columns, k) = (seed % 4, seed / 4 % 4, seed / 16 % 5 - 2);
                twin.computed(1.0, |world| create(world.device, |t| creation::eye(t, dtype, rows, columns, k)))
            }
            Creation::Arange => {
                let (start, step) = (seed % 8, [1, 2, -1][more as usize % 3]);
                let numbers = [start, start + 5 * step, step].map(ScalarValue::Signed);
                twin.computed(20.0, |world| create(world.device, |t| creation::arange(t, dtype, numbers)))
            }
            Creation::Linspace => {
                // The step is 1, so all numbers are exact in every dtype.
                let (start, gaps) = (seed % 8, [1, 2, 4][more as usize % 3]);
                let ends = [start, start + gaps].map(ScalarValue::Signed);
                twin.computed(20.0, |world| {
                    create(world.device, |t| creation::linspace(t, dtype, ends, gaps + 1, true))
                })
            }
            Creation::OneHot => {
                let Some(indices) = twin.pick_where(action.tensors[1], |pair| pair.dtype().is_integer()) else {
                    return Ok(());
                };
                let axis = seed % (indices.ty().dims.len() as i64 + 1);
                if indices.ty().elements() * 4 > MOST_ELEMENTS {
                    return Ok(());
                }
                let depth = 1 + seed / 8 % 4;
                twin.computed(1.0, |world| {
                    on([world.of(indices)], |t, [indices]| creation::one_hot(t, indices, depth, axis, dtype))
                })
            }
            Creation::RngBitGenerator => {
                let (algorithm, words) =
                    [(RngAlgorithm::ThreeFry, 2), (RngAlgorithm::Philox, 2), (RngAlgorithm::Philox, 3)]
                        [seed as usize % 3];
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let state = TensorType::new(DType::U64, &[words]);
                    let value = ScalarValue::Signed(more.into());
                    let state = scratch.keep(create(world.device, |t| creation::full(t, &state, value))?);
                    on([state], |t, [state]| random::rng_bit_generator(t, algorithm, state, &ty)).map(Vec::from)
                };
                twin.several(act, |_, _| Some(ANY))
            }
            _ => {
                let bound = if let Creation::RandomBernoulli = self { 1.0 } else { ANY };
                twin.moved(bound, |world| self.of_key(world.device, &ty, seed, more))
            }
        }
    }

    /// Random numbers from a key.
    fn of_key(self, device: &'static Device, ty: &TensorType, seed: i64, more: u8) -> Result<TensorHandle> {
        let algorithm = [RngAlgorithm::ThreeFry, RngAlgorithm::Philox][more as usize % 2];
        let key = TensorType::new(DType::U32, &[2]);
        let mut scratch = Scratch::default();
        let key = scratch.keep(create(device, |t| creation::full(t, &key, ScalarValue::Signed(seed)))?);
        on([key], |t, [key]| match self {
            Creation::RandomBits => random::random_bits(t, algorithm, key, ty),
            Creation::RandomUniform => random::random_uniform(t, algorithm, key, ty, 0.0, 1.0),
            Creation::RandomBernoulli => random::random_bernoulli(t, algorithm, key, f64::from(more) / 255.0, &ty.dims),
            _ => random::random_split(t, algorithm, key, i64::from(more % 4)),
        })
    }
}
