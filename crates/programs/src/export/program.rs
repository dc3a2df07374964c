//! The program of a computation: text with its captured values as constants, or a module that takes them as parameters.

use crate::import::manifest::Named;
use base::allocation::probe;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{Body, Precision};
use lowering::lower::{Annotations, lower_annotated};
use mlir::{Attribute, Data, Dense, Dictionary, Module, Operation, Value, text};
use native::Array;
use ops::emit;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::sync::Arc;

/// A computation to export.
pub struct Exported {
    /// Its body.
    pub body: Arc<Body>,
    /// Its captured values.
    pub captured: Vec<Array>,
    /// Names of its parameters.
    pub parameter_names: Vec<String>,
    /// Names of its results.
    pub result_names: Vec<String>,
    /// Precision of products and convolutions that state none.
    pub precision: Precision,
}

/// Attributes in which the names of parameters and of results are written; JAX has the second one.
const PARAMETER_NAME: &str = "jax.arg_info";
const RESULT_NAME: &str = "jax.result_info";

/// Parameter of JAX's functions for several platforms.
const PLATFORM: &str = "%platform: tensor<i32> {jax.global_constant = \"_platform_index\"}";

impl Exported {
    /// The parameters with their names.
    pub fn parameters(&self) -> Vec<Named> {
        named(&self.parameter_names, self.body.parameters())
    }

    /// The results with their names.
    pub fn results(&self) -> Vec<Named> {
        named(&self.result_names, self.body.results())
    }

    fn annotations(&self) -> Annotations {
        let attributes = |key: &str, names: &[String]| -> Vec<String> {
            names.iter().map(|name| format!(" {{{key} = {}}}", emit::string(name))).collect()
        };
        Annotations {
            parameters: attributes(PARAMETER_NAME, &self.parameter_names),
            results: attributes(RESULT_NAME, &self.result_names),
            ..Annotations::default()
        }
    }

    /// Returns the StableHLO text, in which the captured values are constants.
    pub fn text(&self) -> Result<String> {
        let constants = self.captured.iter().map(literal).collect::<Result<_>>()?;
        lower_annotated(&self.body, &Annotations { constants, ..self.annotations() }, self.precision)
    }

    /// Returns the module whose `main` takes the parameters, then the captured values.
    pub fn module(&self) -> Result<Module> {
        read(&lower_annotated(&self.body, &self.annotations(), self.precision)?)
    }

    /// Returns the module of a function for JAX: its captured values are constants, and it takes the number of the
    /// platform first.
    pub fn closed_module(&self) -> Result<Module> {
        // Zeros take their places in the text, so that they are neither written as text nor read from it.
        let zero = |array: &Array| format!("dense<{}>", emit::literal(array.ty().dtype, 0));
        let constants = self.captured.iter().map(zero).collect();
        let mut module = read(&lower_annotated(
            &self.body,
            &Annotations { constants, first: Some(PLATFORM), ..self.annotations() },
            self.precision,
        )?)?;
        let Module { types, operations, .. } = &mut module;
        let main = operations.iter_mut().find(|operation| is_main(operation));
        let block = main.and_then(|main| main.regions.first_mut()?.blocks.first_mut());
        let block = block.ok_or_else(|| error!(Internal, "the module has no main"))?;
        for (constant, array) in block.operations.iter_mut().zip(&self.captured) {
            let dense = Dense { ty: types[constant.results[0].0 as usize].clone(), data: data(array) };
            constant.attributes = Dictionary([("value".into(), Attribute::Dense(Arc::new(dense)))].into());
        }
        let used: FxHashSet<Value> =
            block.operations.iter().flat_map(|operation| operation.operands.iter().copied()).collect();
        let mut left = self.captured.len();
        block.operations.retain(|operation| {
            let is_captured = left > 0;
            left = left.saturating_sub(1);
            !is_captured || used.contains(&operation.results[0])
        });
        Ok(module)
    }
}

/// Reads a program that the library lowered.
fn read(lowered: &str) -> Result<Module> {
    text::read(lowered).map_err(|e| error!(Internal, "the StableHLO of the computation cannot be read back: {e}"))
}

fn is_main(operation: &Operation) -> bool {
    matches!(operation.attributes.get("sym_name"), Some(Attribute::String(name)) if **name == *b"main")
}

fn named(names: &[String], types: &[TensorType]) -> Vec<Named> {
    names.iter().zip(types).map(|(name, ty)| Named { name: name.clone(), ty: ty.clone() }).collect()
}

/// Elements of an array, which the module keeps alive.
fn data(array: &Array) -> Data {
    struct Kept(Array);
    impl AsRef<[u8]> for Kept {
        fn as_ref(&self) -> &[u8] {
            self.0.bytes()
        }
    }
    Data::Whole { bytes: 0..array.size_bytes(), owner: Arc::new(Kept(array.clone())) }
}

/// Writes an array as an MLIR attribute without its type.
fn literal(array: &Array) -> Result<String> {
    let ty = array.ty();
    probe(array.size_bytes().saturating_mul(3), "the text of a constant")?;
    let mut text = String::from("dense<");
    if ty.dtype == DType::Pred {
        // In hexadecimal form, versions of MLIR pack preds differently.
        nested(&mut text, &ty.dims, array.bytes());
    } else if array.size_bytes() > 0 {
        text.push_str("\"0x");
        array.bytes().iter().for_each(|byte| {
            let _ = write!(text, "{byte:02X}");
        });
        text.push('"');
    }
    text.push('>');
    Ok(text)
}

/// Writes preds as nested lists.
fn nested(text: &mut String, dims: &[i64], bytes: &[u8]) {
    let Some((&size, inner)) = dims.split_first() else {
        text.push_str(if bytes[0] == 0 { "false" } else { "true" });
        return;
    };
    if bytes.is_empty() {
        return;
    }
    for (i, bytes) in bytes.chunks(bytes.len() / size as usize).enumerate() {
        text.push_str(if i == 0 { "[" } else { ", " });
        nested(text, inner, bytes);
    }
    text.push(']');
}
