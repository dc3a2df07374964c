//! Definitions of the decompositions of matrices.

use super::decomposition::{EighAttributes, LdlAttributes, PinvAttributes, QrAttributes, SvdAttributes};
use super::ldl;
use super::{decomposition_lower, decomposition_rules as rules, ldl_rules, lu_solve};
use crate::definition::{Definition, Native};
use crate::rules::{Batching, Derivative};

const DTYPES: &str = "floats, 8-bit floats, complex numbers";

/// What the decompositions have in common: the batch axes lead, and each device of a mesh has whole matrices.
const MATRICES: Definition = Definition {
    stablehlo: "custom_call",
    dtypes: DTYPES,
    lower: decomposition_lower::lower,
    whole: |_, _| true,
    batching: Batching::Several(rules::batch),
    ..Definition::DEFAULT
};

/// Definition of `qr`.
pub const QR: Definition = Definition {
    name: "qr",
    function: "lxla_qr",
    native: Native::Several(|cx| match cx.attributes() {
        QrAttributes { reflectors: true, .. } => native::reflectors(cx.operands[0]),
        QrAttributes { full, .. } => native::qr(full, cx.operands[0]),
    }),
    derivative: Derivative::Several { jvp: rules::qr_jvp, vjp: rules::vjp },
    ..MATRICES
};

/// Definition of `lu`.
pub const LU: Definition = Definition {
    name: "lu",
    function: "lxla_lu",
    native: Native::Several(|cx| native::lu(cx.operands[0])),
    derivative: Derivative::Several { jvp: rules::lu_jvp, vjp: rules::vjp },
    ..MATRICES
};

/// Definition of `ldl`.
pub const LDL: Definition = Definition {
    name: "ldl",
    function: "lxla_ldl",
    native: Native::Several(|cx| native::ldl(cx.attributes::<LdlAttributes>().hermitian, cx.operands[0])),
    ..MATRICES
};

/// Definition of `ldl_solve`.
pub const LDL_SOLVE: Definition = Definition {
    name: "ldl_solve",
    function: "lxla_ldl_solve",
    lower: ldl::lower_solve,
    native: Native::One(|cx| {
        let LdlAttributes { hermitian } = cx.attributes();
        native::ldl_solve(hermitian, cx.operands[0], cx.operands[1], cx.operands[2])
    }),
    derivative: Derivative::Linear { jvp: ldl_rules::jvp, vjp: ldl_rules::vjp },
    batching: Batching::Rule(ldl_rules::batch),
    ..MATRICES
};

/// Definition of `lu_solve`, the solution of systems from LU factors.
pub const LU_SOLVE: Definition = Definition {
    name: "solve",
    function: "lxla_solve",
    lower: lu_solve::lower,
    native: Native::One(|cx| native::lu_solve(cx.ty, cx.operands[0], cx.operands[1], Some(cx.operands[2]))),
    derivative: Derivative::Expanded,
    batching: Batching::Rule(lu_solve::batch),
    expand: Some(lu_solve::expand),
    ..MATRICES
};

/// Definition of `lu_inverse`, inverses from LU factors.
pub const LU_INVERSE: Definition = Definition {
    name: "inverse",
    function: "lxla_inverse",
    native: Native::One(|cx| native::lu_solve(cx.ty, cx.operands[0], cx.operands[1], None)),
    ..LU_SOLVE
};

/// Definition of `svd`.
pub const SVD: Definition = Definition {
    name: "svd",
    function: "lxla_svd",
    native: Native::Several(|cx| {
        let SvdAttributes { full, vectors } = cx.attributes();
        native::svd(full, vectors, cx.operands[0])
    }),
    derivative: Derivative::Several { jvp: rules::svd_jvp, vjp: rules::vjp },
    ..MATRICES
};

/// Definition of `eigh`.
pub const EIGH: Definition = Definition {
    name: "eigh",
    function: "lxla_eigh",
    native: Native::Several(|cx| native::eigh(cx.attributes::<EighAttributes>().lower, cx.operands[0])),
    derivative: Derivative::Several { jvp: rules::eigh_jvp, vjp: rules::vjp },
    ..MATRICES
};

/// Definition of `eig`.
pub const EIG: Definition = Definition {
    name: "eig",
    function: "lxla_eig",
    needs_host: true,
    native: Native::Several(|cx| native::eig(cx.operands[0])),
    derivative: Derivative::Several { jvp: rules::eig_jvp, vjp: rules::vjp },
    ..MATRICES
};

/// Definition of `schur`.
pub const SCHUR: Definition = Definition {
    name: "schur",
    function: "lxla_schur",
    needs_host: true,
    native: Native::Several(|cx| native::schur(cx.operands[0])),
    ..MATRICES
};

/// Definition of `pinv`.
pub const PINV: Definition = Definition {
    name: "pinv",
    function: "lxla_pinv",
    native: Native::One(|cx| {
        let PinvAttributes { tolerance } = cx.attributes();
        native::pinv(cx.ty, f64::from_bits(tolerance as u64), cx.operands[0])
    }),
    derivative: Derivative::Jvp(rules::pinv_jvp),
    batching: Batching::Rule(rules::batch_of_pinv),
    ..MATRICES
};
