//! Traced computations that the library's own operations apply: comparators and reducers, cached by purpose and dtypes.
use crate::elementwise::formula::{Expr, Formula, Term};
use base::error::Result;
use base::types::{DType, Kind, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, Trace, take_body};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Operation of a cached body, without its dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Combine(u8),
    Replace,
    Order { descending: bool },
    Lexicographic { keys: usize, descending: bool },
    Extreme { largest: bool },
}

type Cache = FxHashMap<(Purpose, Vec<DType>), Arc<Body>>;

/// Cache of bodies. There are few, so no entry is ever removed.
static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Default::default);

/// Returns the cached body for a purpose and dtypes; on a miss, `record` traces it on scalar parameters of these
/// dtypes.
fn made(
    purpose: Purpose,
    dtypes: &[DType],
    record: impl for<'f> FnOnce(&[Expr<'f>]) -> Vec<Expr<'f>>,
) -> Result<Arc<Body>> {
    let key = (purpose, dtypes.to_vec());
    if let Some(body) = CACHE.lock().get(&key) {
        return Ok(body.clone());
    }
    let mut trace = Trace::new();
    let parameter = |dtype: &DType| trace.parameter(TensorType::new(*dtype, &[]));
    let parameters: Vec<NodeId> = dtypes.iter().map(parameter).collect();
    let f = Formula::new(&mut trace);
    let results = f.finish_list(&record(&f.operands(&parameters)))?;
    let body = take_body(&trace, &parameters, &results)?.0;
    // Another thread may have made it meanwhile.
    Ok(CACHE.lock().entry(key).or_insert(body).clone())
}

/// Body that maps `(a, b)` to `a (op) b`.
pub fn combine(op: BinaryOp, dtype: DType) -> Result<Arc<Body>> {
    made(Purpose::Combine(op as u8), &[dtype; 2], |p| vec![p[1].after(p[0], op)])
}

/// Returns the binary operation that a combiner consists of, with its operands in either order; None for any other
/// combiner.
pub fn combiner(body: &Body) -> Option<BinaryOp> {
    let ([ty], [a, b], []) = (body.results(), body.parameters(), body.captures()) else { return None };
    if ty.dtype == DType::Pred || [a, b] != [ty, ty] {
        return None;
    }
    let (values, results) = body.decode();
    let value = &values[results[0]];
    let of_both = [[0, 1], [1, 0]].iter().any(|both| value.operands[..] == *both);
    match value.op {
        Op::Binary(op @ (BinaryOp::Add | BinaryOp::Multiply | BinaryOp::Maximum | BinaryOp::Minimum)) if of_both => {
            Some(op)
        }
        _ => None,
    }
}

/// Body that maps `(a, b)` to `b`.
pub fn replace(dtype: DType) -> Result<Arc<Body>> {
    made(Purpose::Replace, &[dtype; 2], |p| vec![p[1]])
}

/// Returns the comparator of a sort: takes two elements of each dtype in turn, and returns true if the first element of
/// the first dtype precedes the second one. NaN is greater than every number: it comes last, or first with
/// `descending`.
pub fn order(dtypes: &[DType], descending: bool) -> Result<Arc<Body>> {
    let twice: Vec<DType> = dtypes.iter().flat_map(|&dtype| [dtype; 2]).collect();
    made(Purpose::Order { descending }, &twice, |p| {
        let precedes = comes_first(p[0], p[1], descending);
        if dtypes[0].kind() != Kind::Float {
            return vec![precedes];
        }
        let (number, nan) = if descending { (p[1], p[0]) } else { (p[0], p[1]) };
        vec![precedes | is_number_and_nan(number, nan)]
    })
}

/// Returns the comparator of a lexicographic sort: takes two elements of each dtype in turn, and returns true if the
/// first ones precede the second ones by the first `keys` dtypes. A later key decides only if all earlier ones are
/// equal. Keys are integers.
pub fn lexicographic(dtypes: &[DType], keys: usize, descending: bool) -> Result<Arc<Body>> {
    let twice: Vec<DType> = dtypes.iter().flat_map(|&dtype| [dtype; 2]).collect();
    made(Purpose::Lexicographic { keys, descending }, &twice, |p| {
        let mut precedes = comes_first(p[2 * keys - 2], p[2 * keys - 1], descending);
        for key in (0..keys - 1).rev() {
            let (a, b) = (p[2 * key], p[2 * key + 1]);
            let by_the_rest = a.eq(b) & precedes;
            precedes = comes_first(a, b, descending) | by_the_rest;
        }
        vec![precedes]
    })
}

/// Recognizes a body of [`lexicographic`] with three keys: returns the number of keys, and whether the order is
/// descending.
pub fn known_keys(body: &Body) -> Option<(usize, bool)> {
    let dtypes: Vec<DType> = body.parameters().iter().step_by(2).map(|ty| ty.dtype).collect();
    let is = |keys: usize, descending: bool| lexicographic(&dtypes, keys, descending).is_ok_and(|made| *made == *body);
    // Sorts of complex numbers have three integer keys (for NaN, the real part and the imaginary part), then the data.
    if dtypes.len() <= 3 || !body.captures().is_empty() {
        return None;
    }
    [false, true].into_iter().find(|&descending| is(3, descending)).map(|descending| (3, descending))
}

/// Compares `a` with `b`: true if it is less, or greater with `descending`.
fn comes_first<'f>(a: Expr<'f>, b: Expr<'f>, descending: bool) -> Expr<'f> {
    if descending { a.gt(b) } else { a.lt(b) }
}

/// Compares two elements: true if `number` is not NaN and `nan` is NaN.
fn is_number_and_nan<'f>(number: Expr<'f>, nan: Expr<'f>) -> Expr<'f> {
    number.eq(number) & nan.ne(nan)
}

/// Returns the reducer that maps `(a, i, b, j)`, two elements and their indices, to the greater (or smaller) element
/// and its index. NaN takes precedence; of equal elements, the one with the smaller index is chosen.
pub fn extreme(dtype: DType, index: DType, largest: bool) -> Result<Arc<Body>> {
    made(Purpose::Extreme { largest }, &[dtype, index, dtype, index], |p| {
        let (a, i, b, j) = (p[0], p[1], p[2], p[3]);
        let (mut is_better, mut is_equal) = (comes_first(a, b, largest), a.eq(b));
        if dtype.kind() == Kind::Float {
            is_better = is_better | is_number_and_nan(b, a);
            is_equal = is_equal | a.ne(a) & b.ne(b);
        }
        let takes_a = is_better | is_equal & i.lt(j);
        vec![takes_a.select(a, b), takes_a.select(i, j)]
    })
}

/// Sort order of a recognized comparator. NaN is greater than every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownOrder {
    /// Index of the array that is the sort key.
    pub key: usize,
    /// True if greater elements come first.
    pub descending: bool,
}

/// Recognizes the order that a comparator implements: a body of [`order`], or a single LT or GT of the two elements of
/// one array, which leaves the position of NaN undefined. None for any other comparator.
pub fn known_order(body: &Body) -> Option<KnownOrder> {
    let (values, results) = body.decode();
    let value = |position: usize| &values[position];
    let compared = |position: usize, wanted: &[CompareOp]| match value(position).op {
        Op::Compare(op) if wanted.contains(&op) => Some((op, value(position).operands[0], value(position).operands[1])),
        _ => None,
    };
    let strict = |position: usize| {
        let (op, a, b) = compared(position, &[CompareOp::Lt, CompareOp::Gt])?;
        let is_pair = b == a ^ 1 && b.max(a) < body.parameters().len();
        is_pair.then_some(KnownOrder { key: a / 2, descending: (op == CompareOp::Gt) == (a < b) })
    };
    let result = results[0];
    let Op::Binary(BinaryOp::Or) = value(result).op else { return strict(result) };
    let known = strict(value(result).operands[0])?;
    let both = value(result).operands[1];
    let Op::Binary(BinaryOp::And) = value(both).op else { return None };
    let (_, number, same) = compared(value(both).operands[0], &[CompareOp::Eq])?;
    let (_, nan, itself) = compared(value(both).operands[1], &[CompareOp::Ne])?;
    let (first, second) = (2 * known.key, 2 * known.key + 1);
    let wanted = if known.descending { (second, first) } else { (first, second) };
    ((number, nan) == wanted && same == number && itself == nan).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::binary::{binary, binary_scalar};
    use crate::elementwise::compare_select::compare;
    use base::types::ScalarValue;

    fn order_of(record: impl FnOnce(&mut Trace, &[NodeId]) -> NodeId) -> Option<KnownOrder> {
        let mut trace = Trace::new();
        let mut parameter = || trace.parameter(TensorType::new(DType::F32, &[]));
        let p = [parameter(), parameter(), parameter(), parameter()];
        let result = record(&mut trace, &p);
        known_order(&take_body(&trace, &p, &[result]).unwrap().0)
    }

    #[test]
    fn combiners_are_recognised_in_either_order() {
        let of = |dtype, order: [usize; 2], record: fn(&mut Trace, NodeId, NodeId) -> NodeId| {
            let mut trace = Trace::new();
            let p = [(); 2].map(|()| trace.parameter(TensorType::new(dtype, &[])));
            let result = record(&mut trace, p[order[0]], p[order[1]]);
            combiner(&take_body(&trace, &p, &[result]).unwrap().0)
        };
        for op in [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum] {
            assert_eq!(combiner(&combine(op, DType::F32).unwrap()), Some(op));
        }
        let maximum = |t: &mut Trace, a, b| binary(t, BinaryOp::Maximum, a, b).unwrap();
        assert_eq!(of(DType::F32, [1, 0], maximum), Some(BinaryOp::Maximum));
        assert_eq!(of(DType::F32, [0, 0], maximum), None);
        assert_eq!(of(DType::F32, [0, 1], |t, a, b| binary(t, BinaryOp::Subtract, a, b).unwrap()), None);
        assert_eq!(combiner(&replace(DType::F32).unwrap()), None);
    }

    #[test]
    fn orders_are_recognised() {
        let known = |key, descending| Some(KnownOrder { key, descending });
        for descending in [false, true] {
            let of = |dtypes: &[DType]| known_order(&order(dtypes, descending).unwrap());
            assert_eq!(of(&[DType::F32]), known(0, descending));
            assert_eq!(of(&[DType::BF16, DType::S32]), known(0, descending));
            assert_eq!(of(&[DType::U8, DType::S32]), known(0, descending));
        }
        let one = |op, a: usize, b: usize| order_of(move |t, p| compare(t, op, p[a], p[b]).unwrap());
        assert_eq!(one(CompareOp::Lt, 0, 1), known(0, false));
        assert_eq!(one(CompareOp::Lt, 1, 0), known(0, true));
        assert_eq!(one(CompareOp::Gt, 2, 3), known(1, true));
        assert_eq!(one(CompareOp::Gt, 3, 2), known(1, false));
        assert_eq!(one(CompareOp::Le, 0, 1), None);
        assert_eq!(one(CompareOp::Lt, 1, 2), None);
        assert_eq!(one(CompareOp::Lt, 0, 0), None);
        let negated = order_of(|t, p| {
            let [a, b] =
                [0, 1].map(|i| binary_scalar(t, BinaryOp::Multiply, p[i], ScalarValue::Signed(-1), false).unwrap());
            compare(t, CompareOp::Lt, a, b).unwrap()
        });
        assert_eq!(negated, None);
    }

    #[test]
    fn lexicographic_orders_are_recognised() {
        let dtypes = [DType::S32, DType::S32, DType::S32, DType::C64];
        for descending in [false, true] {
            let body = lexicographic(&dtypes, 3, descending).unwrap();
            assert_eq!((known_keys(&body), known_order(&body)), (Some((3, descending)), None));
        }
        assert_eq!(known_keys(&lexicographic(&dtypes, 2, false).unwrap()), None);
        assert_eq!(known_keys(&order(&dtypes, false).unwrap()), None);
    }

    #[test]
    fn bodies_are_made_once() {
        let first = combine(BinaryOp::Add, DType::F32).unwrap();
        assert!(Arc::ptr_eq(&first, &combine(BinaryOp::Add, DType::F32).unwrap()));
        assert!(!Arc::ptr_eq(&first, &combine(BinaryOp::Add, DType::F64).unwrap()));
        assert_eq!(replace(DType::F32).unwrap().passed_through(0), Some(1));
    }
}
