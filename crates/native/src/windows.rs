//! Window operations: reduction of each window with an arbitrary computation, and selection of one element of each
//! window. The computation is applied to one element of all windows at once.

use super::array::Array;
use super::creation::full;
use super::element::by_width;
use super::folds::row_of;
use super::offsets::{Each, combine_at, elements_at};
use super::shape::{broadcast_to, pad, scatter, slice};
use super::walk::{Walk, strides};
use base::allocation::filled;
use base::error::Result;
use base::types::{Dims, Scalar, TensorType, count};
use ir::Window;

/// Windows with at most this many elements that may lie within the array are reduced element by element.
const SMALL_WINDOW: usize = 64;

/// Number of elements up to which arrays are padded, whatever the sizes of the operands and results.
const FEW_ELEMENTS: u128 = 1 << 16;

/// Reduces each window; `dims` is the number of windows along each axis. `inits` are scalars and identities of
/// `combine`.
pub fn reduce_window(
    dims: &[i64],
    windows: &[Window],
    arrays: &[Array],
    inits: &[Array],
    combine: &Each,
) -> Result<Vec<Array>> {
    let from = &arrays[0].ty().dims;
    let size =
        windows.iter().zip(from).try_fold(1usize, |n, (window, &dim)| n.checked_mul(visits(window, dim) as usize));
    if count(dims) == 0 {
        inits.iter().map(|init| broadcast_to(init, &TensorType::new(init.ty().dtype, dims))).collect()
    } else if size.is_some_and(|size| size <= SMALL_WINDOW) || is_mostly_padding(dims, windows, from) {
        element_by_element(dims, windows, arrays, inits, combine)
    } else {
        axis_by_axis(dims, windows, arrays, inits, combine)
    }
}

/// Number of visits along an axis, see [`for_each_element`].
fn visits(window: &Window, dim: i64) -> i64 {
    window.size.min(dim)
}

/// Whether the padded array has many more elements than the array and the result.
fn is_mostly_padding(dims: &[i64], windows: &[Window], from: &[i64]) -> bool {
    let padded = windows.iter().zip(from).map(|(window, &dim)| window.padded(dim).expect("checked") as u128);
    padded.product::<u128>() > FEW_ELEMENTS + 4 * (count(dims) + count(from)) as u128
}

/// Combines the elements of the windows in order, one element of all windows at a time. Padding is skipped.
fn element_by_element(
    dims: &[i64],
    windows: &[Window],
    arrays: &[Array],
    inits: &[Array],
    combine: &Each,
) -> Result<Vec<Array>> {
    let whole = |init: &Array| broadcast_to(init, &TensorType::new(init.ty().dtype, dims));
    let mut sums: Vec<Array> = inits.iter().map(whole).collect::<Result<_>>()?;
    for_each_element(dims, windows, &arrays[0].ty().dims, |hits| {
        sums = with_element(hits, &sums, arrays, combine)?;
        Ok(())
    })?;
    Ok(sums)
}

/// Calls `visit` for the elements of the windows, in order, each time with some windows and an element of each that lies
/// within the array. Along each axis, a visit is for one element of the window or, if the array has fewer elements, for
/// one element of the array. `dims` is the number of windows along each axis, `from` the shape of the array.
fn for_each_element(
    dims: &[i64],
    windows: &[Window],
    from: &[i64],
    mut visit: impl FnMut(&[Hits]) -> Result<()>,
) -> Result<()> {
    if from.contains(&0) {
        return Ok(());
    }
    let mut number: Dims = windows.iter().map(|_| 0).collect();
    loop {
        let hits = |axis: usize| {
            let (window, count, dim) = (&windows[axis], dims[axis], from[axis]);
            if window.size <= dim {
                Hits::of_window_element(window, number[axis], count, dim)
            } else {
                Hits::of_array_element(window, number[axis], count)
            }
        };
        if let Some(hits) = (0..dims.len()).map(hits).collect::<Option<Vec<Hits>>>() {
            visit(&hits)?;
        }
        let more = |axis: usize| number[axis] + 1 < visits(&windows[axis], from[axis]);
        let Some(axis) = (0..dims.len()).rev().find(|&axis| more(axis)) else {
            return Ok(());
        };
        number[axis] += 1;
        number[axis + 1..].fill(0);
    }
}

/// Windows along one axis, and for each an element of the array that lies in it (not in the padding).
struct Hits {
    /// Number of these windows.
    count: i64,
    /// Index of the first of these windows, and the distance to the next.
    window: [i64; 2],
    /// Index of the array element in the first of these windows, and the distance to the element in the next.
    element: [i64; 2],
}

impl Hits {
    /// Returns the hits of window element `number` for `count` windows along an axis of size `dim`; None if it always
    /// lies in the padding.
    fn of_window_element(window: &Window, number: i64, count: i64, dim: i64) -> Option<Hits> {
        let [stride, base] = [window.stride, window.base_dilation].map(i128::from);
        // Window `at` reads the place `at * stride + offset` of the dilated array.
        let offset = i128::from(number) * i128::from(window.dilation) - i128::from(window.low);
        let first_within = ((-offset).max(0) + stride - 1) / stride;
        // The windows in which the element lies on an array element repeat with this period.
        let (first, step) = solve(stride, -offset, base, first_within)?;
        let element = (first * stride + offset) / base;
        let next = stride * step / base;
        let last = i128::from(count) - 1;
        if first > last || element >= i128::from(dim) {
            return None;
        }
        let more = ((last - first) / step).min((i128::from(dim) - 1 - element) / next);
        Some(Hits::new(more, [first, step], [element, next]))
    }

    /// Returns the windows, of `count` along an axis, that contain the array element `number`; None if none does.
    fn of_array_element(window: &Window, number: i64, count: i64) -> Option<Hits> {
        let [stride, dilation, size] = [window.stride, window.dilation, window.size].map(i128::from);
        let place = i128::from(number) * i128::from(window.base_dilation) + i128::from(window.low);
        // The element is in window `at` if `place - at * stride` is one of `0, dilation, ..., (size - 1) * dilation`.
        let before = place - (size - 1) * dilation;
        let first_within = (before.max(0) + stride - 1) / stride;
        let (first, step) = solve(stride, place, dilation, first_within)?;
        let last = place.div_euclid(stride).min(i128::from(count) - 1);
        (first <= last).then(|| Hits::new((last - first) / step, [first, step], [i128::from(number), 0]))
    }

    /// Hits of one window and `more` windows. Distances are 0 if there is one, since they may overflow.
    fn new(more: i128, window: [i128; 2], element: [i128; 2]) -> Hits {
        let of = |[first, step]: [i128; 2]| [first as i64, if more == 0 { 0 } else { step as i64 }];
        Hits { count: more as i64 + 1, window: of(window), element: of(element) }
    }
}

/// Returns the least `x >= from` with `factor * x = value` modulo `modulus`, and the distance to the next such `x`. None
/// if there is none. `factor` and `modulus` are positive, and less than 2^63.
fn solve(factor: i128, value: i128, modulus: i128, from: i128) -> Option<(i128, i128)> {
    // Euclid's algorithm: `gcd = factor * inverse` modulo `modulus`.
    let (mut gcd, mut next) = (factor, modulus);
    let (mut inverse, mut next_inverse) = (1i128, 0i128);
    while next != 0 {
        let quotient = gcd / next;
        (gcd, next) = (next, gcd - quotient * next);
        (inverse, next_inverse) = (next_inverse, inverse - quotient * next_inverse);
    }
    let step = modulus / gcd;
    if value % gcd != 0 {
        return None;
    }
    let some = (value / gcd).rem_euclid(step) * inverse.rem_euclid(step) % step;
    Some((from + (some - from).rem_euclid(step), step))
}

/// Returns `sums` with one element of each window combined into them.
fn with_element(hits: &[Hits], sums: &[Array], arrays: &[Array], combine: &Each) -> Result<Vec<Array>> {
    let elements = arrays.iter().map(|x| spread(x, hits, |hit| hit.element)).collect::<Result<Vec<Array>>>()?;
    let is_all = hits.iter().zip(&sums[0].ty().dims).all(|(hit, &dim)| hit.count == dim);
    let some = if is_all {
        sums.iter().map(|x| x.reshape(&[x.ty().elements() as i64])).collect()
    } else {
        sums.iter().map(|x| spread(x, hits, |hit| hit.window)).collect::<Result<Vec<Array>>>()?
    };
    let made = combine(&[some, elements].concat())?;
    let place = |(sum, made): (&Array, Array)| {
        if is_all { Ok(made.reshape(&sum.ty().dims)) } else { placed(sum, hits, &made) }
    };
    sums.iter().zip(made).map(place).collect()
}

/// The elements of an array at the positions of the hits, flattened.
fn spread(x: &Array, hits: &[Hits], places: impl Fn(&Hits) -> [i64; 2]) -> Result<Array> {
    let counts: Vec<i64> = hits.iter().map(|hit| hit.count).collect();
    let [first, step] = [0, 1].map(|i| hits.iter().map(|hit| places(hit)[i]).collect::<Vec<i64>>());
    let cut = slice(&TensorType::new(x.ty().dtype, &counts), &first, &step, x)?;
    Ok(cut.reshape(&[count(&counts) as i64]))
}

/// Returns `sums` with the elements at the windows of the hits replaced by `made`.
fn placed(sums: &Array, hits: &[Hits], made: &Array) -> Result<Array> {
    let counts: Vec<i64> = hits.iter().map(|hit| hit.count).collect();
    let (from, to) = (strides(&counts), strides(&sums.ty().dims));
    let first = hits.iter().zip(&to).map(|(hit, step)| hit.window[0] as usize * step).sum();
    let steps = |axis: usize| [from[axis], to[axis] * hits[axis].window[1] as usize];
    let walk = Walk::new((0..hits.len()).map(|axis| (counts[axis] as usize, steps(axis))));
    by_width!(sums.ty().dtype, T => Array::write::<T>(sums.ty(), |out| {
        scatter(made.elements(), 0, out.copy_mut(sums.elements()), first, &walk);
    }))
}

/// Reduces one axis after another, the last one first. Windows of 1, 2, 4, ... elements are combined into windows of
/// the requested size.
fn axis_by_axis(
    dims: &[i64],
    windows: &[Window],
    arrays: &[Array],
    inits: &[Array],
    combine: &Each,
) -> Result<Vec<Array>> {
    let from = &arrays[0].ty().dims;
    let padded: Dims = windows.iter().zip(from).map(|(window, &dim)| window.padded(dim).expect("checked")).collect();
    let low: Vec<i64> = windows.iter().map(|window| window.low).collect();
    let interior: Vec<i64> = windows.iter().map(|window| window.base_dilation - 1).collect();
    let with_padding =
        |(x, init): (&Array, &Array)| pad(&TensorType::new(x.ty().dtype, &padded), &low, &interior, x, init);
    let mut sums: Vec<Array> = arrays.iter().zip(inits).map(with_padding).collect::<Result<_>>()?;
    for axis in (0..dims.len()).rev() {
        sums = along_axis(axis, &windows[axis], dims[axis], sums, combine)?;
    }
    let inits: Vec<Array> =
        inits.iter().map(|init| broadcast_to(init, &row_of(init, count(dims) as i64))).collect::<Result<_>>()?;
    let sums: Vec<Array> = sums.iter().map(|x| x.reshape(&[count(dims) as i64])).collect();
    Ok(combine(&[inits, sums].concat())?.into_iter().map(|x| x.reshape(dims)).collect())
}

/// Reduces the `count` windows along one axis of arrays that are already padded.
fn along_axis(axis: usize, window: &Window, count: i64, arrays: Vec<Array>, combine: &Each) -> Result<Vec<Array>> {
    // `powers` holds the reductions of `power` elements from each position on, `sums` the reductions of the first
    // `done` elements of each window.
    let (mut powers, mut power) = (arrays, 1);
    let (mut sums, mut done): (Option<Vec<Array>>, i64) = (None, 0);
    loop {
        if window.size & power != 0 {
            let next = cut(&powers, axis, done * window.dilation, count, window.stride)?;
            sums = Some(match sums {
                None => next,
                Some(sums) => together(&sums, &next, combine)?,
            });
            done += power;
        }
        if done == window.size {
            return Ok(sums.expect("a window has elements"));
        }
        let shift = power * window.dilation;
        let left = powers[0].ty().dims[axis] - shift;
        powers = together(&cut(&powers, axis, 0, left, 1)?, &cut(&powers, axis, shift, left, 1)?, combine)?;
        power *= 2;
    }
}

/// `count` elements along an axis from `start` on, `stride` apart.
fn cut(arrays: &[Array], axis: usize, start: i64, count: i64, stride: i64) -> Result<Vec<Array>> {
    let of = |x: &Array| {
        let mut ty = x.ty().clone();
        let rank = ty.dims.len();
        let (mut starts, mut strides) = (vec![0; rank], vec![1; rank]);
        ty.dims[axis] = count;
        starts[axis] = start;
        strides[axis] = stride;
        slice(&ty, &starts, &strides, x)
    };
    arrays.iter().map(of).collect()
}

fn together(a: &[Array], b: &[Array], combine: &Each) -> Result<Vec<Array>> {
    let flat: Vec<Array> = a.iter().chain(b).map(|x| x.reshape(&[x.ty().elements() as i64])).collect();
    Ok(combine(&flat)?.into_iter().map(|x| x.reshape(&a[0].ty().dims)).collect())
}

/// Selects the element of each window of `x` that `select` prefers to the others, and combines the corresponding
/// element of `source` into the result at its position. The result starts as `init` everywhere. Padding is never
/// selected.
pub fn select_and_scatter(
    windows: &[Window],
    x: &Array,
    source: &Array,
    init: &Array,
    select: &Each,
    combine: &Each,
) -> Result<Array> {
    let chosen = selected(windows, x, &source.ty().dims, select)?;
    let pairs: Vec<(usize, usize)> =
        chosen.iter().enumerate().filter_map(|(window, element)| Some(((*element)?, window))).collect();
    let start = full(x.ty(), Scalar::from_bytes(init.ty().dtype, init.bytes()))?;
    Ok(combine_at(&[start], std::slice::from_ref(source), &pairs, combine)?.remove(0))
}

/// For each window the offset of the selected element; None if the window has only padding.
fn selected(windows: &[Window], x: &Array, dims: &[i64], select: &Each) -> Result<Vec<Option<usize>>> {
    let mut chosen: Vec<Option<usize>> = filled(None, count(dims), "the windows of select_and_scatter")?;
    if chosen.is_empty() {
        return Ok(chosen);
    }
    let steps = [strides(dims), strides(&x.ty().dims)];
    for_each_element(dims, windows, &x.ty().dims, |hits| {
        let places = |hit: &Hits| [hit.window, hit.element];
        let along =
            |axis: usize, i: usize| std::array::from_fn(|n| steps[n][axis] * places(&hits[axis])[n][i] as usize);
        let first: [usize; 2] = (0..hits.len()).fold([0; 2], |[a, b], axis| {
            let [window, element]: [usize; 2] = along(axis, 0);
            [a + window, b + element]
        });
        let walk: Walk<2> = Walk::new((0..hits.len()).map(|axis| (hits[axis].count as usize, along(axis, 1))));
        // (window, selected element, candidate) for each window that already has a selected element.
        let mut contests = Vec::new();
        walk.each(|[window, element]| {
            let (window, element) = (first[0] + window, first[1] + element);
            match chosen[window] {
                None => chosen[window] = Some(element),
                Some(champion) => contests.push((window, champion, element)),
            }
        });
        if contests.is_empty() {
            return Ok(());
        }
        let champions = elements_at(x, contests.iter().map(|contest| contest.1))?;
        let others = elements_at(x, contests.iter().map(|contest| contest.2))?;
        let stays = select(&[champions, others])?.remove(0);
        for ((window, _, element), _) in contests.iter().zip(stays.bytes()).filter(|(_, stays)| **stays == 0) {
            chosen[*window] = Some(*element);
        }
        Ok(())
    })?;
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::super::elementwise::Source;
    use super::super::testing::{array, counted, row};
    use super::*;
    use base::types::DType;
    use ir::{BinaryOp, CompareOp};

    fn sum(x: &[Array]) -> Result<Vec<Array>> {
        let (a, b) = (Source::Array(&x[0]), Source::Array(&x[1]));
        Ok(vec![super::super::binary(BinaryOp::Add, x[0].ty(), a, b)?])
    }

    fn at_least(x: &[Array]) -> Result<Vec<Array>> {
        let ty = TensorType { dtype: DType::Pred, dims: x[0].ty().dims.clone() };
        Ok(vec![super::super::compare(CompareOp::Ge, &ty, &x[0], &x[1])?])
    }

    /// Reference: the sum of each window, computed directly from the definition.
    fn one_by_one(window: &Window, x: &[i32]) -> Vec<i32> {
        let of = |at: i64| {
            let elements = (0..window.size).filter_map(|i| {
                let place = at * window.stride + i * window.dilation - window.low;
                let is_element = place >= 0 && place % window.base_dilation == 0;
                if is_element { x.get((place / window.base_dilation) as usize) } else { None }
            });
            elements.sum()
        };
        (0..window.count(x.len() as i64).unwrap()).map(of).collect()
    }

    #[test]
    fn both_ways_give_what_the_definition_says() {
        let zero = [array(&[], &[0])];
        for number in 0..2000i64 {
            let digit = |i: u32, base: i64| number * 7919 / 3i64.pow(i) % base;
            let x: Vec<i32> = (1..=digit(0, 9) as i32).collect();
            let window = Window {
                size: 1 + digit(1, 5),
                stride: 1 + digit(2, 3),
                base_dilation: 1 + digit(3, 3),
                dilation: 1 + digit(4, 3),
                low: digit(5, 5) - 1,
                high: digit(6, 4) - 1,
            };
            let Some(count) = window.count(x.len() as i64).filter(|count| *count > 0) else { continue };
            let want = one_by_one(&window, &x);
            for way in [element_by_element, axis_by_axis] {
                let made = way(&[count], &[window], &[row(&x)], &zero, &sum).unwrap();
                assert_eq!(made[0].elements::<i32>(), want, "{window:?} over {x:?}");
            }
        }
    }

    /// Reference for few windows over few elements, however far apart: asks for each pair whether the window contains
    /// the element.
    fn pair_by_pair(window: &Window, x: &[i32]) -> Vec<i32> {
        let [stride, size, base, dilation, low] =
            [window.stride, window.size, window.base_dilation, window.dilation, window.low].map(i128::from);
        let contains = |at: i128, i: i128| {
            let place = i * base + low - at * stride;
            place >= 0 && place % dilation == 0 && place / dilation < size
        };
        let sum = |at: i64| (0..x.len()).filter(|&i| contains(at.into(), i as i128)).map(|i| x[i]).sum();
        (0..window.count(x.len() as i64).unwrap()).map(sum).collect()
    }

    #[test]
    fn sparse_windows_need_no_memory_for_padding() {
        let zero = [array(&[], &[0])];
        let far = 1i64 << 30;
        let cases = [
            (Window { size: far, stride: far, low: far - 1, ..Window::ONE }, 1),
            (Window { size: far, stride: far / 2, low: far, high: far, ..Window::ONE }, 3),
            (Window { base_dilation: far, stride: far / 2, ..Window::ONE }, 7),
            (Window { base_dilation: 3 << 52, stride: (1 << 52) + 1, size: 2, dilation: 3, ..Window::ONE }, 9),
            (Window { base_dilation: 3 << 40, stride: 1 << 40, size: 5, dilation: 1 << 39, ..Window::ONE }, 9),
            (Window { base_dilation: 1 << 50, stride: 1 << 50, size: 1000, dilation: 1 << 40, ..Window::ONE }, 9),
            (Window { base_dilation: far, stride: 5 * far, size: 3 * far, low: 7, high: 9, ..Window::ONE }, 9),
        ];
        for (window, elements) in cases {
            let x: Vec<i32> = (1..=elements).map(|i| 1 << i).collect();
            let want = pair_by_pair(&window, &x);
            let made = reduce_window(&[want.len() as i64], &[window], &[row(&x)], &zero, &sum).unwrap();
            assert_eq!(made[0].elements::<i32>(), want, "{window:?}");
            assert!(want.iter().any(|&sum| sum > 0), "{window:?} reads elements");
        }
    }

    #[test]
    fn windows_of_several_axes() {
        let windows = [Window { size: 2, ..Window::ONE }, Window { size: 2, stride: 2, high: 1, ..Window::ONE }];
        let zero = [array(&[], &[0])];
        for way in [element_by_element, axis_by_axis] {
            let made = way(&[2, 2], &windows, &[counted(&[3, 3])], &zero, &sum).unwrap();
            assert_eq!(made[0].elements::<i32>(), [8, 7, 20, 13]);
        }
        let empty = reduce_window(&[0], &[windows[0]], &[row(&[1])], &zero, &sum).unwrap();
        assert_eq!(empty[0].ty().dims.to_vec(), [0]);
        let all = Window { size: 1000, low: 999, ..Window::ONE };
        let made = reduce_window(&[1000], &[all], &[counted(&[1000])], &zero, &sum).unwrap();
        assert!(made[0].elements::<i32>().iter().enumerate().all(|(i, &x)| x as usize == i * (i + 1) / 2));
    }

    #[test]
    fn one_element_of_each_window_is_chosen_and_never_padding() {
        let window = |size, stride, low, high| [Window { size, stride, low, high, ..Window::ONE }];
        let x = row(&[-1, -2, -3, -3, 5, 5]);
        let run = |windows: &[Window], x: &Array, source: &Array, init: i32| {
            select_and_scatter(windows, x, source, &array(&[], &[init]), &at_least, &sum)
                .unwrap()
                .elements::<i32>()
                .to_vec()
        };
        assert_eq!(run(&window(2, 2, 0, 0), &x, &row(&[1, 2, 3]), 100), [101, 100, 102, 100, 103, 100]);
        assert_eq!(run(&window(2, 2, 1, 1), &x, &row(&[1, 2, 3, 4]), 0), [1, 2, 0, 0, 3, 4]);
        assert_eq!(run(&window(2, 1, 0, 0), &x, &row(&[1, 2, 3, 4, 5]), 0), [1, 2, 3, 0, 9, 0]);
        assert_eq!(run(&window(2, 1, 2, 2), &row(&[-1, -2]), &row(&[1, 2, 3, 4, 5]), 0), [5, 4]);
        assert_eq!(run(&window(2, 2, 0, 0), &row(&[9]), &row::<i32>(&[]), 7), [7]);
    }
}
