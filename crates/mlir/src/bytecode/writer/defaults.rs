//! Values of attributes that operations leave out. VHLO has no attributes that may be absent.

use crate::{Attribute, Data, Dense, Dictionary, Element, Numbers, Operation, Record, TensorShape, Type};
use base::types::{DType, MAX_RANK};
use std::sync::Arc;

/// Returns the value that the absence of an attribute stands for; None if the operation must have it.
pub fn of(attribute: &str, operation: &Operation) -> Option<Attribute> {
    let empty = || Attribute::Array(Arc::new([]));
    let is_sort = &*operation.name == "stablehlo.sort";
    Some(match attribute {
        "sym_visibility" | "infeed_config" | "outfeed_config" => Attribute::String(Arc::new([])),
        "arg_attrs"
        | "res_attrs"
        | "called_computations"
        | "operand_layouts"
        | "result_layouts"
        | "output_operand_aliases"
        | "result_tilings"
        | "layout" => empty(),
        "channel_id" | "version" => integer(0),
        "dimension" if is_sort => integer(-1),
        "is_stable"
        | "use_global_device_ids"
        | "has_dynamic_root"
        | "lower"
        | "has_side_effect"
        | "indices_are_sorted"
        | "unique_indices"
        | "is_host_transfer" => Attribute::Bool(false),
        "compare_type" => Attribute::Enum("NOTYPE".into()),
        "api_version" => Attribute::Enum("API_VERSION_ORIGINAL".into()),
        "backend_config" => match operation.attributes.get("api_version") {
            Some(Attribute::Enum(case)) if &**case == "API_VERSION_TYPED_FFI" => {
                Attribute::Dictionary(Dictionary::default())
            }
            _ => Attribute::String(Arc::new([])),
        },
        "composite_attributes" => Attribute::Dictionary(Dictionary::default()),
        "precision_config" => Attribute::Array([(); 2].map(|()| Attribute::Enum("DEFAULT".into())).into()),
        "window_strides" | "lhs_dilation" | "rhs_dilation" | "base_dilations" | "window_dilations" => {
            Attribute::Integers(vec![1; window_rank(operation)?].into())
        }
        "window_reversal" => {
            Attribute::Numbers(Numbers { dtype: DType::Pred, bytes: vec![0; window_rank(operation)?].into() })
        }
        "padding" => no_padding(window_rank(operation)?),
        "known_expanding_dimensions"
        | "known_nonexpanding_dimensions"
        | "operand_batching_dims"
        | "start_indices_batching_dims"
        | "input_batching_dims"
        | "scatter_indices_batching_dims"
        | "source_target_pairs" => Attribute::Integers(Arc::new([])),
        "lhs_precision_type"
        | "rhs_precision_type"
        | "accumulation_type"
        | "lhs_component_count"
        | "rhs_component_count"
        | "num_primitive_operations"
        | "allow_imprecise_accumulation" => Attribute::Type(Arc::new(Type::None)),
        "result_accuracy" => result_accuracy(),
        _ => return None,
    })
}

fn integer(value: i64) -> Attribute {
    Attribute::Integer(value, Element::DType(DType::S64))
}

/// Number of axes of the window of a convolution or of another operation on windows. None if there are more than the
/// library supports: the type of a splat may state any number.
fn window_rank(operation: &Operation) -> Option<usize> {
    stated_window_rank(operation).filter(|&rank| rank <= MAX_RANK)
}

fn stated_window_rank(operation: &Operation) -> Option<usize> {
    let of = |key: &str| operation.attributes.get(key);
    match of("input_spatial_dimensions").or_else(|| of("window_dimensions"))? {
        Attribute::Integers(list) => Some(list.len()),
        Attribute::Dense(dense) => match &*dense.ty {
            Type::Tensor(shape) => shape.dims.first().map(|&size| size as usize),
            _ => None,
        },
        _ => None,
    }
}

fn no_padding(rank: usize) -> Attribute {
    let dims = [rank as i64, 2].into_iter().collect();
    let ty = Arc::new(Type::Tensor(TensorShape::new(Element::DType(DType::S64), dims)));
    let data = match rank {
        0 => Data::Whole { owner: Arc::new([]), bytes: 0..0 },
        _ => Data::Splat([0; 8].into()),
    };
    Attribute::Dense(Arc::new(Dense { ty, data }))
}

fn result_accuracy() -> Attribute {
    let zero = || Attribute::Float(0.0, Element::DType(DType::F64));
    let fields = [
        ("atol".into(), zero()),
        ("rtol".into(), zero()),
        ("ulps".into(), integer(0)),
        ("mode".into(), Attribute::Enum("DEFAULT".into())),
    ];
    let record = Record { name: "stablehlo.result_accuracy".into(), fields: Dictionary(fields.into()) };
    Attribute::Record(Arc::new(record))
}
