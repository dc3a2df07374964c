//! The operations that are judged.

use crate::both::Both;
use crate::control::{conditional, while_loop};
use crate::draw::Draw;
use crate::einsum;
use crate::indexed::{dynamic_slice, dynamic_update_slice, gather, scatter};
use base::types::{DType, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, SpecialOp, Trace, UnaryOp};
use lazyxla_xla_rs::element_type;
use ops::linalg::{self, DotAxes};
use ops::nn::{self, ConvolutionOptions};
use ops::random::{self, RngAlgorithm};
use ops::{creation, elementwise, reduction, shape, sorting};
use xla::{RandomAlgorithm, XlaBuilder, XlaComputation, XlaOp};

/// An operation that is judged.
pub struct Case {
    pub name: &'static str,
    pub judge: Box<dyn Fn(&mut Draw) -> Both>,
}

fn case(name: &'static str, judge: impl Fn(&mut Draw) -> Both + 'static) -> Case {
    Case { name, judge: Box::new(judge) }
}

fn unary(op: UnaryOp, theirs: fn(&XlaOp) -> xla::Result<XlaOp>) -> Case {
    case(op.name(), move |draw| {
        let mut both = Both::new();
        let x = both.operand(&draw.ty());
        both.ours(|trace| Ok(vec![elementwise::unary(trace, op, x.node)?]));
        both.theirs(theirs(&x.op));
        both
    })
}

fn of_two(
    name: &'static str,
    ours: impl Fn(&mut Trace, NodeId, NodeId) -> base::error::Result<NodeId> + 'static,
    theirs: fn(&XlaOp, &XlaOp) -> xla::Result<XlaOp>,
) -> Case {
    case(name, move |draw| {
        let mut both = Both::new();
        let ty = draw.ty();
        let (a, b) = (both.operand(&ty), both.operand(&draw.like(&ty)));
        both.ours(|trace| Ok(vec![ours(trace, a.node, b.node)?]));
        both.theirs(theirs(&a.op, &b.op));
        both
    })
}

fn binary(op: BinaryOp, theirs: fn(&XlaOp, &XlaOp) -> xla::Result<XlaOp>) -> Case {
    of_two(op.name(), move |trace, a, b| elementwise::binary(trace, op, a, b), theirs)
}

fn compare(op: CompareOp, theirs: fn(&XlaOp, &XlaOp) -> xla::Result<XlaOp>) -> Case {
    of_two(op.name(), move |trace, a, b| elementwise::compare(trace, op, a, b), theirs)
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut all = vec![
        unary(UnaryOp::Negate, XlaOp::neg),
        unary(UnaryOp::Abs, XlaOp::abs),
        unary(UnaryOp::Sign, XlaOp::sign),
        unary(UnaryOp::Exponential, XlaOp::exp),
        unary(UnaryOp::ExponentialMinusOne, XlaOp::expm1),
        unary(UnaryOp::Log, XlaOp::log),
        unary(UnaryOp::LogPlusOne, XlaOp::log1p),
        unary(UnaryOp::Logistic, XlaOp::logistic),
        unary(UnaryOp::Tanh, XlaOp::tanh),
        unary(UnaryOp::Sqrt, XlaOp::sqrt),
        unary(UnaryOp::Rsqrt, XlaOp::rsqrt),
        unary(UnaryOp::Cbrt, XlaOp::cbrt),
        unary(UnaryOp::Sine, XlaOp::sin),
        unary(UnaryOp::Cosine, XlaOp::cos),
        unary(UnaryOp::Floor, XlaOp::floor),
        unary(UnaryOp::Ceil, XlaOp::ceil),
        unary(UnaryOp::RoundNearestAfz, XlaOp::round),
        unary(UnaryOp::Not, XlaOp::not),
        unary(UnaryOp::CountLeadingZeros, XlaOp::clz),
        unary(UnaryOp::IsFinite, XlaOp::is_finite),
        binary(BinaryOp::Add, XlaOp::add_),
        binary(BinaryOp::Subtract, XlaOp::sub_),
        binary(BinaryOp::Multiply, XlaOp::mul_),
        binary(BinaryOp::Divide, XlaOp::div_),
        binary(BinaryOp::Remainder, XlaOp::rem_),
        binary(BinaryOp::Power, XlaOp::pow),
        binary(BinaryOp::Maximum, XlaOp::max),
        binary(BinaryOp::Minimum, XlaOp::min),
        binary(BinaryOp::Atan2, XlaOp::atan2),
        binary(BinaryOp::And, XlaOp::and),
        binary(BinaryOp::Or, XlaOp::or),
        binary(BinaryOp::Xor, XlaOp::xor),
        compare(CompareOp::Eq, XlaOp::eq),
        compare(CompareOp::Ne, XlaOp::ne),
        compare(CompareOp::Ge, XlaOp::ge),
        compare(CompareOp::Gt, XlaOp::gt),
        compare(CompareOp::Le, XlaOp::le),
        compare(CompareOp::Lt, XlaOp::lt),
    ];
    all.extend([
        case("real", |draw| part(draw, elementwise::real, XlaOp::real)),
        case("imag", |draw| part(draw, elementwise::imag, XlaOp::imag)),
    ]);
    all.extend([case("select", select), case("clamp", clamp), case("convert", convert)]);
    all.extend([case("reshape", reshape), case("broadcast_to", broadcast_to), case("transpose", transpose)]);
    all.extend([case("reverse", reverse), case("slice", slice), case("concatenate", concatenate), case("pad", pad)]);
    all.extend([
        case("iota", iota),
        case("dynamic_slice", dynamic_slice),
        case("dynamic_update_slice", dynamic_update_slice),
    ]);
    for op in [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any] {
        let name = ["reduce_add", "reduce_multiply", "reduce_maximum", "reduce_minimum", "reduce_and", "reduce_or"];
        all.push(case(name[op as usize - 1], move |draw| reduce(draw, op)));
    }
    all.extend([case("dot_general", dot_general), case("convolution", convolution), case("gather", gather)]);
    all.extend([case("scatter", scatter), case("sort", sort), case("top_k", top_k)]);
    all.push(case("rng_bit_generator", rng_bit_generator));
    all.extend([case("while", while_loop), case("conditional", conditional)]);
    all.extend([case("einsum1", einsum::of_one), case("einsum2", einsum::of_two)]);
    let erf = |trace: &mut Trace, x: NodeId| elementwise::special(trace, SpecialOp::Erf, x);
    all.push(case("erf", move |draw| part(draw, erf, XlaOp::erf)));
    all
}

fn part(
    draw: &mut Draw,
    ours: fn(&mut Trace, NodeId) -> base::error::Result<NodeId>,
    theirs: fn(&XlaOp) -> xla::Result<XlaOp>,
) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    both.ours(|trace| Ok(vec![ours(trace, x.node)?]));
    both.theirs(theirs(&x.op));
    both
}

fn select(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let ty = draw.ty();
    let pred = TensorType { dtype: DType::Pred, dims: ty.dims.clone() };
    let pred = if draw.one_in(3) { draw.like(&pred) } else { pred };
    let (p, a, b) = (both.operand(&pred), both.operand(&ty), both.operand(&draw.like(&ty)));
    both.ours(|trace| Ok(vec![elementwise::select(trace, p.node, a.node, b.node)?]));
    both.theirs(p.op.select(&a.op, &b.op));
    both
}

fn clamp(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let ty = draw.ty();
    let bound = |draw: &mut Draw| match draw.one_in(2) {
        true => TensorType::new(ty.dtype, &[]),
        false => draw.like(&ty),
    };
    let (low, high) = (bound(draw), bound(draw));
    let (low, x, high) = (both.operand(&low), both.operand(&ty), both.operand(&high));
    both.ours(|trace| Ok(vec![elementwise::clamp(trace, low.node, x.node, high.node)?]));
    both.theirs(x.op.clamp(&low.op, &high.op));
    both
}

fn convert(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let (x, dtype) = (both.operand(&draw.ty()), draw.dtype());
    both.arguments = format!("to {dtype}");
    both.ours(|trace| Ok(vec![elementwise::convert(trace, x.node, dtype)]));
    both.theirs(x.op.convert(element_type(dtype).primitive_type()));
    both
}

fn reshape(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let mut dims = x.ty.dims.to_vec();
    match draw.below(4) {
        0 => dims = vec![x.ty.elements() as i64],
        1 => dims.insert(draw.below(dims.len() as u64 + 1) as usize, 1),
        2 => dims.reverse(),
        _ => {
            let rank = draw.below(4) as usize;
            dims = draw.dims(rank);
        }
    }
    both.arguments = format!("to {dims:?}");
    both.ours(|trace| Ok(vec![shape::reshape(trace, x.node, &dims)?]));
    both.theirs(x.op.reshape(&dims));
    both
}

fn broadcast_to(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let mut dims: Vec<i64> = x.ty.dims.iter().map(|&dim| if dim == 1 { draw.between(0, 4) } else { dim }).collect();
    if draw.one_in(4) {
        let rank = draw.below(4) as usize;
        dims = draw.dims(rank);
    } else if draw.one_in(2) {
        dims.insert(0, draw.between(0, 3));
    }
    both.arguments = format!("to {dims:?}");
    both.ours(|trace| Ok(vec![shape::broadcast_to(trace, x.node, &dims)?]));
    let first = dims.len() as i64 - x.ty.dims.len() as i64;
    let axes: Vec<i64> = (first..dims.len() as i64).collect();
    both.theirs(x.op.broadcast_in_dim(&dims, &axes));
    both
}

fn transpose(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let rank = x.ty.dims.len();
    let count = if draw.one_in(8) { rank.saturating_sub(1) } else { rank };
    let permutation = draw.axes(rank, count);
    both.arguments = format!("{permutation:?}");
    both.ours(|trace| Ok(vec![shape::transpose(trace, x.node, &permutation)?]));
    both.theirs(x.op.transpose(&permutation));
    both
}

fn reverse(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let count = draw.below(3) as usize;
    let axes = draw.axes(x.ty.dims.len(), count);
    both.arguments = format!("{axes:?}");
    both.ours(|trace| Ok(vec![shape::reverse(trace, x.node, &axes)?]));
    both.theirs(x.op.rev(&axes));
    both
}

/// A slice of one axis: XlaBuilder's slice of several axes is not in the crate.
fn slice(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let rank = draw.between(1, 3) as usize;
    let x = both.operand(&draw.of_rank(rank));
    let (axis, dims) = (draw.below(rank as u64) as usize, x.ty.dims.clone());
    let (start, limit, stride) = (draw.between(-1, 4), draw.between(-1, 5), draw.between(0, 3));
    both.arguments = format!("axis {axis} {start}:{limit}:{stride}");
    let (mut starts, mut limits, mut strides) = (vec![0; rank], dims.to_vec(), vec![1; rank]);
    (starts[axis], limits[axis], strides[axis]) = (start, limit, stride);
    both.ours(|trace| Ok(vec![shape::slice(trace, x.node, &starts, &limits, &strides)?]));
    both.theirs(x.op.slice_in_dim(start, limit, stride, axis as i64));
    both
}

fn concatenate(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let rank = draw.between(1, 3) as usize;
    let ty = draw.of_rank(rank);
    let axis = if draw.one_in(10) { draw.between(-1, 3) } else { draw.below(rank as u64) as i64 };
    let mut all = vec![both.operand(&ty)];
    for _ in 0..draw.below(3) {
        let mut next = draw.like(&ty);
        if let Some(dim) = usize::try_from(axis).ok().and_then(|axis| next.dims.get_mut(axis)) {
            *dim = draw.between(0, 4);
        }
        all.push(both.operand(&next));
    }
    both.arguments = format!("axis {axis}");
    let nodes: Vec<NodeId> = all.iter().map(|operand| operand.node).collect();
    let rest: Vec<XlaOp> = all[1..].iter().map(|operand| operand.op.clone()).collect();
    both.ours(|trace| Ok(vec![shape::concatenate(trace, &nodes, axis)?]));
    both.theirs(all[0].op.concat_in_dim(&rest, axis));
    both
}

fn pad(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let ty = draw.ty();
    let value = if draw.one_in(6) { draw.like(&ty) } else { TensorType::new(ty.dtype, &[]) };
    let (x, value) = (both.operand(&ty), both.operand(&value));
    let rank = ty.dims.len();
    let [low, high] = [0, 1].map(|_| (0..rank).map(|_| draw.between(-2, 2)).collect::<Vec<i64>>());
    let least = if draw.one_in(10) { -1 } else { 0 };
    let interior: Vec<i64> = (0..rank).map(|_| draw.between(least, 2)).collect();
    both.arguments = format!("{low:?} {high:?} {interior:?}");
    let config: Vec<(i64, i64, i64)> = (0..rank).map(|i| (low[i], high[i], interior[i])).collect();
    both.ours(|trace| Ok(vec![shape::pad(trace, x.node, value.node, &low, &high, &interior)?]));
    both.theirs(x.op.pad(&value.op, &config));
    both
}

fn iota(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let ty = draw.ty();
    let rank = ty.dims.len() as i64;
    let axis = if draw.one_in(8) { draw.between(0, 4) } else { draw.between(0, (rank - 1).max(0)) };
    both.arguments = format!("{ty} axis {axis}");
    both.ours(|trace| Ok(vec![creation::iota(trace, &ty, axis)?]));
    both.theirs(both.builder.iota(element_type(ty.dtype), &ty.dims, axis));
    both
}

/// The computation that combines two scalars of a dtype.
pub fn combiner(dtype: DType, combine: fn(&XlaOp, &XlaOp) -> xla::Result<XlaOp>) -> xla::Result<XlaComputation> {
    let (builder, element) = (XlaBuilder::new("combiner"), element_type(dtype));
    let (a, b) = (builder.parameter(0, element, &[], "a")?, builder.parameter(1, element, &[], "b")?);
    combine(&a, &b)?.build()
}

fn reduce(draw: &mut Draw, op: ReduceOp) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let count = draw.between(1, 3) as usize;
    let axes = draw.axes(x.ty.dims.len(), count);
    both.arguments = format!("axes {axes:?}");
    both.ours(|trace| Ok(vec![reduction::reduce(trace, op, x.node, &axes, false)?]));
    let combine = [XlaOp::add_, XlaOp::mul_, XlaOp::max, XlaOp::min, XlaOp::and, XlaOp::or][op as usize - 1];
    let init = both.builder.zero(element_type(x.ty.dtype));
    let made = combiner(x.ty.dtype, combine).and_then(|computation| x.op.reduce(init?, computation, &axes, false));
    both.theirs(made);
    both
}

fn dot_general(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let (batch, contracted) = (draw.below(2) as usize, draw.below(3) as usize);
    let (l_rank, r_rank) = (batch + contracted + draw.below(2) as usize, batch + contracted + draw.below(2) as usize);
    let l = draw.of_rank(l_rank);
    let (l_axes, r_axes) = (draw.axes(l_rank, batch + contracted), draw.axes(r_rank, batch + contracted));
    let mut r_dims = draw.dims(r_rank);
    for (&a, &b) in l_axes.iter().zip(&r_axes) {
        if let (Some(&dim), Some(to)) = (l.dims.get(a as usize), r_dims.get_mut(b as usize))
            && !draw.one_in(12)
        {
            *to = dim;
        }
    }
    let dtype = if draw.one_in(6) { draw.dtype() } else { l.dtype };
    let (l, r) = (both.operand(&l), both.operand(&TensorType::new(dtype, &r_dims)));
    let split = batch.min(l_axes.len()).min(r_axes.len());
    let axes = DotAxes {
        lhs_batching: &l_axes[..split],
        rhs_batching: &r_axes[..split],
        lhs_contracting: &l_axes[split..],
        rhs_contracting: &r_axes[split..],
    };
    both.arguments = format!(
        "batching {:?} {:?} contracting {:?} {:?}",
        axes.lhs_batching, axes.rhs_batching, axes.lhs_contracting, axes.rhs_contracting
    );
    both.ours(|trace| Ok(vec![linalg::dot_general(trace, l.node, r.node, &axes, None)?]));
    both.theirs(
        l.op.dot_general(&r.op, axes.lhs_contracting, axes.rhs_contracting, axes.lhs_batching, axes.rhs_batching),
    );
    both
}

fn convolution(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let spatial = draw.below(3) as usize;
    let groups = draw.between(1, 2);
    let lhs = draw.of_rank(spatial + 2);
    let mut rhs = TensorType::new(if draw.one_in(6) { draw.dtype() } else { lhs.dtype }, &draw.dims(spatial + 2));
    if !draw.one_in(6) {
        rhs.dims[1] = lhs.dims[1] / groups;
        rhs.dims[0] = groups * draw.between(1, 2);
    }
    let batch_groups = if draw.one_in(6) { draw.between(1, 3) } else { 1 };
    let groups = if draw.one_in(10) { draw.between(0, 3) } else { groups };
    let (l, r) = (both.operand(&lhs), both.operand(&rhs));
    let low_stride = if draw.one_in(12) { 0 } else { 1 };
    let (strides, mut low, mut high) =
        (draw.numbers(spatial, low_stride, 2), draw.numbers(spatial, -1, 2), draw.numbers(spatial, -1, 2));
    let (dilation, kernel_dilation) = (draw.numbers(spatial, low_stride, 2), draw.numbers(spatial, 1, 2));
    // XLA ends the process if padding leaves less than nothing of an axis.
    let sizes = lhs.dims[2..].iter().zip(low.iter().zip(&high)).zip(&dilation);
    let is_negative = |((&dim, (low, high)), dilation): ((&i64, (&i64, &i64)), &i64)| {
        (if dim == 0 { 0 } else { (dim - 1) * dilation + 1 }) + low + high < 0
    };
    if sizes.into_iter().any(is_negative) {
        (low, high) = (vec![0; spatial], vec![0; spatial]);
    }
    both.arguments = format!(
        "strides {strides:?} low {low:?} high {high:?} dilation {dilation:?} {kernel_dilation:?} groups {groups} {batch_groups}"
    );
    let options = ConvolutionOptions {
        window_strides: Some(&strides),
        padding_low: Some(&low),
        padding_high: Some(&high),
        lhs_dilation: Some(&dilation),
        rhs_dilation: Some(&kernel_dilation),
        window_reversal: None,
        lhs_dimensions: None,
        rhs_dimensions: None,
        out_dimensions: None,
        feature_groups: groups,
        batch_groups,
        sums_batch: false,
        dtype: None,
        precision: None,
    };
    both.ours(|trace| Ok(vec![nn::convolution(trace, l.node, r.node, &options)?]));
    let axes: Vec<i64> = (2..spatial as i64 + 2).collect();
    let padding: Vec<(i64, i64)> = low.iter().copied().zip(high.iter().copied()).collect();
    both.theirs(l.op.conv_general_dilated(
        &r.op, &strides, &padding, &dilation, &kernel_dilation, 0, 1, &axes, 0, 1, &axes, 1, 0, &axes, groups,
        batch_groups, false,
    ));
    both
}

fn sort(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let rank = x.ty.dims.len() as i64;
    let axis = if draw.one_in(10) { draw.between(-1, 4) } else { draw.between(0, (rank - 1).max(0)) };
    both.arguments = format!("axis {axis}");
    both.ours(|trace| Ok(vec![sorting::sort_along(trace, x.node, axis, false, true)?]));
    both.theirs(x.op.sort_asc(axis, true));
    both
}

fn top_k(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let (k, largest) = (draw.between(0, 5), draw.one_in(2));
    both.arguments = format!("k {k} largest {largest}");
    both.ours(|trace| Ok(sorting::top_k(trace, x.node, k, -1, largest, DType::S32)?.to_vec()));
    both.theirs(x.op.top_k(k, largest));
    both
}

fn rng_bit_generator(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let state = both.operand(&TensorType::new(DType::U64, &[draw.between(1, 4)]));
    // XLA ends the process for bits of other dtypes.
    let dtype = [DType::U8, DType::U16, DType::U32, DType::U64][draw.below(4) as usize];
    let ty = TensorType { dtype, ..draw.ty() };
    let (ours, theirs) = match draw.one_in(2) {
        true => (RngAlgorithm::ThreeFry, RandomAlgorithm::ThreeFry),
        false => (RngAlgorithm::Philox, RandomAlgorithm::Philox),
    };
    both.arguments = format!("{ours:?} {ty}");
    both.ours(|trace| Ok(random::rng_bit_generator(trace, ours, state.node, &ty)?.to_vec()));
    both.theirs(state.op.rng_bit_generator(theirs, element_type(ty.dtype), &ty.dims));
    both
}
