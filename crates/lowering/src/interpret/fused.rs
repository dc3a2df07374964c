//! Evaluation of elementwise programs of floats as one function over blocks ([`Fused`]), instead of operation by
//! operation. Programs with other operations or dtypes are left to the interpreter.

use base::error::Result;
use base::types::{DType, Scalar, TensorType};
use ir::{BinaryOp, Instruction, Op};
use native::{Array, Builder, Fused, FusedAll, Lane, Value};
use ops::elementwise;

/// A program with one output as one function of vectors.
pub enum Elementwise {
    Single(Fused<f32>),
    Double(Fused<f64>),
}

/// A program with several outputs, floats of one shape, as one function of vectors.
pub enum Group {
    Single(FusedAll<f32>),
    Double(FusedAll<f64>),
}

impl Group {
    /// Builds the function. None if the program has other operations or dtypes than [`Elementwise`], or has an output
    /// that is not a float of its width.
    pub fn new(
        values: &[Instruction],
        scalars: &[Scalar],
        outputs: &[usize],
        parameters: &[Parameter],
    ) -> Option<Group> {
        match values[outputs[0]].ty.dtype {
            DType::F64 => functions(values, scalars, outputs, parameters).map(Group::Double),
            _ => functions(values, scalars, outputs, parameters).map(Group::Single),
        }
    }

    /// Evaluates the function. Arrays have as many elements as the results, or a single one.
    pub fn evaluate(&self, types: &[TensorType], inputs: &[&Array]) -> Result<Vec<Array>> {
        match self {
            Group::Single(function) => function.evaluate(types, inputs),
            Group::Double(function) => function.evaluate(types, inputs),
        }
    }
}

/// A parameter of a program: its dtype, and whether it is a single element, which stands for all.
pub type Parameter = (DType, bool);

impl Elementwise {
    /// Builds the function. Shapes in the program are ignored. None if the program has other operations or dtypes.
    pub fn new(
        values: &[Instruction],
        scalars: &[Scalar],
        output: usize,
        parameters: &[Parameter],
    ) -> Option<Elementwise> {
        if values.iter().any(|value| value.ty.dtype == DType::F64) {
            function(values, scalars, output, parameters).map(Elementwise::Double)
        } else {
            function(values, scalars, output, parameters).map(Elementwise::Single)
        }
    }

    /// Evaluates the function. Arrays have as many elements as `ty`, the type of the result, or a single one.
    pub fn evaluate(&self, ty: &TensorType, inputs: &[&Array]) -> Result<Array> {
        match self {
            Elementwise::Single(function) => function.evaluate(ty, inputs),
            Elementwise::Double(function) => function.evaluate(ty, inputs),
        }
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        match self {
            Elementwise::Single(function) => function.steps(),
            Elementwise::Double(function) => function.steps(),
        }
    }
}

fn function<T: Lane>(
    values: &[Instruction],
    scalars: &[Scalar],
    output: usize,
    parameters: &[Parameter],
) -> Option<Fused<T>> {
    let mut builder = Builder::default();
    let leaves = inputs(&mut builder, parameters)?;
    let made = record::<T>(&mut builder, values, scalars, &leaves)?;
    builder.finish(made[output])
}

fn functions<T: Lane>(
    values: &[Instruction],
    scalars: &[Scalar],
    outputs: &[usize],
    parameters: &[Parameter],
) -> Option<FusedAll<T>> {
    let mut builder = Builder::default();
    let leaves = inputs(&mut builder, parameters)?;
    let made = record::<T>(&mut builder, values, scalars, &leaves)?;
    builder.finish_all(&outputs.iter().map(|&output| made[output]).collect::<Vec<_>>())
}

fn inputs<T: Lane>(builder: &mut Builder<T>, parameters: &[Parameter]) -> Option<Vec<Value>> {
    let input = |(number, &(dtype, is_single)): (usize, &Parameter)| builder.input(number, dtype, is_single);
    parameters.iter().enumerate().map(input).collect()
}

/// Records a program, and returns its values.
fn record<T: Lane>(
    builder: &mut Builder<T>,
    values: &[Instruction],
    scalars: &[Scalar],
    leaves: &[Value],
) -> Option<Vec<Value>> {
    let mut made: Vec<Value> = Vec::with_capacity(values.len());
    let (mut leaves, mut scalars) = (leaves.iter(), scalars.iter());
    for value in values {
        let x = |i: usize| made[value.operands[i]];
        let scalar = if value.op.has_scalar() { Some(scalars.next()?) } else { None };
        let dtype = value.ty.dtype;
        let is_own = |i: usize| values[value.operands[i]].ty.dtype == dtype;
        made.push(match value.op {
            Op::Leaf => *leaves.next()?,
            Op::Full => builder.constant(scalar?)?,
            Op::BroadcastTo | Op::Reshape => x(0),
            Op::Unary(op) => builder.unary(op, x(0))?,
            Op::Binary(op) if is_own(0) && is_own(1) => builder.binary(op, x(0), x(1))?,
            Op::BinaryScalar(op) => builder.binary_scalar(op, x(0), scalar?, false)?,
            Op::ScalarBinary(op) => builder.binary_scalar(op, x(0), scalar?, true)?,
            Op::Compare(op) => builder.compare(op, x(0), x(1))?,
            Op::Select if is_own(1) && is_own(2) => builder.select(x(0), x(1), x(2))?,
            Op::Clamp if (0..3).all(is_own) => {
                let raised = builder.binary(BinaryOp::Maximum, x(0), x(1))?;
                builder.binary(BinaryOp::Minimum, raised, x(2))?
            }
            Op::Convert => builder.convert(x(0), dtype)?,
            Op::BitcastConvert => builder.bitcast(x(0), dtype)?,
            Op::UnaryFunction(_) | Op::BinaryFunction(_) | Op::Special(_) => {
                let operands: Vec<Value> = (0..value.operands.len()).map(x).collect();
                function_of(builder, value, &operands)?
            }
            _ => return None,
        });
    }
    Some(made)
}

/// Records an elementwise function: its kernel, or its formula.
fn function_of<T: Lane>(builder: &mut Builder<T>, value: &Instruction, operands: &[Value]) -> Option<Value> {
    let kernel = match value.op {
        Op::UnaryFunction(function) => builder.function_of_one(function, operands[0]),
        Op::BinaryFunction(function) => builder.function_of_two(function, operands[0], operands[1]),
        _ => None,
    };
    if kernel.is_some() {
        return kernel;
    }
    let body = elementwise::formula_body(value.op, value.ty.dtype).ok()?;
    let (values, results) = body.decode();
    Some(record(builder, &values, body.scalars(), operands)?[results[0]])
}

#[cfg(test)]
mod tests {
    use super::super::kept::of_formula;
    use super::super::program::{Function, by_operations};
    use super::*;
    use base::types::ScalarValue;
    use ir::{BinaryFunction, NodeId, SpecialOp, Trace, UnaryFunction, UnaryOp, Workspace};
    use native::testing::{preds, row};
    use native::{BLOCK, convert, shortcut};
    use ops::nn::{self, ActivationOp};
    use std::slice;

    /// Special numbers, numbers of all exponents, and numbers near 1.
    fn sample(count: u64, seed: u64) -> Vec<f64> {
        let special =
            [0.0, 5e-324, 1e-310, 1e-45, 1e-8, 0.5, 1.0, 2.5, 6.0, 8.0, 80.0, 709.0, 1e10, 3e38, f64::INFINITY];
        let special = special.into_iter().chain([f64::NAN]).flat_map(|x| [x, -x]);
        let random = (special.clone().count() as u64..count).map(|i| {
            let bits = (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let small = (bits >> 12) as f64 / (1u64 << 51) as f64 - 1.0;
            let single = f64::from(f32::from_bits((bits >> 32) as u32));
            [f64::from_bits(bits), single, small, 4.0 * small, 20.0 * small][i as usize % 5]
        });
        special.chain(random).take(count as usize).collect()
    }

    /// The bits of the elements; those of one NaN for all of them.
    fn bits(x: &Array) -> Vec<u64> {
        match x.ty().dtype {
            DType::F32 => x.elements().iter().map(|x: &f32| if x.is_nan() { 1 } else { x.to_bits().into() }).collect(),
            DType::F64 => x.elements().iter().map(|x: &f64| if x.is_nan() { 1 } else { x.to_bits() }).collect(),
            DType::Pred => x.bytes().iter().map(|&x| x.into()).collect(),
            dtype => convert(x, DType::U64).unwrap_or_else(|_| panic!("bits of {dtype}")).elements().to_vec(),
        }
    }

    fn check_function(op: Op, operands: &[Vec<f64>]) {
        for dtype in [DType::F32, DType::F64] {
            let arrays: Vec<Array> = operands.iter().map(|x| convert(&row(x), dtype).unwrap()).collect();
            let body = elementwise::formula_body(op, dtype).unwrap();
            let ty = arrays[0].ty();
            let function = of_formula(op, dtype).unwrap();
            let function = function.unwrap_or_else(|| panic!("{op:?} of {dtype} is left to the interpreter"));
            let got = function.evaluate(ty, &arrays.iter().collect::<Vec<_>>()).unwrap();
            let want = by_operations(&body, ty, &arrays).unwrap();
            for (i, (got, want)) in bits(&got).into_iter().zip(bits(&want)).enumerate() {
                let at: Vec<f64> = operands.iter().map(|x| x[i]).collect();
                assert_eq!(got, want, "{op:?} of {dtype} at {at:?}");
            }
        }
    }

    /// Compares the kernel of a function with its formula: results are at most `units` in the last place apart.
    fn compare_with_formula(op: Op, operands: &[Vec<f64>], units: u64) {
        for dtype in [DType::F32, DType::F64] {
            let arrays: Vec<Array> = operands.iter().map(|x| convert(&row(x), dtype).unwrap()).collect();
            let references: Vec<&Array> = arrays.iter().collect();
            let got = shortcut(op, arrays[0].ty(), &references).unwrap().unwrap();
            let body = elementwise::formula_body(op, dtype).unwrap();
            let want = by_operations(&body, arrays[0].ty(), &arrays).unwrap();
            for (i, (got, want)) in bits(&got).into_iter().zip(bits(&want)).enumerate() {
                let at: Vec<f64> = operands.iter().map(|x| x[i]).collect();
                assert!(got.abs_diff(want) <= units, "{op:?} {dtype} at {at:?}: bits {got:x}, not {want:x}");
            }
        }
    }

    #[test]
    fn kernels_compute_their_formulas() {
        let count = if cfg!(miri) { 60 } else { 20_000 };
        let x = sample(count, 1);
        use UnaryFunction::*;
        for (functions, units) in [(&[Trunc, Atanh][..], 0), (&[Log2, Log10, Sinh, Cosh, Asinh, Acosh], 3)] {
            functions
                .iter()
                .for_each(|&function| compare_with_formula(Op::UnaryFunction(function), slice::from_ref(&x), units));
        }
        let (special, mut y) = (sample(46, 0), sample(count, 7));
        let (mut first, mut second): (Vec<f64>, Vec<f64>) =
            special.iter().flat_map(|a| special.iter().map(move |b| (*a, *b))).unzip();
        first.extend(&x);
        second.append(&mut y);
        for function in [BinaryFunction::Copysign, BinaryFunction::Logaddexp, BinaryFunction::NextAfter] {
            compare_with_formula(Op::BinaryFunction(function), &[first.clone(), second.clone()], 0);
        }
    }

    #[test]
    fn functions_have_the_bits_of_their_operations() {
        // Several blocks, the last one not full.
        let count = if cfg!(miri) { 60 } else { 2 * BLOCK as u64 + 77 };
        let (x, y) = (sample(count, 1), sample(count, 7));
        let has_formula = |function: &&UnaryFunction| {
            use UnaryFunction::*;
            !matches!(function, IsNan | IsInf | Signbit | Conj)
        };
        for &function in UnaryFunction::ALL.iter().filter(has_formula) {
            check_function(Op::UnaryFunction(function), slice::from_ref(&x));
        }
        for &op in SpecialOp::ALL {
            check_function(Op::Special(op), slice::from_ref(&x));
        }
        // The formula of hypot is of complex numbers.
        for &function in BinaryFunction::ALL.iter().filter(|function| **function != BinaryFunction::Hypot) {
            check_function(Op::BinaryFunction(function), &[x.clone(), y.clone()]);
        }
        let orders: Vec<f64> = y.iter().map(|y| y.abs().floor()).collect();
        check_function(Op::BinaryFunction(BinaryFunction::Polygamma), &[orders, x]);
    }

    /// Evaluates a program of the parameters both ways. Returns whether it was evaluated as one function.
    fn check_program(inputs: &[Array], record: impl Fn(&mut Trace, &[NodeId]) -> Result<NodeId>) -> bool {
        let mut trace = Trace::new();
        let parameters: Vec<NodeId> = inputs.iter().map(|x| trace.parameter(x.ty().clone())).collect();
        let root = record(&mut trace, &parameters).unwrap();
        let segment = Workspace::default().linearize(&trace, &[root]).segments(&trace, usize::MAX).remove(0);
        let scalars = trace.scalars_at(&segment.scalars);
        let place = |id: &NodeId| parameters.iter().position(|parameter| parameter == id).expect("a parameter");
        let inputs: Vec<Array> = segment.parameters.iter().map(|id| inputs[place(id)].clone()).collect();
        let function = Function::new(&segment.program, &scalars).unwrap();
        let Some(whole) = function.one_shape().and_then(|ty| function.whole(ty)) else { return false };
        let want = function.call(&inputs).unwrap();
        assert_eq!(bits(&whole.evaluate(&inputs).unwrap()), bits(&want[0]));
        true
    }

    #[test]
    fn programs_have_the_bits_of_their_operations() {
        let count = if cfg!(miri) { 60 } else { 2 * BLOCK as u64 + 77 };
        for dtype in [DType::F32, DType::F64] {
            let [x, y] = [1, 7].map(|seed| convert(&row(&sample(count, seed)), dtype).unwrap());
            let single = convert(&row(&[0.5]), dtype).unwrap().reshape(&[]);
            let flags = preds(&(0..count).map(|i| u8::from(i % 3 == 0)).collect::<Vec<u8>>());
            let floats = [x.clone(), y, single, flags];
            for &op in ActivationOp::ALL {
                assert!(check_program(slice::from_ref(&x), |t, p| nn::activation(t, op, p[0])), "{op:?}");
            }
            for function in [UnaryFunction::IsNan, UnaryFunction::IsInf, UnaryFunction::Signbit] {
                assert!(check_program(slice::from_ref(&x), |t, p| elementwise::unary_function(t, function, p[0])));
            }
            for op in [BinaryOp::Power, BinaryOp::Remainder, BinaryOp::Maximum, BinaryOp::Minimum, BinaryOp::Atan2] {
                for value in [0.0, -0.0, 2.5] {
                    assert!(check_program(&floats, |t, p| {
                        let left = elementwise::binary_scalar(t, op, p[0], ScalarValue::Float(value), true)?;
                        let right = elementwise::binary_scalar(t, op, p[1], ScalarValue::Float(value), false)?;
                        elementwise::binary(t, op, left, right)
                    }));
                }
            }
            assert!(check_program(&floats, |t, p| {
                let clamped = elementwise::clamp(t, p[2], p[0], p[1])?;
                let scaled = elementwise::binary(t, BinaryOp::Multiply, p[2], p[1])?;
                let not = elementwise::unary(t, UnaryOp::Not, p[3])?;
                elementwise::select(t, not, clamped, scaled)
            }));
        }
    }

    #[test]
    fn other_programs_are_left_to_the_interpreter() {
        let (x, halves) = (row(&[1.0f32, 2.0]), convert(&row(&[1.0f32, 2.0]), DType::F16).unwrap());
        assert!(check_program(slice::from_ref(&x), |t, p| elementwise::binary(t, BinaryOp::Add, p[0], p[0])));
        assert!(!check_program(&[halves], |t, p| elementwise::binary(t, BinaryOp::Add, p[0], p[0])));
        let mixed = [x, row(&[1.0f64, 2.0])];
        assert!(!check_program(&mixed, |t, p| elementwise::binary(t, BinaryOp::Add, p[0], p[1])));
    }
}
