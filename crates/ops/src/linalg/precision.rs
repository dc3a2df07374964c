//! Writes the precision of products and convolutions.

use crate::emit::Emitter;
use base::types::DType;
use ir::{Level, Precision};

/// Returns the precision with which an operation is written: its own, or the module's. An algorithm that does not
/// compute these dtypes is replaced by full precision.
fn chosen(e: &Emitter, stated: Option<Precision>, operands: DType, result: DType) -> Precision {
    match stated.unwrap_or(e.precision) {
        Precision::Algorithm(algorithm) if !algorithm.suits(operands, result) => Precision::HIGHEST,
        precision => precision,
    }
}

/// Returns the text of the precision of a product: `precision = [HIGH, HIGH]`.
pub fn written(e: &Emitter, stated: Option<Precision>, operands: DType, result: DType) -> String {
    match chosen(e, stated, operands, result) {
        Precision::Levels([lhs, rhs]) => format!("precision = [{}, {}]", lhs.keyword(), rhs.keyword()),
        Precision::Algorithm(algorithm) => format!(
            "precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = {operands}, rhs_precision_type = \
             {operands}, accumulation_type = {}, lhs_component_count = 1, rhs_component_count = 1, \
             num_primitive_operations = {}, allow_imprecise_accumulation = false>",
            algorithm.sums,
            algorithm.operations,
            operands = algorithm.operands,
        ),
    }
}

/// Returns the levels of the operands of a convolution, which has no algorithms: the least ones that lose no more than
/// the algorithm on any device. With DEFAULT, TPUs round f32 to bf16; with HIGH, GPUs round it to tf32.
pub fn levels(e: &Emitter, stated: Option<Precision>, operands: DType, result: DType) -> [Level; 2] {
    match chosen(e, stated, operands, result) {
        Precision::Levels(levels) => levels,
        Precision::Algorithm(algorithm) => match (algorithm.operands, algorithm.operations) {
            ("bf16", 1) => [Level::Default; 2],
            ("tf32", 1) => [Level::High; 2],
            _ => [Level::Highest; 2],
        },
    }
}
