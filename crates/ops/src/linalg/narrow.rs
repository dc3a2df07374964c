//! Products `transpose(x) * g` where `g` has fewer columns than `x`: gradients of the weights of a layer with fewer
//! outputs than inputs. In f32, XLA's CPU backend transposes `x` for them, together with the operations that compute
//! `x`, element by element. `transpose(g) * x`, the transpose of the same product, transposes less, and takes down to
//! an eighth of the time (`docs/xla-workarounds.md`, "Narrow products"). In f64, both take about as long.

use crate::emit::{Emitter, Extent, emit, mlir};
use crate::linalg::precision::written;
use crate::shape::axes::TransposeAttributes;
use base::types::{DType, TensorType};
use ir::{Op, Precision};

/// Maximum number of columns of a `g` that is narrow whatever the number of rows.
const MOST_COLUMNS: i64 = 32;

/// Minimum number of columns of `x` for each column of such a `g`.
const LEAST_RATIO: i64 = 16;

/// If the value at `position` transposes a matrix, returns the position of the matrix.
pub fn transposed_matrix(e: &Emitter, position: usize) -> Option<usize> {
    let value = e.instruction(position);
    let is_transpose = value.op == Op::Transpose && value.ty.dims.len() == 2;
    (is_transpose && value.attributes::<TransposeAttributes>().permutation[..] == [1, 0]).then(|| value.operands[0])
}

/// Whether `transpose(x) * g` in `dtype` is written as the transpose of `transpose(g) * x`, because that is faster. `x`
/// and `g` are the dimensions of the operands, whose leading axes are contracted. False unless one axis of each is
/// left.
pub fn is_narrow(e: &Emitter, dtype: DType, x: &[i64], g: &[i64]) -> bool {
    let (Some((&inputs, rows)), Some((&outputs, _))) = (x.split_last(), g.split_last()) else { return false };
    if rows.is_empty() || x.len() != g.len() {
        return false;
    }
    // On a mesh, XLA would have to pass shardings through the barrier.
    let is_partitioned = matches!(e.extent, Extent::Whole(_));
    e.platform == "cpu"
        && !is_partitioned
        && dtype == DType::F32
        && outputs >= 2
        && (outputs <= MOST_COLUMNS && inputs / outputs >= LEAST_RATIO
            || transposes_less(rows.iter().map(|&rows| rows as f64).product(), inputs as f64, outputs as f64))
}

/// Whether transposing `g` and the product moves clearly fewer elements than transposing `x`. From where they are
/// equal, up to the factor 0.6, times differ little, or the other form is faster.
fn transposes_less(rows: f64, inputs: f64, outputs: f64) -> bool {
    inputs >= 256.0 && outputs > MOST_COLUMNS as f64 && rows * outputs + inputs * outputs <= 0.6 * rows * inputs
}

/// Writes `name = transpose(x) * g` as the transpose of `transpose(g) * x`. All axes of the operands but the last are
/// contracted; they are converted to the dtype of `ty`, the type of the result. The barrier keeps XLA from folding the
/// transpose into the product.
pub fn product(e: &mut Emitter, name: &str, [x, g]: [usize; 2], ty: &TensorType, stated: Option<Precision>) {
    let precision = written(e, stated.map(Precision::exchanged), ty.dtype, ty.dtype);
    let [x_ty, g_ty] = [x, g].map(|i| TensorType { dtype: ty.dtype, dims: e.instruction(i).ty.dims.clone() });
    let (x, g) = (e.cast(x, &x_ty), e.cast(g, &g_ty));
    let turned = TensorType::new(ty.dtype, &[ty.dims[1], ty.dims[0]]);
    let (product, kept) = (e.temporary(), e.temporary());
    let rows: Vec<usize> = (0..x_ty.dims.len() - 1).collect();
    emit!(
        e,
        "    {product} = stablehlo.dot_general {g}, {x}, contracting_dims = {rows:?} x {rows:?}, {precision} : ({}, {}) -> {}",
        mlir(&g_ty),
        mlir(&x_ty),
        mlir(&turned)
    );
    emit!(e, "    {kept} = stablehlo.optimization_barrier {product} : {}", mlir(&turned));
    emit!(e, "    {name} = stablehlo.transpose {kept}, dims = [1, 0] : ({}) -> {}", mlir(&turned), mlir(ty));
}

#[cfg(test)]
mod tests {
    use crate::LOWERING;
    use crate::emit::{Emitter, Extent};
    use crate::linalg::dot_general::{DotAxes, dot_general};
    use crate::linalg::matmul::matmul;
    use crate::shape::axes::transpose;
    use base::types::{DType, TensorType};
    use ir::{NodeId, Trace, take_closed_body};
    use mesh::MeshAxes;

    /// Whether the product of matrices with three rows and these numbers of columns is written with a barrier. Asserts
    /// the same of both operations that record it.
    fn is_turned_in(extent: Extent, platform: &str, dtype: DType, inputs: i64, outputs: i64) -> bool {
        let mut trace = Trace::new();
        let [x, g] = [inputs, outputs].map(|columns| trace.parameter(TensorType::new(dtype, &[3, columns])));
        let turned = transpose(&mut trace, x, &[1, 0]).unwrap();
        let product = matmul(&mut trace, turned, g).unwrap();
        let axes = DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: &[0], rhs_contracting: &[0] };
        let dot = dot_general(&mut trace, x, g, &axes, None).unwrap();
        let [product, dot] = [product, dot].map(|result| has_barrier(&trace, &[x, g], result, extent, platform));
        assert_eq!(product, dot, "{platform}: {dtype}[3,{inputs}] and {dtype}[3,{outputs}]");
        product
    }

    fn has_barrier(trace: &Trace, arguments: &[NodeId], result: NodeId, extent: Extent, platform: &str) -> bool {
        let body = take_closed_body(trace, arguments, &[], &[result]).unwrap();
        let (values, _) = body.decode();
        let mut e = Emitter::new(&values, &[], &[], platform, LOWERING);
        e.extent = extent;
        e.lower_all();
        e.text.as_str().contains("optimization_barrier")
    }

    fn is_turned(platform: &str, dtype: DType, inputs: i64, outputs: i64) -> bool {
        is_turned_in(Extent::Device, platform, dtype, inputs, outputs)
    }

    #[test]
    fn products_that_xla_partitions_are_not_turned() {
        let axes = MeshAxes::new(&["data"], &[2]).unwrap();
        assert!(!is_turned_in(Extent::Whole(&axes), "cpu", DType::F32, 160, 10));
        assert!(is_turned_in(Extent::Pieces, "cpu", DType::F32, 160, 10));
    }

    #[test]
    fn only_narrow_products_in_f32_on_cpu_are_turned() {
        for (inputs, outputs, want) in
            [(160, 10, true), (159, 10, false), (512, 32, true), (528, 33, false), (32, 2, true), (64, 1, false)]
        {
            assert_eq!(is_turned("cpu", DType::F32, inputs, outputs), want, "{inputs} and {outputs} columns");
        }
        assert!(!is_turned("cuda", DType::F32, 160, 10));
        assert!(!is_turned("", DType::F32, 160, 10));
        assert!(!is_turned("cpu", DType::F64, 160, 10));
        assert!(!is_turned("cpu", DType::BF16, 160, 10));
    }

    #[test]
    fn products_with_many_rows_are_turned_if_that_transposes_less() {
        let is_turned = |x: &[i64], g: &[i64], contracted: &[i64]| {
            let mut trace = Trace::new();
            let [x, g] = [x, g].map(|dims| trace.parameter(TensorType::new(DType::F32, dims)));
            let axes = DotAxes {
                lhs_batching: &[],
                rhs_batching: &[],
                lhs_contracting: contracted,
                rhs_contracting: contracted,
            };
            let dot = dot_general(&mut trace, x, g, &axes, None).unwrap();
            has_barrier(&trace, &[x, g], dot, Extent::Device, "cpu")
        };
        assert!(is_turned(&[8, 128, 1024], &[8, 128, 256], &[0, 1]));
        assert!(is_turned(&[1024, 1024], &[1024, 256], &[0]));
        assert!(is_turned(&[8, 128, 256], &[8, 128, 80], &[0, 1]));
        assert!(!is_turned(&[8, 128, 1024], &[8, 128, 512], &[0, 1]), "wide");
        assert!(!is_turned(&[8, 128, 256], &[8, 128, 1024], &[0, 1]), "more outputs than inputs");
        assert!(!is_turned(&[128, 512], &[128, 128], &[0]), "few rows");
        assert!(!is_turned(&[1024, 128], &[1024, 48], &[0]), "few inputs");
        assert!(!is_turned(&[1024, 8, 128], &[1024, 8, 48], &[0]), "more than one axis is left");
        assert!(!is_turned(&[64, 1024], &[16, 1024], &[1]), "rows are not contracted");
        assert!(!is_turned(&[0, 1024], &[0, 64], &[0]), "no rows");
    }
}
