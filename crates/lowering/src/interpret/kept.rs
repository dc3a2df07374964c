//! Functions over blocks that are kept for later calls. Building one takes longer than evaluating it on a small array.

use super::fused::{Elementwise, Parameter};
use base::error::Result;
use base::types::{DType, Scalar, TensorType};
use ir::{Op, Program};
use native::Array;
use ops::elementwise;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

type Formulas = FxHashMap<(u32, DType), Option<Arc<Elementwise>>>;

/// Functions that have a formula. There are few, so no entry is ever removed.
static FORMULAS: LazyLock<RwLock<Formulas>> = LazyLock::new(Default::default);

/// Returns the formula of a function as one function of operands with as many elements as the result. None if its
/// operations are not all of floats.
pub fn of_formula(op: Op, dtype: DType) -> Result<Option<Arc<Elementwise>>> {
    let key = (op.code(), dtype);
    if let Some(known) = FORMULAS.read().get(&key) {
        return Ok(known.clone());
    }
    let body = elementwise::formula_body(op, dtype)?;
    let (values, outputs) = body.decode();
    let parameters: Vec<Parameter> = body.parameters().iter().map(|ty| (ty.dtype, false)).collect();
    let made = Elementwise::new(&values, body.scalars(), outputs[0], &parameters).map(Arc::new);
    FORMULAS.write().insert(key, made.clone());
    Ok(made)
}

/// An elementwise program of arrays of one shape, and of single elements, as one function.
pub struct Whole {
    pub function: Elementwise,
    pub parameters: Vec<TensorType>,
    /// Type of the result.
    pub ty: TensorType,
}

impl Whole {
    /// Whether the arrays have the types of the parameters.
    pub fn takes(&self, inputs: &[Array]) -> bool {
        self.parameters.iter().eq(inputs.iter().map(Array::ty))
    }

    /// Evaluates the program.
    pub fn evaluate(&self, inputs: &[Array]) -> Result<Array> {
        let inputs: smallvec::SmallVec<[&Array; 4]> = inputs.iter().collect();
        self.function.evaluate(&self.ty, &inputs)
    }
}

/// Limits of the programs that are kept, which bound their memory.
const MOST_WORDS: usize = 512;
const MOST_STEPS: usize = 256;

/// A slot; programs whose hashes map to it replace each other.
struct Slot {
    /// Hash of the program that was looked up last.
    last: u64,
    kept: Option<(Program, Vec<Scalar>, Arc<Whole>)>,
}

static PROGRAMS: [Mutex<Slot>; 64] = [const { Mutex::new(Slot { last: 0, kept: None }) }; 64];

/// Result of looking a program up in the cache.
pub enum Seen {
    /// It was not evaluated before, or long ago.
    First,
    /// It was evaluated before: it is worth to be kept.
    Again,
    Kept(Arc<Whole>),
}

/// Looks a program up.
pub fn look_up(program: &Program, scalars: &[Scalar]) -> Seen {
    if program.words().len() > MOST_WORDS || program.depth() > 0 {
        return Seen::First;
    }
    let hash = hash_of(program, scalars);
    let mut slot = slot(hash).lock();
    match &slot.kept {
        Some((kept, with, whole)) if kept == program && with == scalars => Seen::Kept(whole.clone()),
        _ if slot.last == hash => Seen::Again,
        _ => {
            slot.last = hash;
            Seen::First
        }
    }
}

/// Keeps a program for later calls, in place of another one.
pub fn keep(program: &Program, scalars: &[Scalar], whole: &Arc<Whole>) {
    if whole.function.steps() <= MOST_STEPS {
        let entry = (program.clone(), scalars.to_vec(), whole.clone());
        let replaced = slot(hash_of(program, scalars)).lock().kept.replace(entry);
        drop(replaced);
    }
}

fn hash_of(program: &Program, scalars: &[Scalar]) -> u64 {
    let mut hasher = FxHasher::default();
    program.encoding().hash(&mut hasher);
    scalars.iter().for_each(|scalar| hasher.write_u64(scalar.bits() as u64));
    hasher.finish()
}

fn slot(hash: u64) -> &'static Mutex<Slot> {
    &PROGRAMS[(hash >> 32) as usize % PROGRAMS.len()]
}
