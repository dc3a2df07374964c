//! Encodings of the attributes and types of each dialect: one table for the reader and the writer. A file has the
//! number of an attribute or type, then its fields, whose forms are in `forms.rs`.

use super::forms::{Dialect, Field, Flag, Form, LocationForm, TypeForm, keywords};
use crate::Version;

/// The encoding of an attribute or type of a dialect.
pub struct Code<F> {
    /// Number of the attribute or type in a file.
    pub code: u64,
    /// The oldest VHLO that has it.
    pub since: Version,
    /// Form of the fields that follow the number.
    pub form: F,
}

/// Returns the encodings of a dialect's attributes.
pub fn attributes(dialect: Dialect) -> &'static [Code<Form>] {
    match dialect {
        Dialect::Builtin => BUILTIN,
        Dialect::Vhlo => VHLO,
        Dialect::StableHlo => STABLEHLO,
        Dialect::Chlo => CHLO,
        Dialect::Sdy => SDY,
        Dialect::Quant | Dialect::Other => &[],
    }
}

/// Returns the encodings of a dialect's types.
pub fn types(dialect: Dialect) -> &'static [Code<TypeForm>] {
    match dialect {
        Dialect::Builtin => BUILTIN_TYPES,
        Dialect::Vhlo => VHLO_TYPES,
        Dialect::StableHlo => STABLEHLO_TYPES,
        Dialect::Quant => QUANT_TYPES,
        Dialect::Chlo | Dialect::Sdy | Dialect::Other => &[],
    }
}

/// Name of the record of the bounds of free sizes.
pub const BOUNDS: &str = "stablehlo.bounds";

/// The oldest VHLO.
const FIRST: Version = Version(0, 9, 0);

const fn code<F>(code: u64, form: F) -> Code<F> {
    Code { code, since: FIRST, form }
}

const fn since<F>(major: u32, minor: u32, code: u64, form: F) -> Code<F> {
    Code { code, since: Version(major, minor, 0), form }
}

const BUILTIN: &[Code<Form>] = &[
    code(0, Form::Array),
    code(1, Form::Dictionary),
    code(2, Form::String),
    code(3, Form::TypedString),
    code(4, Form::Symbol),
    code(5, Form::Path),
    code(6, Form::Type),
    code(7, Form::Unit),
    code(8, Form::Integer),
    code(9, Form::Float),
    code(10, Form::Location(LocationForm::Call)),
    code(11, Form::Location(LocationForm::File)),
    code(12, Form::Location(LocationForm::Fused)),
    code(13, Form::Location(LocationForm::FusedWith)),
    code(14, Form::Location(LocationForm::Name)),
    code(15, Form::Location(LocationForm::Unknown)),
    code(16, Form::Resource),
    code(17, Form::Numbers),
    code(18, Form::Dense),
    code(21, Form::Distinct),
    code(22, Form::Location(LocationForm::Range)),
];

const VHLO: &[Code<Form>] = &[
    code(1, Form::Array),
    code(2, Form::Bool),
    code(3, Form::Case(keywords::COMPARISON_DIRECTION)),
    code(4, Form::Case(keywords::COMPARISON_TYPE)),
    code(5, Form::Case(keywords::API_VERSION)),
    code(6, Form::Dictionary),
    code(7, Form::Case(keywords::FFT_TYPE)),
    code(8, Form::Float),
    code(9, Form::Integer),
    code(10, OUTPUT_OPERAND_ALIAS),
    code(11, Form::Case(keywords::PRECISION)),
    code(12, Form::Case(keywords::RNG_ALGORITHM)),
    code(13, Form::Case(keywords::RNG_DISTRIBUTION)),
    code(14, Form::String),
    code(15, Form::Dense),
    code(16, Form::Case(keywords::TRANSPOSE)),
    code(17, Form::Type),
    code(18, TYPE_EXTENSIONS),
    since(1, 9, 19, Form::Case(keywords::RESULT_ACCURACY_MODE)),
    since(1, 9, 20, RESULT_ACCURACY),
    since(1, 16, 21, SUB_AXIS_INFO),
    since(
        1,
        16,
        22,
        Form::Record(
            "stablehlo.axis_ref",
            &[("name", Field::Attribute), ("sub_axis_info", Field::Optional(Flag::Number))],
        ),
    ),
    since(
        1,
        16,
        23,
        Form::Record("stablehlo.replica_group_mesh_axes", &[("mesh", Field::Mesh), ("axes", Field::Attribute)]),
    ),
    since(1, 16, 24, Form::Record("stablehlo.mesh_axis", &[("name", Field::Attribute), ("size", Field::Integer)])),
    since(
        1,
        16,
        25,
        Form::Record("stablehlo.mesh", &[("axes", Field::Attribute), ("device_ids", Field::Optional(Flag::LowBit))]),
    ),
];

/// Fields have the names of the attributes of VHLO that they become.
const STABLEHLO: &[Code<Form>] = &[
    code(
        1,
        Form::Record("stablehlo.channel_handle", &[("channel_id", Field::Integer), ("channel_type", Field::Integer)]),
    ),
    code(2, Form::Case(keywords::COMPARISON_DIRECTION)),
    code(3, Form::Case(keywords::COMPARISON_TYPE)),
    code(
        4,
        Form::Record(
            "stablehlo.conv",
            &[
                ("input_batch_dimension", Field::Integer),
                ("input_feature_dimension", Field::Integer),
                ("input_spatial_dimensions", Field::Integers),
                ("kernel_input_feature_dimension", Field::Integer),
                ("kernel_output_feature_dimension", Field::Integer),
                ("kernel_spatial_dimensions", Field::Integers),
                ("output_batch_dimension", Field::Integer),
                ("output_feature_dimension", Field::Integer),
                ("output_spatial_dimensions", Field::Integers),
            ],
        ),
    ),
    code(
        5,
        Form::Record(
            "stablehlo.dot",
            &[
                ("lhs_batching_dimensions", Field::Integers),
                ("rhs_batching_dimensions", Field::Integers),
                ("lhs_contracting_dimensions", Field::Integers),
                ("rhs_contracting_dimensions", Field::Integers),
            ],
        ),
    ),
    code(6, Form::Case(keywords::FFT_TYPE)),
    code(
        7,
        Form::Record(
            "stablehlo.gather",
            &[
                ("offset_dims", Field::Integers),
                ("collapsed_slice_dims", Field::Integers),
                ("operand_batching_dims", Field::Integers),
                ("start_indices_batching_dims", Field::Integers),
                ("start_index_map", Field::Integers),
                ("index_vector_dim", Field::Integer),
            ],
        ),
    ),
    code(8, Form::Case(keywords::PRECISION)),
    code(9, Form::Case(keywords::RNG_ALGORITHM)),
    code(10, Form::Case(keywords::RNG_DISTRIBUTION)),
    code(
        11,
        Form::Record(
            "stablehlo.scatter",
            &[
                ("update_window_dims", Field::Integers),
                ("inserted_window_dims", Field::Integers),
                ("input_batching_dims", Field::Integers),
                ("scatter_indices_batching_dims", Field::Integers),
                ("scatter_dims_to_operand_dims", Field::Integers),
                ("index_vector_dim", Field::Integer),
            ],
        ),
    ),
    code(12, Form::Case(keywords::TRANSPOSE)),
    code(13, TYPE_EXTENSIONS),
    code(14, OUTPUT_OPERAND_ALIAS),
    code(
        15,
        Form::Record(
            "stablehlo.dot_algorithm",
            &[
                ("lhs_precision_type", Field::Type),
                ("rhs_precision_type", Field::Type),
                ("accumulation_type", Field::Type),
                ("lhs_component_count", Field::Integer),
                ("rhs_component_count", Field::Integer),
                ("num_primitive_operations", Field::Integer),
                ("allow_imprecise_accumulation", Field::Bool),
            ],
        ),
    ),
    code(16, Form::Case(keywords::RESULT_ACCURACY_MODE)),
    code(17, RESULT_ACCURACY),
    code(18, Form::Record("stablehlo.replica_group_mesh_axes", &[("mesh", Field::Attribute), ("axes", Field::List)])),
    code(19, SUB_AXIS_INFO),
    code(
        20,
        Form::Record("stablehlo.axis_ref", &[("name", Field::String), ("sub_axis_info", Field::Optional(Flag::Byte))]),
    ),
    code(21, Form::Record("stablehlo.mesh_axis", &[("name", Field::String), ("size", Field::Integer)])),
    code(
        22,
        Form::Record("stablehlo.mesh", &[("axes", Field::Attribute), ("device_ids", Field::Optional(Flag::Byte))]),
    ),
];

const CHLO: &[Code<Form>] =
    &[code(0, Form::Case(keywords::COMPARISON_DIRECTION)), code(1, Form::Case(keywords::COMPARISON_TYPE))];

const OUTPUT_OPERAND_ALIAS: Form = Form::Record(
    "stablehlo.output_operand_alias",
    &[
        ("output_tuple_indices", Field::Integers),
        ("operand_index", Field::Integer),
        ("operand_tuple_indices", Field::Integers),
    ],
);
const TYPE_EXTENSIONS: Form = Form::Record(BOUNDS, &[("bounds", Field::Bounds)]);
const RESULT_ACCURACY: Form = Form::Record(
    "stablehlo.result_accuracy",
    &[("atol", Field::Double), ("rtol", Field::Double), ("ulps", Field::Integer), ("mode", Field::Attribute)],
);
const SUB_AXIS_INFO: Form =
    Form::Record("stablehlo.sub_axis_info", &[("pre_size", Field::Integer), ("size", Field::Integer)]);

/// Older versions of Shardy write attributes as text. Fields have the names of the dialect's definition.
const SDY: &[Code<Form>] = &[
    code(0, Form::Record("sdy.manual_axes", &[("value", Field::List)])),
    code(1, Form::Record("sdy.mesh_axis", &[("name", Field::String), ("size", Field::Integer)])),
    code(2, Form::Record("sdy.mesh", &[("axes", Field::List), ("device_ids", Field::Integers)])),
    code(3, Form::Record("sdy.sub_axis_info", &[("pre_size", Field::Integer), ("size", Field::Integer)])),
    code(4, Form::Record("sdy.axis_ref", &[("name", Field::String), ("sub_axis_info", Field::Optional(Flag::LowBit))])),
    code(
        5,
        Form::Record(
            "sdy.dimension_sharding",
            &[("axes", Field::List), ("is_closed", Field::Bool), ("priority", Field::Priority)],
        ),
    ),
    code(6, Form::Record("sdy.sharding", SHARDING.split_at(3).0)),
    code(7, SHARDING_PER_VALUE),
    code(8, Form::Record("sdy.dim_mapping", &[("factor_indices", Field::Integers)])),
    code(9, Form::Record("sdy.tensor_mapping", &[("dim_mappings", Field::List)])),
    code(
        10,
        Form::Record(
            "sdy.op_sharding_rule",
            &[
                ("factor_sizes", Field::Integers),
                ("operand_mappings", Field::List),
                ("result_mappings", Field::List),
                ("reduction_factors", Field::Integers),
                ("need_replication_factors", Field::Integers),
                ("permutation_factors", Field::Integers),
                ("blocked_propagation_factors", Field::Integers),
                ("is_custom_rule", Field::Bool),
            ],
        ),
    ),
    code(11, Form::Record("sdy.axis_ref_list", &[("value", Field::List)])),
    code(12, Form::Record("sdy.list_of_axis_ref_lists", &[("value", Field::List)])),
    code(
        13,
        Form::Record(
            "sdy.all_to_all_param",
            &[("axes", Field::List), ("src_dim", Field::Integer), ("tgt_dim", Field::Integer)],
        ),
    ),
    code(14, Form::Record("sdy.all_to_all_param_list", &[("value", Field::List)])),
    code(15, Form::Record("sdy.sharding", SHARDING.split_at(4).0)),
    code(16, SHARDING_PER_VALUE),
    code(17, Form::Record("sdy.sharding", SHARDING)),
];

/// The fields of a sharding; the last ones are newer.
const SHARDING: &[(&str, Field)] = &[
    ("mesh_or_ref", Field::Attribute),
    ("dim_shardings", Field::List),
    ("replicated_axes", Field::List),
    ("unreduced_axes", Field::List),
    ("reduction_op", Field::Integer),
];
const SHARDING_PER_VALUE: Form = Form::Record("sdy.sharding_per_value", &[("shardings", Field::List)]);

const BUILTIN_TYPES: &[Code<TypeForm>] = &[
    code(0, TypeForm::Integer),
    code(1, TypeForm::Element("index")),
    code(2, TypeForm::Function),
    code(3, TypeForm::Element("bf16")),
    code(4, TypeForm::Element("f16")),
    code(5, TypeForm::Element("f32")),
    code(6, TypeForm::Element("f64")),
    code(7, TypeForm::Element("f80")),
    code(8, TypeForm::Element("f128")),
    code(9, TypeForm::Complex),
    code(10, TypeForm::Memref(false)),
    code(11, TypeForm::Memref(true)),
    code(12, TypeForm::None),
    code(13, TypeForm::Tensor),
    code(14, TypeForm::BoundedTensor),
    code(15, TypeForm::Tuple),
    code(16, TypeForm::Unranked("memref")),
    code(17, TypeForm::UnrankedIn("memref")),
    code(18, TypeForm::Unranked("tensor")),
    code(19, TypeForm::Shaped("vector")),
    code(21, TypeForm::Element("tf32")),
    code(22, TypeForm::Element("f8E5M2")),
    code(23, TypeForm::Element("f8E4M3")),
    code(24, TypeForm::Element("f8E4M3FN")),
    code(25, TypeForm::Element("f8E5M2FNUZ")),
    code(26, TypeForm::Element("f8E4M3FNUZ")),
    code(27, TypeForm::Element("f8E4M3B11FNUZ")),
    code(28, TypeForm::Element("f8E3M4")),
    code(29, TypeForm::Element("f4E2M1FN")),
    code(30, TypeForm::Element("f6E2M3FN")),
    code(31, TypeForm::Element("f6E3M2FN")),
    code(32, TypeForm::Element("f8E8M0FNU")),
];

const VHLO_TYPES: &[Code<TypeForm>] = &[
    code(0, TypeForm::Element("i1")),
    code(1, TypeForm::Complex),
    code(2, TypeForm::Element("bf16")),
    code(3, TypeForm::Element("f16")),
    code(4, TypeForm::Element("f32")),
    code(5, TypeForm::Element("f64")),
    code(6, TypeForm::Element("f8E4M3FN")),
    code(7, TypeForm::Element("f8E5M2")),
    code(8, TypeForm::Function),
    code(9, TypeForm::Element("index")),
    code(10, TypeForm::Element("i4")),
    code(11, TypeForm::Element("i8")),
    code(12, TypeForm::Element("i16")),
    code(13, TypeForm::Element("i32")),
    code(14, TypeForm::Element("i64")),
    code(15, TypeForm::Element("ui4")),
    code(16, TypeForm::Element("ui8")),
    code(17, TypeForm::Element("ui16")),
    code(18, TypeForm::Element("ui32")),
    code(19, TypeForm::Element("ui64")),
    code(20, TypeForm::Tensor),
    code(21, TypeForm::BoundedTensor),
    code(22, TypeForm::Token),
    code(23, TypeForm::Tuple),
    code(24, TypeForm::Quantized(false)),
    code(25, TypeForm::Unranked("tensor")),
    code(26, TypeForm::Other("!shape.witness")),
    since(0, 10, 27, TypeForm::Element("f8E4M3FNUZ")),
    since(0, 10, 28, TypeForm::Element("f8E5M2FNUZ")),
    since(0, 11, 29, TypeForm::Element("f8E4M3B11FNUZ")),
    since(0, 18, 30, TypeForm::Quantized(true)),
    since(1, 2, 31, TypeForm::Element("i2")),
    since(1, 2, 32, TypeForm::Element("ui2")),
    since(1, 6, 33, TypeForm::None),
    since(1, 6, 34, TypeForm::Element("tf32")),
    since(1, 7, 35, TypeForm::Element("f8E4M3")),
    since(1, 7, 36, TypeForm::Element("f8E3M4")),
    since(1, 8, 37, TypeForm::Element("f4E2M1FN")),
    since(1, 8, 38, TypeForm::Element("f6E2M3FN")),
    since(1, 8, 39, TypeForm::Element("f6E3M2FN")),
    since(1, 8, 40, TypeForm::Element("f8E8M0FNU")),
    since(1, 13, 41, TypeForm::Shaped("memref")),
    since(1, 15, 42, TypeForm::Future),
];

const STABLEHLO_TYPES: &[Code<TypeForm>] = &[code(0, TypeForm::Token), code(1, TypeForm::Future)];

const QUANT_TYPES: &[Code<TypeForm>] = &[code(4, TypeForm::Quantized(false)), code(5, TypeForm::Quantized(true))];
