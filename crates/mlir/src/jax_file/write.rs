//! Writer of files of exported functions.

use super::flat::{self, Field, Table};
use super::{DTYPES, Exported, Tree, Value, slot};
use base::error;
use base::error::Result;

/// The version of the schema that JAX writes in files that all its readers take.
const SCHEMA: u16 = 3;
/// Most bytes of a file: offsets have 32 bits, some of them a sign.
const MOST_BYTES: usize = 1 << 31;

/// Returns a file that `jax.export.deserialize` reads.
pub fn write(exported: &Exported) -> Result<Vec<u8>> {
    let mut bytes = 0;
    let mut next = Some(exported);
    while let Some(part) = next {
        bytes += part.artifact.as_ref().len() + 64 * (part.parameters.len() + part.results.len()) + (1 << 16);
        next = part.vjp.as_deref();
    }
    if bytes > MOST_BYTES {
        return Err(error!(InvalidArgument, "file of jax.export: {bytes} bytes, a file has at most {MOST_BYTES}"));
    }
    Ok(flat::file(&table(exported)?))
}

/// Parameters and results are there twice: JAX of April 2026 replaced lists by indices into a list of all.
fn table(exported: &Exported) -> Result<Table<'_>> {
    let Exported { parameters, results, .. } = exported;
    let all = parameters.iter().chain(results);
    let numbers = |first: usize, count: usize| Field::Numbers32((first as u32..(first + count) as u32).collect());
    let unspecified = |count: usize| Field::Tables((0..count).map(|_| Table(vec![(0, Field::U8(0))])).collect());
    let none = |count: usize| Field::Numbers32(vec![0; count]);
    let kept: Option<Vec<u16>> = exported.kept.iter().map(|&index| index.try_into().ok()).collect();
    let kept = kept.ok_or_else(|| error!(InvalidArgument, "file of jax.export: it has more than 65536 parameters"))?;
    let platforms = exported.platforms.iter().map(String::as_str).collect();
    let mut fields = vec![
        (slot::SCHEMA, Field::U16(SCHEMA)),
        (slot::NAME, Field::Text(&exported.name)),
        (slot::PARAMETER_TREE, Field::Table(tree(&exported.parameter_tree))),
        (slot::PARAMETERS, Field::Tables(parameters.iter().map(value).collect::<Result<_>>()?)),
        (slot::RESULT_TREE, Field::Table(tree(&exported.result_tree))),
        (slot::RESULTS, Field::Tables(results.iter().map(value).collect::<Result<_>>()?)),
        (slot::DEVICES_OF_16_BITS, Field::U16(exported.devices.try_into().unwrap_or(0))),
        (slot::PARAMETER_SHARDINGS, unspecified(parameters.len())),
        (slot::RESULT_SHARDINGS, unspecified(results.len())),
        (slot::PLATFORMS, Field::Texts(platforms)),
        (slot::ARTIFACT, Field::Bytes(exported.artifact.as_ref())),
        (slot::CALLING_CONVENTION, Field::U16(exported.calling_convention)),
        (slot::KEPT, Field::Numbers16(kept)),
        (slot::USES_GLOBAL_CONSTANTS, Field::U8(exported.uses_global_constants.into())),
    ];
    if let Some(vjp) = &exported.vjp {
        fields.push((slot::VJP, Field::Table(table(vjp)?)));
    }
    fields.extend([
        (slot::DEVICES, Field::U32(exported.devices)),
        (slot::VALUES, Field::Tables(all.map(value).collect::<Result<_>>()?)),
        (slot::PARAMETER_INDICES, numbers(0, parameters.len())),
        (slot::RESULT_INDICES, numbers(parameters.len(), results.len())),
        (slot::PARAMETER_SHARDING_INDICES, none(parameters.len())),
        (slot::RESULT_SHARDING_INDICES, none(results.len())),
    ]);
    Ok(Table(fields))
}

fn value(value: &Value) -> Result<Table<'_>> {
    let Some(number) = DTYPES.iter().position(|(name, _)| *name == value.dtype) else {
        return Err(error!(InvalidArgument, "file of jax.export: JAX has no element type {}", value.dtype));
    };
    let dims = value.dims.iter().map(String::as_str).collect();
    Ok(Table(vec![(0, Field::U8(0)), (1, Field::Texts(dims)), (2, Field::U8(number as u8))]))
}

fn with<'t>(kind: u8, children: Vec<Table<'t>>) -> Vec<(usize, Field<'t>)> {
    vec![(0, Field::U8(kind)), (1, Field::Tables(children))]
}

fn tree(structure: &Tree) -> Table<'_> {
    match structure {
        Tree::Leaf => Table(vec![(0, Field::U8(0))]),
        Tree::None => Table(vec![(0, Field::U8(1))]),
        Tree::Tuple(parts) => Table(with(2, parts.iter().map(tree).collect())),
        Tree::List(parts) => Table(with(3, parts.iter().map(tree).collect())),
        Tree::Dict(entries) => {
            let mut fields = with(4, entries.iter().map(|(_, child)| tree(child)).collect());
            fields.push((2, Field::Texts(entries.iter().map(|(name, _)| name.as_str()).collect())));
            Table(fields)
        }
        Tree::Custom(name, data, parts) => {
            let mut fields = with(5, parts.iter().map(tree).collect());
            fields.extend([(3, Field::Text(name)), (4, Field::Bytes(data))]);
            Table(fields)
        }
    }
}
