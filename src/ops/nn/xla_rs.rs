//! Convolutions with the crate `xla`.

use super::convolution::ConvolutionAttributes;
use crate::emit::xla_rs::{Graph, failed};
use crate::error::Result;
use crate::ops::elementwise::xla_rs::with;
use crate::types::TensorType;

/// As in StableHLO: negative padding and reversed kernels are operations of their own.
pub(in crate::ops) fn convolution(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let mut a: ConvolutionAttributes = value.attributes();
    let of = |i: usize| g.cast(value.operands[i], &with(value.ty.dtype, g.ty(value.operands[i])));
    let (mut lhs, mut rhs) = (of(0)?, of(1)?);
    if a.low.iter().chain(&a.high).any(|&padding| padding < 0) {
        let mut config = vec![(0, 0, 0); value.ty.dims.len()];
        for (i, &axis) in a.lhs[2..].iter().enumerate() {
            config[axis as usize] = (a.low[i], a.high[i], a.lhs_dilation[i] - 1);
            (a.low[i], a.high[i], a.lhs_dilation[i]) = (0, 0, 1);
        }
        let zero = g.constant(&TensorType::new(value.ty.dtype, &[]), 0)?;
        lhs = lhs.pad(&zero, &config).map_err(failed)?;
    }
    let spatial = a.rhs[2..].iter().zip(&a.reversal);
    let backwards: Vec<i64> = spatial.filter(|&(_, &reversal)| reversal == 1).map(|(&axis, _)| axis).collect();
    if !backwards.is_empty() {
        rhs = rhs.rev(&backwards).map_err(failed)?;
    }
    let padding: Vec<(i64, i64)> = a.low.iter().copied().zip(a.high.iter().copied()).collect();
    let made = lhs.conv_general_dilated(
        &rhs,
        &a.strides,
        &padding,
        &a.lhs_dilation,
        &a.rhs_dilation,
        a.lhs[0],
        a.lhs[1],
        &a.lhs[2..],
        a.out[0],
        a.out[1],
        &a.out[2..],
        a.rhs[1],
        a.rhs[0],
        &a.rhs[2..],
        a.groups[0],
        a.groups[1],
        false,
    );
    g.define(at, made.map_err(failed)?);
    Ok(())
}
