//! Convolutions as matrix products (im2col): the kernel times a matrix of the input's windows. Those of few output
//! features add products without such a matrix.

use super::array::Array;
use super::convert::convert;
use super::element::by_integer_width;
use super::matmul::{Factor, Shape, by_factor};
use super::parallel::try_collect;
use super::walk::strides;
use base::allocation::{collected, filled, with_room};
use base::error::Result;
use base::types::{DType, TensorType, count};
use std::ops::Range;

/// Maximum number of window elements that are gathered at a time, unless one window has more.
const WINDOWS: usize = 1 << 18;
/// Number of output features of a group up to which products are added one by one: a matrix of windows would be read
/// only as often.
const FEW_FEATURES: usize = 4;
/// Number of windows whose products are added at a time: the sums stay in the first cache.
const DIRECT_WINDOWS: usize = 1 << 13;

/// Purpose of the allocations, for error messages.
const PURPOSE: &str = "the windows of a convolution";

/// Geometry of the windows along one spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAxis {
    /// Distance between the starts of adjacent windows.
    pub stride: i64,
    /// Number of zeros added before the first element; if negative, the number of elements removed.
    pub low: i64,
    /// Distance between elements of the input; the gaps are zeros (`lhs_dilation` in StableHLO).
    pub input_dilation: i64,
    /// Distance between elements of the kernel (`rhs_dilation` in StableHLO).
    pub kernel_dilation: i64,
    /// True if the kernel is reversed along this axis (`window_reversal` in StableHLO).
    pub reversed: bool,
}

/// Convolves `x` (batch, feature, spatial axes) with `kernel` (output feature, input feature, spatial axes). With
/// several `feature_groups`, each group uses its own part of the input features; with several `batch_groups`, its own
/// part of the batch. The output features are divided among the groups. f16 and bf16 are computed in f32.
pub fn convolution(
    ty: &TensorType,
    x: &Array,
    kernel: &Array,
    axes: &[WindowAxis],
    [feature_groups, batch_groups]: [i64; 2],
) -> Result<Array> {
    let dtype = if matches!(ty.dtype, DType::F16 | DType::BF16) { DType::F32 } else { ty.dtype };
    let (x, kernel) = (convert(x, dtype)?, convert(kernel, dtype)?);
    let groups = Groups { feature: feature_groups as usize, batch: batch_groups as usize };
    let wide = TensorType { dtype, dims: ty.dims.clone() };
    let result = by_factor!(dtype, T => whole::<T>(&wide, &x, &kernel, axes, groups))?;
    convert(&result, ty.dtype)
}

#[derive(Clone, Copy)]
struct Groups {
    feature: usize,
    batch: usize,
}

/// Computes the convolution for a block of windows at a time, in parallel.
fn whole<T: Factor>(ty: &TensorType, x: &Array, kernel: &Array, axes: &[WindowAxis], groups: Groups) -> Result<Array> {
    let (images, features) = (ty.dims[0] as usize, ty.dims[1] as usize);
    let group_count = groups.feature * groups.batch;
    let (rows, depth) = (features / group_count, count(&kernel.ty().dims[1..]));
    let windows = Windows::new(&x.ty().dims, &kernel.ty().dims, &ty.dims, axes)?;
    let (image_size, kernel_features) = (count(&x.ty().dims[1..]), kernel.ty().dims[1] as usize);
    let (x, kernel) = (x.elements::<T>(), kernel.elements::<T>());
    // One of the two counts of groups is 1.
    let input = |image: usize, group: usize| {
        let image = &x[(image + group % groups.batch * images) * image_size..][..image_size];
        &image[group % groups.feature * (image_size / groups.feature)..][..image_size / groups.feature]
    };
    Array::try_write_pieces::<T>(ty, usize::MAX, &|_, out| {
        let all = out.repeat_mut(T::zeroed(), ty.elements());
        if all.is_empty() {
            return Ok(());
        }
        let is_direct = rows <= FEW_FEATURES && windows.are_dense() && are_finite(kernel);
        let blocks = windows.blocks(if is_direct { DIRECT_WINDOWS } else { WINDOWS / depth.max(1) });
        let part = |number: usize| {
            let (at, block) = (number / blocks.len(), &blocks[number % blocks.len()]);
            let (image, group) = (at / group_count, at % group_count);
            let (x, kernel) = (input(image, group), &kernel[group * rows * depth..][..rows * depth]);
            let mut product = filled(T::zeroed(), rows * block.columns(), PURPOSE)?;
            if is_direct {
                windows.add_products(x, kernel, kernel_features, block, &mut product);
            } else {
                let laid_out = windows.laid_out(x, kernel_features, block)?;
                T::product(Shape { rows, depth, columns: block.columns() }, kernel, &laid_out, &mut product);
            }
            Ok(product)
        };
        let parts = try_collect(images * group_count * blocks.len(), &part)?;
        for (number, part) in parts.iter().enumerate() {
            let (at, block) = (number / blocks.len(), &blocks[number % blocks.len()]);
            let of_image = all[at * rows * windows.count..].chunks_exact_mut(windows.count);
            let (start, columns) = (block.start(windows.width()), block.columns());
            let lines = of_image.zip(part.chunks_exact(columns));
            lines.for_each(|(all, part)| all[start..][..columns].copy_from_slice(part));
        }
        Ok(())
    })
}

/// The windows of one feature of an image.
struct Windows {
    /// Number of windows.
    count: usize,
    /// All axes but the last one.
    outer: Vec<Axis>,
    last: LastAxis,
}

/// The windows along one spatial axis.
struct Axis {
    taps: usize,
    windows: usize,
    /// For each kernel element and window (row-major), the offset of the input element that it reads; None where it
    /// reads a zero.
    places: Vec<Option<usize>>,
}

/// The windows along the last axis: for each kernel element, the windows in which it reads an element.
struct LastAxis {
    windows: usize,
    runs: Vec<Run>,
}

/// Windows at equal distances that read elements at equal distances.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    window: usize,
    window_step: usize,
    element: usize,
    element_step: usize,
    count: usize,
}

/// Windows that are computed at a time: of some lines along the last axis, the same part.
struct Block {
    lines: Range<usize>,
    part: Range<usize>,
}

impl Block {
    fn columns(&self) -> usize {
        self.lines.len() * self.part.len()
    }

    /// Number of the first window. The parts of several lines are whole lines.
    fn start(&self, width: usize) -> usize {
        self.lines.start * width + self.part.start
    }
}

impl Windows {
    fn new(x: &[i64], kernel: &[i64], out: &[i64], axes: &[WindowAxis]) -> Result<Windows> {
        let steps = strides(&x[2..]);
        let axis = |i: usize| Axis::new(&axes[i], x[2 + i], kernel[2 + i], out[2 + i], steps[i]);
        let (outer, last) = match axes.len().checked_sub(1) {
            None => (Vec::new(), LastAxis::of_point()),
            Some(last) => {
                let outer = (0..last).map(axis).collect::<Result<_>>()?;
                (outer, LastAxis::new(&axes[last], x[2 + last], kernel[2 + last], out[2 + last])?)
            }
        };
        Ok(Windows { count: count(&out[2..]), outer, last })
    }

    /// Number of windows along the last axis.
    fn width(&self) -> usize {
        self.last.windows
    }

    /// Divides the windows into blocks of about this many.
    fn blocks(&self, most: usize) -> Vec<Block> {
        let (width, most) = (self.width(), most.max(1));
        let lines = self.count / width.max(1);
        if width <= most {
            let at_once = most / width.max(1);
            let block = |start: usize| Block { lines: start..lines.min(start + at_once), part: 0..width };
            return (0..lines).step_by(at_once).map(block).collect();
        }
        let of_line = |line: usize| {
            let block = move |start: usize| Block { lines: line..line + 1, part: start..width.min(start + most) };
            (0..width).step_by(most).map(block)
        };
        (0..lines).flat_map(of_line).collect()
    }

    /// Calls `visit` with the number of a kernel element, the column of a block at which a run begins, its elements, and
    /// the run: for all runs of a block, of one feature.
    fn each_run<'x, T>(&self, x: &'x [T], block: &Block, mut visit: impl FnMut(usize, usize, &'x [T], Run)) {
        let outer_taps: usize = self.outer.iter().map(|axis| axis.taps).product();
        let parts: Vec<Option<Run>> = self.last.runs.iter().map(|run| run.clipped(&block.part)).collect();
        for outer_tap in 0..outer_taps {
            for (line, number) in block.lines.clone().enumerate() {
                let Some(place) = self.outer_place(outer_tap, number) else { continue };
                for (tap, run) in parts.iter().enumerate() {
                    let Some(run) = *run else { continue };
                    let elements = &x[place + run.element..][..(run.count - 1) * run.element_step + 1];
                    let column = line * block.part.len() + run.window - block.part.start;
                    visit(outer_tap * parts.len() + tap, column, elements, run);
                }
            }
        }
    }

    /// Offset of the line of the input that a kernel element reads in a line of windows; None if it reads zeros.
    fn outer_place(&self, mut tap: usize, mut line: usize) -> Option<usize> {
        let mut place = 0;
        for axis in self.outer.iter().rev() {
            place += axis.places[tap % axis.taps * axis.windows + line % axis.windows]?;
            (tap, line) = (tap / axis.taps, line / axis.windows);
        }
        Some(place)
    }

    /// Number of elements of the kernel for one feature.
    fn taps(&self) -> usize {
        self.outer.iter().map(|axis| axis.taps).product::<usize>() * self.last.runs.len()
    }

    /// Gathers windows into a matrix: one row for each feature and kernel element, one column for each window.
    fn laid_out<T: Factor>(&self, x: &[T], features: usize, block: &Block) -> Result<Vec<T>> {
        let (taps, columns) = (self.taps(), block.columns());
        let mut windows = filled(T::zeroed(), features * taps * columns, PURPOSE)?;
        for (x, rows) in features_of(x, features).zip(windows.chunks_exact_mut((taps * columns).max(1))) {
            self.each_run(x, block, |tap, column, elements, run| {
                let row = &mut rows[tap * columns + column..];
                if run.is_dense() {
                    row[..run.count].copy_from_slice(elements);
                } else {
                    let elements = elements.iter().step_by(run.element_step);
                    row.iter_mut().step_by(run.window_step).zip(elements).for_each(|(row, &x)| *row = x);
                }
            });
        }
        Ok(windows)
    }

    /// Whether adjacent windows along the last axis read adjacent elements.
    fn are_dense(&self) -> bool {
        self.last.runs.iter().all(Run::is_dense)
    }

    /// Adds the products of dense windows with each row of the kernel, of one row for each output feature, without
    /// gathering them.
    fn add_products<T: Factor>(&self, x: &[T], kernel: &[T], features: usize, block: &Block, out: &mut [T]) {
        let (taps, columns) = (self.taps(), block.columns());
        for (feature, x) in features_of(x, features).enumerate() {
            let depth = features * taps;
            self.each_run(x, block, |tap, column, elements, run| {
                for (out, kernel) in out.chunks_exact_mut(columns).zip(kernel.chunks_exact(depth)) {
                    let (out, factor) = (&mut out[column..], kernel[feature * taps + tap]);
                    T::add_multiple(factor, elements, &mut out[..run.count]);
                }
            });
        }
    }
}

/// Whether products with 0 are 0: the zeros of the padding need not be multiplied.
fn are_finite<T: Factor>(kernel: &[T]) -> bool {
    let mut sum = [T::zeroed()];
    kernel.iter().for_each(|&factor| T::add_multiple(factor, &[T::zeroed()], &mut sum));
    sum[0] == T::zeroed()
}

/// The features of an image, one after the other; none if they have no elements.
fn features_of<T>(x: &[T], features: usize) -> impl Iterator<Item = &[T]> {
    x.chunks_exact((x.len() / features.max(1)).max(1)).take(features)
}

impl Axis {
    fn new(window: &WindowAxis, size: i64, taps: i64, windows: i64, step: usize) -> Result<Axis> {
        let place = |tap: i64, number: i64| {
            let at = number * window.stride + window.offset(tap, taps);
            let element = at / window.input_dilation;
            let is_element = at >= 0 && at % window.input_dilation == 0 && element < size;
            is_element.then(|| element as usize * step)
        };
        let mut places = with_room((taps as usize).saturating_mul(windows as usize), PURPOSE)?;
        places.extend((0..taps).flat_map(|tap| (0..windows).map(move |number| place(tap, number))));
        Ok(Axis { taps: taps as usize, windows: windows as usize, places })
    }
}

impl WindowAxis {
    /// Where a kernel element of the first window is, in the dilated input.
    fn offset(&self, tap: i64, taps: i64) -> i64 {
        (if self.reversed { taps - 1 - tap } else { tap }) * self.kernel_dilation - self.low
    }
}

impl LastAxis {
    fn new(window: &WindowAxis, size: i64, taps: i64, windows: i64) -> Result<LastAxis> {
        let run = |tap: i64| Run::new(window.stride, window.input_dilation, window.offset(tap, taps), size, windows);
        Ok(LastAxis {
            windows: windows as usize,
            runs: collected((0..taps as usize).map(|tap| run(tap as i64)), PURPOSE)?,
        })
    }

    /// The axis of one window of one element, for convolutions without spatial axes.
    fn of_point() -> LastAxis {
        LastAxis { windows: 1, runs: vec![Run { window: 0, window_step: 1, element: 0, element_step: 1, count: 1 }] }
    }
}

impl Run {
    /// The windows `i` for which `i * stride + offset` is a multiple of the dilation, whose quotient is below `size`.
    fn new(stride: i64, dilation: i64, offset: i64, size: i64, windows: i64) -> Run {
        let shared = gcd(stride, dilation);
        let (window_step, element_step) = (dilation / shared, stride / shared);
        let none = Run { window: 0, window_step: 1, element: 0, element_step: 1, count: 0 };
        // The first window whose place is not before the input.
        let first = (-offset).max(0).div_euclid(stride) + i64::from((-offset).max(0) % stride != 0);
        if offset % shared != 0 {
            return none;
        }
        // i * element_step = -offset / shared, modulo window_step.
        let inverse = i128::from(inverse(element_step % window_step, window_step));
        let window = i128::from(-offset / shared) * inverse - i128::from(first);
        let window = first.saturating_add(window.rem_euclid(i128::from(window_step)) as i64);
        if window >= windows {
            return none;
        }
        let element = (window * stride + offset) / dilation;
        if element >= size {
            return none;
        }
        let count = ((windows - 1 - window) / window_step).min((size - 1 - element) / element_step) + 1;
        let [window, window_step, element, element_step, count] =
            [window, window_step, element, element_step, count].map(|number| number as usize);
        Run { window, window_step, element, element_step, count }
    }

    /// The windows in a range; None if there are none.
    fn clipped(&self, part: &Range<usize>) -> Option<Run> {
        let skipped = part.start.saturating_sub(self.window).div_ceil(self.window_step);
        let end = part.end.saturating_sub(self.window).div_ceil(self.window_step).min(self.count);
        (skipped < end).then(|| Run {
            window: self.window + skipped * self.window_step,
            element: self.element + skipped * self.element_step,
            count: end - skipped,
            ..*self
        })
    }

    fn is_dense(&self) -> bool {
        self.window_step == 1 && self.element_step == 1
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The number by which a product with `a` is 1, modulo a number that shares no factor with `a`: by Euclid's algorithm.
fn inverse(a: i64, modulus: i64) -> i64 {
    let (mut rest, mut next) = ((modulus, 0), (a, 1));
    while next.0 != 0 {
        let quotient = rest.0 / next.0;
        (rest, next) = (next, (rest.0 - quotient * next.0, rest.1 - quotient * next.1));
    }
    rest.1.rem_euclid(modulus)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, counted};
    use super::*;

    const PLAIN: WindowAxis = WindowAxis { stride: 1, low: 0, input_dilation: 1, kernel_dilation: 1, reversed: false };

    fn line(axis: WindowAxis, kernel: &[i32], windows: i64) -> Vec<i32> {
        let x = array(&[1, 1, 4], &[1, 2, 3, 4]);
        let kernel = array(&[1, 1, kernel.len() as i64], kernel);
        let ty = TensorType::new(DType::S32, &[1, 1, windows]);
        convolution(&ty, &x, &kernel, &[axis], [1, 1]).unwrap().elements().to_vec()
    }

    #[test]
    fn runs_in_large_steps() {
        // 3 i - 1 is 1 and 4 times 2^40 + 1.
        let run = Run::new(3, (1 << 40) + 1, -1, 5, 1 << 60);
        assert_eq!((run.window * 3 - 1, run.element), ((1 << 40) + 1, 1));
        assert_eq!((run.count, run.element_step), (2, 3));
    }

    #[test]
    fn windows_of_a_line() {
        assert_eq!(line(PLAIN, &[1, 10], 3), [21, 32, 43]);
        assert_eq!(line(WindowAxis { reversed: true, ..PLAIN }, &[1, 10], 3), [12, 23, 34]);
        assert_eq!(line(WindowAxis { low: 1, ..PLAIN }, &[1, 10], 5), [10, 21, 32, 43, 4]);
        assert_eq!(line(WindowAxis { low: -1, ..PLAIN }, &[1, 10], 2), [32, 43]);
        assert_eq!(line(WindowAxis { stride: 2, ..PLAIN }, &[1, 10], 2), [21, 43]);
        assert_eq!(line(WindowAxis { kernel_dilation: 3, ..PLAIN }, &[1, 10], 1), [41]);
        assert_eq!(line(WindowAxis { input_dilation: 2, ..PLAIN }, &[1, 10], 6), [1, 20, 2, 30, 3, 40]);
        assert!(line(PLAIN, &[1; 5], 0).is_empty());
    }

    #[test]
    fn groups_have_features_or_images_of_their_own() {
        let kernel = array(&[2, 1], &[10, 100]);
        let features = convolution(&TensorType::new(DType::S32, &[2, 2]), &counted(&[2, 2]), &kernel, &[], [2, 1]);
        assert_eq!(features.unwrap().elements::<i32>(), [0, 100, 20, 300]);
        let images = convolution(&TensorType::new(DType::S32, &[2, 2]), &counted(&[4, 1]), &kernel, &[], [1, 2]);
        assert_eq!(images.unwrap().elements::<i32>(), [0, 200, 10, 300]);
    }

    #[test]
    fn runs_are_the_elements_that_windows_read() {
        for size in 0..6 {
            for (stride, input_dilation, low) in
                (1..8).flat_map(|a| (1..8).flat_map(move |b| (-2..4).map(move |c| (a, b, c))))
            {
                let axis = WindowAxis { stride, low, input_dilation, kernel_dilation: 2, reversed: low % 2 == 0 };
                let (taps, windows) = (3, 7);
                let places = Axis::new(&axis, size, taps, windows, 1).unwrap().places;
                let runs = LastAxis::new(&axis, size, taps, windows).unwrap().runs;
                for part in [0..7, 2..5, 3..3, 6..7] {
                    let mut found = vec![None; places.len()];
                    for (tap, run) in runs.iter().enumerate() {
                        let run = run.clipped(&part);
                        let each = run.iter().flat_map(|run| (0..run.count).map(move |i| (run, i)));
                        for (run, i) in each {
                            let window = run.window + i * run.window_step;
                            found[tap * windows as usize + window] = Some(run.element + i * run.element_step);
                        }
                    }
                    let in_part = |(at, place): (usize, Option<usize>)| place.filter(|_| part.contains(&(at % 7)));
                    let wanted: Vec<Option<usize>> = places.iter().copied().enumerate().map(in_part).collect();
                    assert_eq!(found, wanted, "{axis:?} of {size}, {part:?}");
                }
            }
        }
    }

    #[test]
    fn products_with_padding_are_zeros_of_finite_kernels_only() {
        let padded = WindowAxis { low: 1, ..PLAIN };
        let x = array(&[1, 1, 2], &[1f32, 2.0]);
        let ty = TensorType::new(DType::F32, &[1, 1, 3]);
        let run = |kernel: [f32; 2]| {
            let kernel = array(&[1, 1, 2], &kernel);
            convolution(&ty, &x, &kernel, &[padded], [1, 1]).unwrap().elements::<f32>().to_vec()
        };
        assert_eq!(run([10.0, 1.0]), [1.0, 12.0, 20.0]);
        assert!(run([f32::INFINITY, 1.0])[0].is_nan() && run([1.0, f32::NAN])[2].is_nan());
    }

    #[test]
    fn many_windows_come_in_parts() {
        let n = WINDOWS as i64 / 2 + 3;
        let x = counted(&[1, 1, n]);
        let kernel = array(&[2, 1, 3], &[1, -2, 1, 0, 1, 0]);
        let ty = TensorType::new(DType::S32, &[1, 2, n - 2]);
        let result = convolution(&ty, &x, &kernel, &[PLAIN], [1, 1]).unwrap();
        let (differences, middles) = result.elements::<i32>().split_at(n as usize - 2);
        assert!(differences.iter().all(|&x| x == 0));
        assert!(middles.iter().enumerate().all(|(i, &x)| x == i as i32 + 1));
    }

    #[test]
    fn nothing_to_convolve() {
        let run = |x: &[i64], kernel: &[i64], out: &[i64]| {
            let (x, kernel) = (array::<f32>(x, &[]), array::<f32>(kernel, &[]));
            let result = convolution(&TensorType::new(DType::F32, out), &x, &kernel, &[PLAIN], [1, 1]);
            result.unwrap().elements::<f32>().to_vec()
        };
        assert_eq!(run(&[1, 0, 2], &[2, 0, 1], &[1, 2, 2]), [0.0; 4]);
        assert!(run(&[0, 0, 2], &[2, 0, 1], &[0, 2, 2]).is_empty());
        assert!(run(&[1, 0, 2], &[0, 0, 1], &[1, 0, 2]).is_empty());
        let padding = WindowAxis { low: 1, ..PLAIN };
        let (x, kernel) = (array::<f32>(&[1, 1, 0], &[]), array(&[1, 1, 1], &[5f32]));
        let zeros = convolution(&TensorType::new(DType::F32, &[1, 1, 2]), &x, &kernel, &[padding], [1, 1]).unwrap();
        assert_eq!(zeros.elements::<f32>(), [0.0; 2]);
    }
}
