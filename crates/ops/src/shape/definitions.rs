//! Definitions of reshapes, slices and padding.

use super::axes::{self, ReverseAttributes, TransposeAttributes};
use super::slicing::{self, ConcatenateAttributes, PadAttributes, SliceAttributes};
use super::{masking_rules, rules};
use crate::definition::{Definition, Native};
use crate::masking::Masking;
use crate::rules::Batching;
use base::error::Result;
use native::Array;

/// Definition of `reshape`: elements in row-major order, in the node's shape.
pub const RESHAPE: Definition = Definition {
    name: "reshape",
    stablehlo: "reshape",
    function: "lxla_reshape",
    dtypes: "all",
    lower: |e, at| e.one_operand(at, "reshape", ""),
    native: Native::One(|cx| Ok(cx.operands[0].reshape(&cx.ty.dims))),
    derivative: rules::RESHAPE,
    batching: Batching::Rule(rules::batch_reshape),
    masking: Masking::Rule(masking_rules::reshape),
    ..Definition::DEFAULT
};

/// Definition of `broadcast_to`: to the node's shape, by NumPy's rules.
pub const BROADCAST_TO: Definition = Definition {
    name: "broadcast_to",
    stablehlo: "broadcast_in_dim",
    function: "lxla_broadcast_to",
    dtypes: "all",
    lower: axes::lower_broadcast_to,
    native: Native::One(|cx| native::broadcast_to(cx.operands[0], cx.ty)),
    derivative: rules::BROADCAST_TO,
    batching: Batching::Rule(rules::batch_broadcast_to),
    masking: Masking::Rule(masking_rules::broadcast),
    ..Definition::DEFAULT
};

/// Definition of `transpose`.
pub const TRANSPOSE: Definition = Definition {
    name: "transpose",
    stablehlo: "transpose",
    function: "lxla_transpose",
    dtypes: "all",
    lower: axes::lower_transpose,
    native: Native::One(|cx| {
        native::transpose(cx.ty, &cx.attributes::<TransposeAttributes>().permutation, cx.operands[0])
    }),
    derivative: rules::TRANSPOSE,
    batching: Batching::Rule(rules::batch_transpose),
    masking: Masking::Rule(masking_rules::transpose),
    ..Definition::DEFAULT
};

/// Definition of `slice`.
pub const SLICE: Definition = Definition {
    name: "slice",
    stablehlo: "slice",
    function: "lxla_slice",
    dtypes: "all",
    lower: slicing::lower_slice,
    native: Native::One(|cx| {
        let SliceAttributes { starts, strides, .. } = cx.attributes();
        native::slice(cx.ty, &starts, &strides, cx.operands[0])
    }),
    derivative: rules::SLICE,
    batching: Batching::Rule(rules::batch_slice),
    masking: Masking::OfAttributes(masking_rules::sliced),
    ..Definition::DEFAULT
};

/// Definition of `concatenate`.
pub const CONCATENATE: Definition = Definition {
    name: "concatenate",
    stablehlo: "concatenate",
    function: "lxla_concatenate",
    dtypes: "all",
    lower: slicing::lower_concatenate,
    native: Native::One(|cx| {
        let parts =
            cx.operands.iter().map(|part| native::convert(part, cx.ty.dtype)).collect::<Result<Vec<Array>>>()?;
        native::concatenate(cx.ty, cx.attributes::<ConcatenateAttributes>().axis, &parts)
    }),
    derivative: rules::CONCATENATE,
    batching: Batching::Rule(rules::batch_concatenate),
    masking: Masking::Rule(masking_rules::concatenated),
    ..Definition::DEFAULT
};

/// Definition of `pad`.
pub const PAD: Definition = Definition {
    name: "pad",
    stablehlo: "pad",
    function: "lxla_pad",
    dtypes: "all",
    lower: slicing::lower_pad,
    // XLA computes wrong values of interior padding (all three CPU plugins) along a split axis.
    open: |e, at| e.instruction(at).attributes::<PadAttributes>().open_axes(),
    native: Native::One(|cx| {
        let PadAttributes { low, interior, .. } = cx.attributes();
        native::pad(cx.ty, &low, &interior, cx.operands[0], cx.operands[1])
    }),
    derivative: rules::PAD,
    batching: Batching::Rule(rules::batch_pad),
    masking: Masking::OfAttributes(masking_rules::padded),
    ..Definition::DEFAULT
};

/// Definition of `reverse`.
pub const REVERSE: Definition = Definition {
    name: "reverse",
    stablehlo: "reverse",
    function: "lxla_reverse",
    dtypes: "all",
    lower: axes::lower_reverse,
    native: Native::One(|cx| native::reverse(&cx.attributes::<ReverseAttributes>().axes, cx.operands[0])),
    derivative: rules::REVERSE,
    batching: Batching::Rule(rules::batch_reverse),
    masking: Masking::Rule(masking_rules::reversed),
    ..Definition::DEFAULT
};
