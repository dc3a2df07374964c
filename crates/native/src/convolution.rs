//! Convolutions as matrix products (im2col): the kernel times a matrix of the input's windows.

use super::array::Array;
use super::convert::convert;
use super::element::by_integer_width;
use super::matmul::{Factor, Shape, by_factor};
use super::parallel::try_collect;
use super::walk::strides;
use base::allocation::{collected, filled, with_room};
use base::error::Result;
use base::types::{DType, TensorType, count};

/// Maximum number of window elements that are gathered at a time, unless one window has more.
const WINDOWS: usize = 1 << 20;

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

/// Computes the convolution for a block of windows at a time, with the images and groups in parallel.
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
        let at_once = (WINDOWS / depth.max(1)).clamp(1, windows.count);
        for start in (0..windows.count).step_by(at_once) {
            let columns = at_once.min(windows.count - start);
            let places = windows.places(start, columns)?;
            let part = |number: usize| {
                let (image, group) = (number / group_count, number % group_count);
                let windows = laid_out(input(image, group), kernel_features, &places)?;
                let mut product = filled(T::zeroed(), rows * columns, PURPOSE)?;
                let kernel = &kernel[group * rows * depth..][..rows * depth];
                T::product(Shape { rows, depth, columns }, kernel, &windows, &mut product);
                Ok(product)
            };
            let parts = try_collect(images * group_count, &part)?;
            let lines =
                all.chunks_exact_mut(windows.count).zip(parts.iter().flat_map(|part| part.chunks_exact(columns)));
            lines.for_each(|(all, part)| all[start..][..columns].copy_from_slice(part));
        }
        Ok(())
    })
}

/// Gathers windows into a matrix: one row for each feature and kernel element, one column for each window.
fn laid_out<T: Factor>(x: &[T], features: usize, places: &[Vec<Option<usize>>]) -> Result<Vec<T>> {
    let (size, columns) = (x.len() / features.max(1), places[0].len());
    let mut windows = with_room(features * places.len() * columns, PURPOSE)?;
    for feature in 0..features {
        let x = &x[feature * size..][..size];
        for places in places {
            windows.extend(places.iter().map(|place| place.map_or(T::zeroed(), |place| x[place])));
        }
    }
    Ok(windows)
}

/// The windows of one feature of an image.
struct Windows {
    /// Number of elements of the kernel for one feature; at least one.
    taps: usize,
    /// Number of windows.
    count: usize,
    axes: Vec<Axis>,
}

/// The windows along one spatial axis.
struct Axis {
    taps: usize,
    windows: usize,
    /// For each kernel element and window (row-major), the offset of the input element that it reads; None where it
    /// reads a zero.
    places: Vec<Option<usize>>,
}

impl Windows {
    fn new(x: &[i64], kernel: &[i64], out: &[i64], axes: &[WindowAxis]) -> Result<Windows> {
        let steps = strides(&x[2..]);
        let axis = |i: usize| Axis::new(&axes[i], x[2 + i], kernel[2 + i], out[2 + i], steps[i]);
        let axes = (0..axes.len()).map(axis).collect::<Result<_>>()?;
        Ok(Windows { taps: count(&kernel[2..]), count: count(&out[2..]), axes })
    }

    /// For each kernel element, the offsets of the input elements that it reads in `columns` windows from `start` on;
    /// None where it reads a zero.
    fn places(&self, start: usize, columns: usize) -> Result<Vec<Vec<Option<usize>>>> {
        let place = |tap: usize, window: usize| {
            let (mut tap, mut window, mut place) = (tap, window, 0);
            for axis in self.axes.iter().rev() {
                place += axis.places[tap % axis.taps * axis.windows + window % axis.windows]?;
                (tap, window) = (tap / axis.taps, window / axis.windows);
            }
            Some(place)
        };
        let mut places = with_room(self.taps, PURPOSE)?;
        for tap in 0..self.taps {
            places.push(collected((start..start + columns).map(|window| place(tap, window)), PURPOSE)?);
        }
        Ok(places)
    }
}

impl Axis {
    fn new(window: &WindowAxis, size: i64, taps: i64, windows: i64, step: usize) -> Result<Axis> {
        let place = |tap: i64, number: i64| {
            let tap = if window.reversed { taps - 1 - tap } else { tap };
            let at = number * window.stride + tap * window.kernel_dilation - window.low;
            let element = at / window.input_dilation;
            let is_element = at >= 0 && at % window.input_dilation == 0 && element < size;
            is_element.then(|| element as usize * step)
        };
        let mut places = with_room((taps as usize).saturating_mul(windows as usize), PURPOSE)?;
        places.extend((0..taps).flat_map(|tap| (0..windows).map(move |number| place(tap, number))));
        Ok(Axis { taps: taps as usize, windows: windows as usize, places })
    }
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
