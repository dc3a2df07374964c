//! Lowers a program to a module: its `main`, and one function for each traced computation that it applies, directly or
//! indirectly.

use super::aliasing::{Donation, pair};
use super::function::{self, Annotations, Called, MAIN};
use super::partition::Layout;
use base::allocation::probe;
use base::error;
use base::error::Result;
use base::types::{Scalar, TensorType};
use engine::{Partitions, Signature};
use ir::{Body, Instruction, Op, Precision, Program};
use mesh::{MeshAxes, Sharding};
use ops::emit::{Emitter, Extent, PackedScalars, Written, function_name, gather};
use ops::mesh::mesh_of;
use std::sync::Arc;

/// Input of an engine's compiler, and the parameters that each run passes in addition to those of the program.
pub struct Module {
    /// StableHLO text of the module.
    pub text: String,
    /// Signature of `main`: the program's parameters in order, then one vector for each pack.
    pub signature: Signature,
    /// Program that was lowered.
    pub program: Program,
    /// Scalars of the program. Those in packs are not part of the text.
    pub scalars: Vec<Scalar>,
    /// Scalars that are passed as parameters, packed into one vector for each dtype.
    pub packs: Vec<PackedScalars>,
}

/// Platform and layout for which a program is compiled.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Platform of the engine (`cpu`, `cuda`, ...).
    pub platform: &'a str,
    /// Whether programs of the engine can call functions of this process.
    pub calls_host: bool,
    /// Mesh and shardings; None for a program that runs on one device.
    pub layout: Option<&'a Layout>,
    /// Whether labels are written as locations: in a text for people, not in one for a compiler.
    pub has_locations: bool,
    /// Precision of products and convolutions that state none.
    pub precision: Precision,
}

/// Lowers `program`. `scalars` are written as constants, except those that are `varying`, which become parameters.
/// `donors` are ascending indices of parameters. Fails with RESOURCE_EXHAUSTED if there is no memory for the text.
pub fn lower(
    program: &Program,
    scalars: &[Scalar],
    varying: &[bool],
    donors: &[usize],
    target: Target,
) -> Result<Module> {
    ops::provide_host_functions();
    probe_decoded(program)?;
    let (values, outputs) = program.decode();
    check_host(&values, target)?;
    let parameters: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
    let packs = gather(scalars, varying);

    let donor_positions: Vec<usize> = donors.iter().map(|&i| parameters[i]).collect();
    let mut donations = pair(&values, &outputs, &donor_positions);
    let partitions = target.layout.map(|layout| {
        layout.unpair(&values, &outputs, donors, &mut donations);
        layout.partitions(&values, &outputs, donors, &donations, packs.len())
    });
    let annotations = annotations(parameters.len(), donors, &donations, partitions.as_ref());
    let mut emitter = Emitter::new(&values, scalars, &packs, target.platform, ops::LOWERING);
    let axes = target.layout.map(|layout| &layout.mesh.axes);
    emitter.extent = extent(axes, false);
    (emitter.calls_host, emitter.has_locations) = (target.calls_host, target.has_locations);
    emitter.precision = target.precision;
    let (main, called) = function::function(emitter, MAIN, &outputs, &annotations);
    let text = module(main, called, target, axes)?;

    let mut types: Vec<TensorType> = parameters.iter().map(|&i| values[i].ty.clone()).collect();
    types.extend(packs.iter().map(PackedScalars::ty));
    let signature = Signature {
        parameters: types,
        outputs: outputs.iter().map(|&i| values[i].ty.clone()).collect(),
        donors: donors.to_vec(),
        partitions,
    };
    Ok(Module { text, signature, program: program.clone(), scalars: scalars.to_vec(), packs })
}

/// Tests that there is memory for the instructions of a program, and their names and types.
fn probe_decoded(program: &Program) -> Result<()> {
    probe(program.decoded_bytes().saturating_mul(3), "the instructions of a program")
}

/// Attributes of `main`: donations and shardings.
fn annotations(
    parameters: usize,
    donors: &[usize],
    donations: &[Donation],
    partitions: Option<&Partitions>,
) -> Annotations {
    let sharding = |sharding: &Sharding| {
        let axes = &partitions.expect("only a partitioned program has shardings").mesh.axes;
        format!("sdy.sharding = #sdy.sharding{}", sharding.sdy(axes))
    };
    let braced = |attributes: Vec<String>| match attributes.is_empty() {
        true => String::new(),
        false => format!(" {{{}}}", attributes.join(", ")),
    };
    let of_parameter = |i: usize| {
        let mut attributes: Vec<String> = partitions.iter().map(|p| sharding(&p.parameters[i])).collect();
        match donors.binary_search(&i).map(|donor| donations[donor]) {
            Ok(Donation::Output(output)) => attributes.push(format!("tf.aliasing_output = {output} : i32")),
            Ok(Donation::Any) => attributes.push("jax.buffer_donor = true".to_string()),
            Err(_) => {}
        }
        braced(attributes)
    };
    let stated = partitions.map_or(&[][..], |partitions| &partitions.outputs);
    Annotations {
        parameters: (0..parameters).map(of_parameter).collect(),
        packs: braced(partitions.iter().map(|_| sharding(&Sharding::replicated(1))).collect()),
        results: stated.iter().map(|stated| braced(stated.iter().map(sharding).collect())).collect(),
        ..Annotations::default()
    }
}

/// Returns the extent of the values of a function in a module for a mesh with these axes, or for one device (None).
fn extent(axes: Option<&MeshAxes>, is_of_pieces: bool) -> Extent<'_> {
    match axes {
        Some(axes) if axes.device_count() > 1 && is_of_pieces => Extent::Pieces,
        Some(axes) if axes.device_count() > 1 => Extent::Whole(axes),
        _ => Extent::Device,
    }
}

/// Lowers a traced computation as a module of its own, for any platform. `main` takes the parameters, then the
/// captures. A body of collectives has pieces. Products and convolutions that state no precision have the highest one.
pub fn lower_body(body: &Arc<Body>) -> Result<String> {
    lower_annotated(body, &Annotations::default(), Precision::HIGHEST)
}

/// Like [`lower_body`], for an engine that calls functions of this process: factorizations are such calls.
pub fn lower_body_with_calls(body: &Arc<Body>) -> Result<String> {
    ops::provide_host_functions();
    lower_for(body, &Annotations::default(), true, Precision::HIGHEST)
}

/// Like [`lower_body`], with attributes of the parameters and results of `main`, and with constants for its captures.
/// `precision` is for products and convolutions that state none.
pub fn lower_annotated(body: &Arc<Body>, annotations: &Annotations, precision: Precision) -> Result<String> {
    lower_for(body, annotations, false, precision)
}

fn lower_for(body: &Arc<Body>, annotations: &Annotations, calls_host: bool, precision: Precision) -> Result<String> {
    probe_decoded(body.program())?;
    let axes = mesh_of(&body.decode().0);
    let extent = extent(axes.as_ref(), body.has_collectives());
    let target = Target { platform: "", calls_host, layout: None, has_locations: true, precision };
    let (main, called) = function(body, MAIN, target, extent, annotations)?;
    module(main, called, target, axes.as_ref())
}

/// Returns `main`, followed by one function for each body that is called, directly or indirectly. A partitioned module
/// declares the axes of its mesh.
fn module(main: Written, called: Called, target: Target, axes: Option<&MeshAxes>) -> Result<String> {
    let partitions = axes.map_or(1, MeshAxes::device_count);
    let mut text = Written::default();
    text.push(&format!(
        "module @lazyxla attributes {{mhlo.num_partitions = {partitions} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
    ));
    if let Some(axes) = axes {
        text.push(&format!("  sdy.mesh @mesh = {}\n", axes.sdy()));
    }
    text.append(main);
    let mut functions: Called = Vec::new();
    let add = |functions: &mut Called, called: Called| {
        for call in called {
            if !functions.contains(&call) {
                functions.push(call);
            }
        }
    };
    add(&mut functions, called);
    let mut next = 0;
    while next < functions.len() {
        let (body, is_of_pieces) = functions[next].clone();
        let name = format!("private @{}", function_name(&body, is_of_pieces));
        let (inner, called) = function(&body, &name, target, extent(axes, is_of_pieces), &Annotations::default())?;
        text.append(inner);
        add(&mut functions, called);
        next += 1;
    }
    text.push("}\n");
    text.finish()
}

/// Returns an error if an operation is evaluated by functions of this process, which the engine cannot call.
fn check_host(values: &[Instruction], target: Target) -> Result<()> {
    let refused = values.iter().map(|value| ops::definition(value.op)).find(|definition| definition.needs_host);
    match refused {
        Some(definition) if !target.calls_host => Err(error!(
            Unimplemented,
            "{} is computed by functions of this process, which CPU plugins with PJRT's FFI extension call; this one \
             does not",
            definition.name
        )),
        _ => Ok(()),
    }
}

fn function(
    body: &Body,
    name: &str,
    target: Target,
    extent: Extent,
    annotations: &Annotations,
) -> Result<(Written, Called)> {
    probe_decoded(body.program())?;
    let (values, results) = body.decode();
    check_host(&values, target)?;
    let mut emitter = Emitter::new(&values, body.scalars(), &[], target.platform, ops::LOWERING);
    (emitter.extent, emitter.is_called) = (extent, true);
    (emitter.calls_host, emitter.has_locations) = (target.calls_host, target.has_locations);
    emitter.precision = target.precision;
    Ok(function::function(emitter, name, &results, annotations))
}
