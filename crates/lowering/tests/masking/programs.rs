//! Random programs of whole numbers: their masked values are equal.

use crate::harness::{Build, Check, Random, input, try_template};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace, UnaryOp, Window, take_closed_body};
use lowering::transform::mask;
use ops::control::{self, Applied, bodies};
use ops::{creation, elementwise, indexing, linalg, reduction, shape, sorting};

const S32: DType = DType::S32;
/// Bounds of the sizes; equal ones among them, and one below the sizes from which templates are made.
const BOUNDS: [[i64; 2]; 3] = [[9, 7], [8, 8], [5, 10]];

/// A size of an axis: a multiple of a product of variables, and a constant.
type Size = fn(&[i64]) -> i64;

const SIZES: &[Size] = &[|n| n[0], |n| n[1], |_| 3, |_| 1, |n| n[0] + 2, |_| 4, |n| 2 * n[1]];

/// Records one more value of the values so far; None if the choice does not fit them.
fn step(t: &mut Trace, random: &mut Random, values: &[NodeId], n: &[i64]) -> Result<Option<NodeId>> {
    let x = values[random.below(values.len())];
    let dims = t.ty(x).dims.to_vec();
    let rank = dims.len();
    let (choice, axis, number) = (random.below(30), random.below(rank.max(1)), random.below(7));
    if rank == 0 && choice > 3 {
        return Ok(None);
    }
    let other = values.iter().rev().copied().find(|&y| y != x && t.ty(y).dims[..] == dims[..]);
    Ok(Some(match choice {
        0 => elementwise::unary(t, UnaryOp::Negate, x)?,
        1 => elementwise::binary_scalar(t, BinaryOp::Add, x, ScalarValue::Signed(n[number % 2]), false)?,
        2 | 3 => {
            let Some(y) = other else { return Ok(None) };
            let op = [BinaryOp::Add, BinaryOp::Maximum, BinaryOp::Multiply, BinaryOp::Subtract][number % 4];
            elementwise::binary(t, op, x, y)?
        }
        4 | 5 => {
            let op = [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Product][number % 4];
            reduction::reduce(t, op, x, &[axis as i64], number > 3)?
        }
        6 => {
            let order: Vec<i64> = (0..rank).map(|i| ((i + 1 + axis) % rank) as i64).collect();
            shape::transpose(t, x, &order)?
        }
        7 if rank > 1 => {
            let at = axis % (rank - 1);
            let merged = [&dims[..at], &[dims[at] * dims[at + 1]], &dims[at + 2..]].concat();
            shape::reshape(t, x, &merged)?
        }
        8 if rank < 4 => {
            let wide = [&[SIZES[number](n)], &dims[..]].concat();
            shape::broadcast_to(t, x, &wide)?
        }
        9 => shape::reverse(t, x, &[axis as i64])?,
        10 => {
            let (mut starts, mut limits) = (vec![0; rank], dims.clone());
            let part = SIZES[number](n).min(dims[axis]);
            if part != SIZES[number](n) {
                return Ok(None);
            }
            match number % 2 {
                0 => starts[axis] = dims[axis] - part,
                _ => limits[axis] = part,
            }
            shape::slice(t, x, &starts, &limits, &vec![1; rank])?
        }
        11 => {
            let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
            (low[axis], high[axis]) = (if number % 2 == 0 { SIZES[number](n) } else { 1 }, number as i64);
            shape::pad_scalar(t, x, ScalarValue::Signed(7), &low, &high, &vec![0; rank])?
        }
        12 => {
            let fits = |y: &&NodeId| {
                let own = t.ty(**y).dims;
                own.len() == rank && (0..rank).all(|i| i == axis || own[i] == dims[i])
            };
            let parts: Vec<NodeId> = values.iter().filter(fits).take(3).copied().collect();
            shape::concatenate(t, &parts, axis as i64)?
        }
        13 | 14 => {
            let Some(&at) = values.iter().find(|&&y| t.ty(y).dims.len() == 1) else { return Ok(None) };
            indexing::take(t, x, at, axis as i64)?
        }
        15 => {
            let same = values.iter().copied().find(|&y| t.ty(y).dims.len() == 1 && t.ty(y).dims[0] == dims[0]);
            let Some(ids) = same else { return Ok(None) };
            indexing::segment_reduce(t, ReduceOp::Sum, x, ids, SIZES[number](n))?
        }
        16 => sorting::sort_along(t, x, axis as i64, number % 2 == 0, true)?,
        17 => reduction::cumulative(t, ReduceOp::Sum, x, axis as i64, number % 2 == 0)?,
        18 if rank > 1 => {
            let turned = shape::transpose(t, x, &(0..rank as i64).rev().collect::<Vec<i64>>())?;
            if rank == 2 { linalg::matmul(t, x, turned)? } else { return Ok(None) }
        }
        19 => {
            let mut part = dims.clone();
            part[axis] = [1, 2, 1][number % 3].min(dims[axis].max(1));
            let starts: Vec<NodeId> = (0..rank)
                .map(|_| creation::full(t, &TensorType::new(S32, &[]), ScalarValue::Signed(n[0] - 2)))
                .collect::<Result<_>>()?;
            indexing::dynamic_slice(t, x, &starts, &part)?
        }
        20 => {
            let places = creation::iota(t, &TensorType::new(S32, &dims), axis as i64)?;
            let is = elementwise::compare(t, CompareOp::Lt, places, x)?;
            elementwise::select(t, is, places, x)?
        }
        21 => reduction::arg_extreme(t, x, axis as i64, true, number % 2 == 0, S32)?,
        22 => {
            let value = ScalarValue::Signed(n[1]);
            let all = creation::full(t, &TensorType::new(S32, &dims), value)?;
            elementwise::binary(t, BinaryOp::Add, all, x)?
        }
        23 => {
            let mut part = dims.clone();
            part[axis] = dims[axis].min(2);
            let update = shape::slice(t, x, &vec![0; rank], &part, &vec![1; rank])?;
            let zero = creation::full(t, &TensorType::new(S32, &[]), ScalarValue::Signed(n[1] - 1))?;
            indexing::dynamic_update_slice(t, x, update, &vec![zero; rank])?
        }
        24 => {
            let at = values.iter().copied().find(|&y| y != x && t.ty(y).dims[..] == dims[..]);
            let Some(at) = at else { return Ok(None) };
            indexing::take_along_axis(t, x, at, axis as i64)?
        }
        25 => {
            let Some(at) = other else { return Ok(None) };
            let op = [ScatterOp::Sum, ScatterOp::Max][number % 2];
            indexing::scatter_along(t, op, x, at, at, axis as i64)?
        }
        26 => {
            let most = values.iter().copied().find(|&y| {
                let own = t.ty(y).dims;
                own.len() == rank && (0..rank).all(|i| dims[i] <= own[i])
            });
            let Some(whole) = most else { return Ok(None) };
            let start = creation::full(t, &TensorType::new(S32, &[]), ScalarValue::Signed(number as i64 - 1))?;
            indexing::dynamic_update_slice(t, whole, x, &vec![start; rank])?
        }
        27 => {
            let body = bodies::combine(BinaryOp::Maximum, S32)?;
            let init = creation::full(t, &TensorType::new(S32, &[]), ScalarValue::Signed(i32::MIN.into()))?;
            let mut windows = vec![Window::ONE; rank];
            windows[axis] = Window { size: 3, low: 1, high: number as i64 % 3, ..Window::ONE };
            let applied = Applied { body: &body, captures: &[] };
            reduction::reduce_window(t, &applied, &[x], &[init], &windows)?[0]
        }
        28 => {
            let row = TensorType::new(S32, &dims[1..]);
            let mut inner = Trace::new();
            let parameters = [row.clone(), row.clone()].map(|ty| inner.parameter(ty));
            let next = elementwise::binary(&mut inner, BinaryOp::Subtract, parameters[1], parameters[0])?;
            let body = take_closed_body(&inner, &parameters, &[], &[next, next])?;
            let start = creation::full(t, &row, ScalarValue::Signed(n[1]))?;
            let applied = Applied { body: &body, captures: &[] };
            control::scan(t, &applied, &[start], &[x], dims[0], number % 2 == 0)?[number % 2]
        }
        29 => {
            let [values, places] = sorting::top_k(t, x, 1, axis as i64, number % 2 == 0, S32)?;
            if number > 3 { values } else { places }
        }
        _ => return Ok(None),
    }))
}

/// Records the random program of a seed. Choices do not depend on the sizes but by what fits.
fn program(t: &mut Trace, seed: u64, n: &[i64]) -> Result<(Vec<NodeId>, Vec<NodeId>)> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut parameters = Vec::new();
    for _ in 0..2 + random.below(2) {
        let dims: Vec<i64> = (0..1 + random.below(3)).map(|_| SIZES[random.below(SIZES.len())](n)).collect();
        parameters.push(input(t, S32, &dims));
    }
    let mut values = parameters.clone();
    let wanted = 5 + random.below(16);
    for _ in 0..4 * wanted {
        if values.len() == parameters.len() + wanted {
            break;
        }
        let Some(made) = step(t, &mut random, &values, n)? else { continue };
        if t.ty(made).elements() > 600 {
            return Err(error!(InvalidArgument, "a large value"));
        }
        values.push(made);
    }
    let results = values[parameters.len()..].to_vec();
    Ok((parameters, results))
}

/// Compares this many random programs, of every fourth seed from `seed` on. Returns how many were refused, and at how
/// many sizes the others were compared.
fn compare(count: usize, mut seed: u64) -> [usize; 2] {
    let (mut masked, mut compared, mut refused) = (0, 0, 0);
    while masked < count {
        seed += 4;
        let build: Build = &|t, n| program(t, seed, n);
        let Some(template) = try_template(build, 2) else { continue };
        let bounds = &BOUNDS[seed as usize % BOUNDS.len()];
        let [a, b] = *bounds;
        let points = [[a, b], [4, 5], [1, 1], [0, 5], [4, 0], [1, b], [a, 1]].map(|sizes| sizes.to_vec());
        let Ok(made) = mask(&template, bounds) else {
            refused += 1;
            continue;
        };
        let name = format!("program {seed}");
        let check = Check { name: &name, bounds, tolerance: 0.0, whole: true, least: 0 };
        compared += check.run_at(build, &template, &made, &points);
        masked += 1;
    }
    [refused, compared]
}

#[test]
fn random_programs_are_equal() {
    let threads: Vec<_> = (0..4).map(|seed| std::thread::spawn(move || compare(500, seed))).collect();
    let counts: Vec<[usize; 2]> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let [refused, compared] = [0, 1].map(|i| counts.iter().map(|counts| counts[i]).sum::<usize>());
    println!("2000 programs were compared at {compared} sizes, {refused} were refused");
    assert!(refused < 500 && compared > 6000);
}
