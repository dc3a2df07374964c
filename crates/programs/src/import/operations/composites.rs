//! Composites: operations that a module names and gives a decomposition of.

use super::super::attributes::Attributes;
use super::{Call, Results, chlo};
use base::error;
use base::error::{Code, Result, quoted};
use mlir::Attribute;

/// `stablehlo.composite`: the library's own operation for a name of CHLO, otherwise the decomposition.
pub fn composite(call: Call) -> Result<Results> {
    let name = call.attributes.optional_text("name")?.unwrap_or_default();
    if let Some(name) = name.strip_prefix("chlo.") {
        let dictionary = match call.attributes.get("composite_attributes") {
            Some(Attribute::Dictionary(dictionary)) => dictionary,
            // It has none that an operation of CHLO reads.
            _ => &call.operation.attributes,
        };
        let (importer, operation) = (&mut *call.importer, call.operation);
        let own = Call { importer, operation, operands: call.operands, attributes: Attributes(dictionary) };
        match chlo::record(name, own) {
            Err(e) if e.code == Code::Unimplemented => {}
            made => return made,
        }
    }
    if call.attributes.get("decomposition").is_none() {
        return Err(error!(Unimplemented, "composite {} without a decomposition", quoted(name)));
    }
    let decomposition = call.attributes.symbol("decomposition")?;
    call.importer.call(decomposition, call.operands).map(Results::from_vec)
}
