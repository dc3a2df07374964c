//! Partitioning of a program over the devices of a mesh.

use super::Signature;
use base::error;
use base::error::Result;
use base::types::TensorType;
use mesh::{Mesh, Sharding};
use std::sync::Arc;

/// Mesh of a program, and the shardings of its parameters and outputs. The types in the [`Signature`] are those of the
/// whole arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    /// The mesh; its ordinals are devices of the engine.
    pub mesh: Arc<Mesh>,
    /// Sharding of each parameter, as stated in the program's text.
    pub parameters: Vec<Sharding>,
    /// Sharding of each output, as stated in the program's text. None if it is not stated: the compiler chooses it, see
    /// [`super::Executable::output_shardings`].
    pub outputs: Vec<Option<Sharding>>,
}

impl Partitions {
    /// Returns INVALID_ARGUMENT unless these are partitions of `signature` for an engine with `device_count` devices.
    pub fn check(&self, signature: &Signature, device_count: usize) -> Result<()> {
        let Mesh { axes, ordinals } = &*self.mesh;
        if ordinals.is_empty() || ordinals.len() != axes.device_count() {
            return Err(error!(InvalidArgument, "the mesh {axes} has {} devices", ordinals.len()));
        }
        if let Some(ordinal) = ordinals.iter().find(|&&ordinal| ordinal >= device_count) {
            return Err(error!(
                InvalidArgument,
                "the mesh {axes} has device {ordinal}; the engine has {device_count} devices"
            ));
        }
        let parameters: Vec<Option<&Sharding>> = self.parameters.iter().map(Some).collect();
        let outputs: Vec<Option<&Sharding>> = self.outputs.iter().map(Option::as_ref).collect();
        self.check_list("parameter", &signature.parameters, &parameters)?;
        self.check_list("output", &signature.outputs, &outputs)
    }

    fn check_list(&self, what: &str, types: &[TensorType], shardings: &[Option<&Sharding>]) -> Result<()> {
        if types.len() != shardings.len() {
            return Err(error!(
                InvalidArgument,
                "{} {what} shardings given; the program has {} {what}s",
                shardings.len(),
                types.len()
            ));
        }
        for (i, (ty, sharding)) in types.iter().zip(shardings).enumerate() {
            if let Some(sharding) = sharding {
                sharding.piece_dims(&format!("{what} {i}"), &self.mesh.axes, &ty.dims)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;
    use base::types::DType;
    use mesh::MeshAxes;

    fn partitions(parameters: &[&str], outputs: &[Option<&str>]) -> Partitions {
        let axes = MeshAxes::new(&["x", "y"], &[2, 2]).unwrap();
        let sharding = |text: &str| Sharding::parse("sharding", text, &axes, text.split(',').count()).unwrap();
        Partitions {
            parameters: parameters.iter().map(|&text| sharding(text)).collect(),
            outputs: outputs.iter().map(|text| text.map(sharding)).collect(),
            mesh: Arc::new(Mesh::new(axes.clone(), None, 4).unwrap()),
        }
    }

    fn signature(parameters: &[&[i64]], outputs: &[&[i64]]) -> Signature {
        let types = |list: &[&[i64]]| list.iter().map(|&dims| TensorType::new(DType::F32, dims)).collect();
        Signature { parameters: types(parameters), outputs: types(outputs), donors: vec![], partitions: None }
    }

    #[test]
    fn partitions_that_do_not_fit_the_signature_are_refused() {
        let of = |partitions: &Partitions, parameters: &[&[i64]], outputs: &[&[i64]], devices: usize| {
            let refused = partitions.check(&signature(parameters, outputs), devices).err()?;
            assert_eq!(refused.code, Code::InvalidArgument);
            Some(refused.message.to_string())
        };
        let good = partitions(&["x,-", "x+y"], &[Some("-,y"), None]);
        let (parameters, outputs): (&[&[i64]], &[&[i64]]) = (&[&[4, 3], &[8]], &[&[3, 2], &[7]]);
        assert_eq!(of(&good, parameters, outputs, 4), None);
        assert_eq!(
            of(&good, parameters, outputs, 3).unwrap(),
            "the mesh x=2,y=2 has device 3; the engine has 3 devices"
        );
        assert_eq!(
            of(&good, &[&[4, 3]], outputs, 4).unwrap(),
            "2 parameter shardings given; the program has 1 parameters"
        );
        assert!(of(&good, &[&[4, 3], &[6]], outputs, 4).unwrap().starts_with("parameter 1: "), "6 is split by 4");
        assert!(of(&good, parameters, &[&[3, 3], &[7]], 4).unwrap().starts_with("output 0: "), "3 is split by 2");
        assert!(of(&good, parameters, &[&[3], &[7]], 4).unwrap().starts_with("output 0: "), "the rank differs");
    }
}
