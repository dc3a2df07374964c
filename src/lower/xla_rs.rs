//! Builds a program for the engine xla-rs.

use super::aliasing::{Donation, pair};
use super::module::Module;
use crate::emit::Pack;
use crate::emit::xla_rs::{Graph, Link, Site, failed};
use crate::error;
use crate::error::Result;
use crate::ir::Op;
use crate::ops;
use std::any::Any;
use xla::{XlaComputation, XlaOp};

/// Builds the computation of a [`Module`]. Its result is the tuple of the outputs, also if it is one.
pub fn build(origin: &dyn Any) -> Result<XlaComputation> {
    let module: &Module = origin
        .downcast_ref()
        .ok_or_else(|| error!(Internal, "the engine xla-rs was given a program without its origin"))?;
    let (values, outputs) = module.program.decode();
    let link = Link::default();
    let (site, parameters) = Site::new("main", &link, &module.signature.parameters)?;
    let (arguments, packs) = parameters.split_at(parameters.len() - module.packs.len());
    let packs: Vec<(Pack, XlaOp)> = module.packs.iter().cloned().zip(packs.iter().cloned()).collect();
    let results = Graph::build(&site, (&values, &outputs), &module.scalars, &packs, arguments, ops::build)?;
    let root = site.builder.tuple(&results).map_err(failed)?;

    let positions: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
    let donors = &module.signature.donors;
    let donor_positions: Vec<usize> = donors.iter().map(|&donor| positions[donor]).collect();
    let mut of_any = Vec::new();
    for (&donor, donation) in donors.iter().zip(pair(&values, &outputs, &donor_positions)) {
        match donation {
            Donation::Output(output) => site.builder.setup_alias(output as i64, donor as i64),
            Donation::Any => of_any.push(donor),
        }
    }
    link.module(&site, &root, &of_any)
}
