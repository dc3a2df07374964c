//! An operator with its arguments, as the functions of the table see it.

use super::arguments::{Number, Value, signature};
use super::promotion::{Operand, promoted};
use super::recorder::Recorder;
use super::tensors::{Sight, TensorId, View};
use base::error;
use base::error::{Error, Result, quoted};
use base::types::{DType, Kind, ScalarValue, TensorType, normalize_axis};
use ir::{NodeId, Trace};
use ops::creation::full;
use ops::elementwise::convert;

/// An operator with its arguments.
pub struct Call<'r, 'p> {
    /// Where it is recorded.
    pub recorder: &'r mut Recorder,
    arguments: Vec<(&'static str, Value<'p>)>,
    /// Whether the tensor `self` is contiguous in PyTorch, whatever the free sizes are.
    pub is_contiguous: bool,
}

impl<'r, 'p> Call<'r, 'p> {
    /// Binds the arguments that a file gives to the arguments of an operator, which the table lists.
    pub fn new(
        recorder: &'r mut Recorder,
        arguments: &'static str,
        given: Vec<(&'p str, Value<'p>)>,
        is_contiguous: bool,
    ) -> Result<Call<'r, 'p>> {
        let mut arguments: Vec<(&'static str, Option<Value<'p>>)> = signature(arguments).collect();
        for (name, value) in given {
            let known = arguments.iter_mut().find(|(known, _)| *known == name);
            let (_, place) = known.ok_or_else(|| error!(Unimplemented, "its argument {}", quoted(name)))?;
            *place = Some(value);
        }
        let bound = |(name, value): (&'static str, Option<Value<'p>>)| {
            let missing = || error!(InvalidArgument, "its argument {} is missing", quoted(name));
            value.map(|value| (name, value)).ok_or_else(missing)
        };
        let arguments = arguments.into_iter().map(bound).collect::<Result<Vec<_>>>()?;
        Ok(Call { recorder, arguments, is_contiguous })
    }

    /// The trace in which it is recorded.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.recorder.trace
    }

    /// Whether the operator has an argument of this name.
    pub fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|(known, _)| *known == name)
    }

    /// An argument.
    pub fn value(&self, name: &str) -> &Value<'p> {
        const NONE: &Value<'static> = &Value::None;
        self.arguments.iter().find(|(known, _)| *known == name).map_or(NONE, |(_, value)| value)
    }

    fn wrong<T>(&self, name: &str, wanted: &str) -> Result<T> {
        let value = self.value(name);
        if let Value::Absent(result) = value {
            return Err(error!(Unimplemented, "its argument {name} is {result} of another operator"));
        }
        if let Value::Computed(_) = value {
            return Err(error!(Unimplemented, "its argument {name} is {}; want {wanted}", value.kind()));
        }
        Err(error!(InvalidArgument, "its argument {name} is {}; want {wanted}", value.kind()))
    }

    /// A number that the program computes; None for other arguments.
    pub fn computed(&self, name: &str) -> Option<Number> {
        match self.value(name) {
            Value::Computed(number) => Some(*number),
            _ => None,
        }
    }

    /// A tensor, which is not read.
    pub fn id(&self, name: &str) -> Result<TensorId> {
        match self.value(name) {
            Value::Tensor(id) => Ok(*id),
            _ => self.wrong(name, "a tensor"),
        }
    }

    /// The node of a tensor.
    pub fn tensor(&mut self, name: &str) -> Result<NodeId> {
        let id = self.id(name)?;
        self.recorder.read(id)
    }

    /// The node of a tensor, or None.
    pub fn optional_tensor(&mut self, name: &str) -> Result<Option<NodeId>> {
        match self.value(name) {
            Value::None => Ok(None),
            _ => self.tensor(name).map(Some),
        }
    }

    /// The nodes of a list of tensors.
    pub fn tensors(&mut self, name: &str) -> Result<Vec<NodeId>> {
        let nodes = self.optional_tensors(name)?.into_iter().collect::<Option<Vec<NodeId>>>();
        nodes.map_or_else(|| self.wrong(name, "a list of tensors"), Ok)
    }

    /// The nodes of a list of tensors and None.
    pub fn optional_tensors(&mut self, name: &str) -> Result<Vec<Option<NodeId>>> {
        let Value::List(list) = self.value(name).clone() else { return self.wrong(name, "a list of tensors") };
        let mut nodes = Vec::new();
        for value in list {
            nodes.push(match value {
                Value::Tensor(id) => Some(self.recorder.read(id)?),
                Value::None => None,
                other => return Err(error!(InvalidArgument, "its argument {name} lists {}", other.kind())),
            });
        }
        Ok(nodes)
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<i64> {
        match self.value(name) {
            Value::Int(value) => Ok(*value),
            Value::Bool(value) => Ok((*value).into()),
            _ => self.wrong(name, "an integer"),
        }
    }

    /// An integer, or None.
    pub fn optional_int(&self, name: &str) -> Result<Option<i64>> {
        if matches!(self.value(name), Value::None) { Ok(None) } else { self.int(name).map(Some) }
    }

    /// A bool.
    pub fn bool(&self, name: &str) -> Result<bool> {
        match self.value(name) {
            Value::Bool(value) => Ok(*value),
            _ => self.wrong(name, "a bool"),
        }
    }

    /// A real number.
    pub fn float(&self, name: &str) -> Result<f64> {
        match self.value(name) {
            Value::Float(value) => Ok(*value),
            _ => self.int(name).map(|value| value as f64),
        }
    }

    /// A real number, or None.
    pub fn optional_float(&self, name: &str) -> Result<Option<f64>> {
        if matches!(self.value(name), Value::None) { Ok(None) } else { self.float(name).map(Some) }
    }

    /// A number of any kind, with the dtype that PyTorch gives it.
    pub fn number(&self, name: &str) -> Result<(DType, ScalarValue)> {
        number_of(self.value(name)).map_or_else(|| self.wrong(name, "a number"), Ok)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Result<&'p str> {
        match self.value(name) {
            Value::Text(text) => Ok(text),
            _ => self.wrong(name, "a text"),
        }
    }

    /// A list of integers. A single integer is a list of one.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        let one = |value: &Value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        };
        let list = match self.value(name) {
            Value::List(list) => list.iter().map(one).collect::<Option<Vec<i64>>>(),
            other => one(other).map(|value| vec![value]),
        };
        list.map_or_else(|| self.wrong(name, "a list of integers"), Ok)
    }

    /// A list of integers, or None.
    pub fn optional_ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        if matches!(self.value(name), Value::None) { Ok(None) } else { self.ints(name).map(Some) }
    }

    /// A list of real numbers, or None.
    pub fn optional_floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let one = |value: &Value| match value {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        };
        match self.value(name) {
            Value::None => Ok(None),
            Value::List(list) => {
                let list = list.iter().map(one).collect::<Option<Vec<f64>>>();
                list.map_or_else(|| self.wrong(name, "a list of numbers"), |list| Ok(Some(list)))
            }
            _ => self.wrong(name, "a list of numbers"),
        }
    }

    /// A dtype, or None.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>> {
        match self.value(name) {
            Value::None => Ok(None),
            Value::Dtype(dtype) => Ok(Some(*dtype)),
            _ => self.wrong(name, "a dtype"),
        }
    }

    /// An axis of a tensor with `rank` axes. Rank 0 has the axes 0 and -1, as in PyTorch.
    pub fn axis(&self, name: &str, rank: usize) -> Result<usize> {
        normalize_axis(name, self.int(name)?, rank.max(1))
    }

    /// Axes of a tensor: all if none are given.
    pub fn axes(&self, name: &str, rank: usize) -> Result<Vec<i64>> {
        let given = self.optional_ints(name)?.unwrap_or_default();
        if given.is_empty() {
            return Ok((0..rank as i64).collect());
        }
        let axis = |&axis: &i64| normalize_axis(name, axis, rank.max(1)).map(|axis| axis as i64);
        let axes = given.iter().map(axis).collect::<Result<Vec<i64>>>()?;
        Ok(if rank == 0 { Vec::new() } else { axes })
    }

    /// UNIMPLEMENTED unless an argument has the value with which it changes nothing.
    pub fn refuse_unless(&self, name: &str, holds: bool) -> Result<()> {
        match holds {
            true => Ok(()),
            false => Err(error!(
                Unimplemented,
                "its argument {name} is {}, which is not supported",
                self.value(name).shown()
            )),
        }
    }

    /// The type of a node.
    pub fn ty(&self, node: NodeId) -> TensorType {
        self.recorder.trace.ty(node)
    }

    /// The sizes of a node.
    pub fn dims(&self, node: NodeId) -> Vec<i64> {
        self.ty(node).dims.to_vec()
    }

    /// The dtype of a node.
    pub fn dtype_of(&self, node: NodeId) -> DType {
        self.recorder.trace.node(node).dtype
    }

    /// A tensor of its own, as a result.
    pub fn made(&mut self, node: NodeId) -> Value<'p> {
        Value::Tensor(self.recorder.tensors.base(node))
    }

    /// A view of an argument, as a result.
    pub fn viewed(&mut self, name: &str, view: View, sight: Sight) -> Result<Value<'p>> {
        let id = self.id(name)?;
        Ok(Value::Tensor(self.recorder.tensors.view(id, view, sight)))
    }

    /// Arguments that are tensors or numbers, in the dtype to which PyTorch promotes them. `floats`: at least f32.
    pub fn promoted<const N: usize>(&mut self, names: [&str; N], floats: bool) -> Result<[NodeId; N]> {
        Ok(self.promoted_in(names, floats, false)?.0)
    }

    /// Arguments as [`Call::promoted`], and the dtype of the result. Beside a number or a tensor of rank 0, f16 and bf16
    /// are f32: PyTorch computes sums, products and quotients with them in f32, and rounds the result.
    pub fn promoted_for_arithmetic<const N: usize>(
        &mut self,
        names: [&str; N],
        floats: bool,
    ) -> Result<([NodeId; N], DType)> {
        self.promoted_in(names, floats, true)
    }

    fn promoted_in<const N: usize>(
        &mut self,
        names: [&str; N],
        floats: bool,
        widens: bool,
    ) -> Result<([NodeId; N], DType)> {
        let mut given = Vec::with_capacity(N);
        for name in names {
            given.push(match (self.value(name), number_of(self.value(name))) {
                (_, Some((dtype, number))) => (Operand::Number(dtype), Err(number)),
                (&Value::Computed(number), _) => {
                    let node = number.record(self.trace())?;
                    (Operand::Number(number_dtype(self.dtype_of(node))), Ok(node))
                }
                _ => {
                    let node = self.tensor(name)?;
                    let (dtype, is_scalar) = (self.dtype_of(node), self.ty(node).dims.is_empty());
                    (if is_scalar { Operand::Scalar(dtype) } else { Operand::Tensor(dtype) }, Ok(node))
                }
            });
        }
        let mut dtype = promoted(&given.iter().map(|(operand, _)| *operand).collect::<Vec<_>>())?;
        if floats && !matches!(dtype.kind(), Kind::Float | Kind::Float8 | Kind::Complex) {
            dtype = DType::F32;
        }
        let result = dtype;
        let has_number = given.iter().any(|(operand, _)| !matches!(operand, Operand::Tensor(_)));
        if widens && has_number && matches!(dtype, DType::F16 | DType::BF16) {
            dtype = DType::F32;
        }
        let mut nodes = [NodeId(0); N];
        for (place, (_, operand)) in nodes.iter_mut().zip(given) {
            *place = match operand {
                Ok(node) => convert(self.trace(), node, dtype),
                Err(value) => scalar(self.trace(), dtype, beside(value, dtype))?,
            };
        }
        Ok((nodes, result))
    }

    /// The tensor `self` as floats: integers and bools become f32.
    pub fn floats(&mut self, name: &str) -> Result<NodeId> {
        self.promoted([name], true).map(|[node]| node)
    }
}

/// A number with the dtype that PyTorch gives it.
fn number_of(value: &Value) -> Option<(DType, ScalarValue)> {
    Some(match *value {
        Value::Bool(value) => (DType::Pred, ScalarValue::Signed(value.into())),
        Value::Int(value) => (DType::S64, ScalarValue::Signed(value)),
        Value::Float(value) => (DType::F32, ScalarValue::Float(value)),
        Value::Complex(re, im) => (DType::C64, ScalarValue::Complex(re, im)),
        _ => return None,
    })
}

/// The dtype by which PyTorch promotes a number, from the dtype of the tensor that the number is an element of.
fn number_dtype(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Float | Kind::Float8 => DType::F32,
        Kind::Complex => DType::C64,
        Kind::Pred => DType::Pred,
        _ => DType::S64,
    }
}

/// A number beside tensors of a narrower dtype: PyTorch keeps the low bits of an integer, and makes an infinity of a
/// number that a float cannot hold.
pub fn beside(value: ScalarValue, dtype: DType) -> ScalarValue {
    // The least magnitudes that are rounded to infinity: above the largest float by half of its last place.
    let least = match dtype {
        DType::F16 => 65520.0,
        DType::BF16 => (2.0 - 0.5f64.powi(8)) * 2f64.powi(127),
        DType::F32 => (2.0 - 0.5f64.powi(24)) * 2f64.powi(127),
        _ => f64::INFINITY,
    };
    if let Some(real) = value.real()
        && real.abs() >= least
    {
        return ScalarValue::Float(f64::INFINITY.copysign(real));
    }
    let ScalarValue::Signed(whole) = value else { return value };
    ScalarValue::Signed(match dtype {
        DType::U8 => whole as u8 as i64,
        DType::S8 => whole as i8 as i64,
        DType::U16 => whole as u16 as i64,
        DType::S16 => whole as i16 as i64,
        DType::S32 => whole as i32 as i64,
        _ => whole,
    })
}

/// Records a number as a tensor of rank 0.
pub fn scalar(trace: &mut Trace, dtype: DType, value: ScalarValue) -> Result<NodeId> {
    let unlike = |e: Error| error!(Unimplemented, "a number that its dtype cannot hold: {}", e.message);
    full(trace, &TensorType::new(dtype, &[]), value).map_err(unlike)
}
