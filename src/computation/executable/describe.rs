//! Descriptions of executables.

use super::compile::{Code, Executable};
use base::types::TensorType;
use ir::Op;
use serde_json::{Value, json};

impl Executable {
    /// Describes the executable as JSON.
    pub fn describe(&self) -> String {
        let is_operation = |op: Op| !matches!(op, Op::Leaf | Op::Result);
        let operations = self.body.decode().0.iter().filter(|value| is_operation(value.op)).count();
        let mut parameters = listed(self.parameters());
        for (parameter, &donated) in parameters.iter_mut().zip(&self.donated) {
            parameter["donated"] = donated.into();
        }
        if let Code::Engine { layout: Some(layout), .. } = &self.code {
            for (parameter, sharding) in parameters.iter_mut().zip(&layout.parameters) {
                parameter["sharding"] = sharding.text(&layout.mesh.axes).into();
            }
        }
        let estimate = match &self.code {
            Code::Native { .. } => None,
            Code::Engine { compiled, .. } => compiled.executable.cost(),
        };
        let cost = match estimate {
            Some(of) => json!({ "flops": of.flops, "bytes_accessed": of.bytes, "source": "plugin" }),
            None => {
                let of = lowering::cost::cost(&self.body);
                json!({ "flops": of.flops, "bytes_accessed": of.bytes, "source": "counted" })
            }
        };
        let (compile, memory) = match &self.code {
            Code::Native { .. } => (Value::Null, Value::Null),
            Code::Engine { compiled, .. } => {
                let (cost, memory) = (&compiled.known.cost, &compiled.memory);
                let compile = json!({
                    "number": compiled.known.number,
                    "nanoseconds": cost.nanoseconds,
                    "from_disk": cost.is_from_disk,
                });
                let memory = json!({
                    "argument_bytes": memory.arguments,
                    "output_bytes": memory.outputs,
                    "alias_bytes": memory.aliases,
                    "temp_bytes": memory.temporaries,
                    "code_bytes": memory.code,
                });
                (compile, memory)
            }
        };
        json!({
            "name": self.name.to_string(),
            "device": self.owner.place.to_string(),
            "parameters": parameters,
            "results": listed(self.results()),
            "captured": listed(self.body.captures()),
            "operations": operations,
            "compile": compile,
            "memory": memory,
            "cost": cost,
        })
        .to_string()
    }
}

fn listed(types: &[TensorType]) -> Vec<Value> {
    types.iter().map(|ty| json!({ "dtype": ty.dtype.to_string(), "dims": ty.dims.to_vec() })).collect()
}
