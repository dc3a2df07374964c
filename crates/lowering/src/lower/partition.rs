//! Shardings of a partitioned program: of its parameters, which are part of the key, and of the outputs whose sharding
//! is fixed.

use super::aliasing::Donation;
use engine::Partitions;
use ir::Instruction;
use mesh::{Mesh, Sharding};
use ops::mesh::stated_sharding;
use std::sync::Arc;

/// First word of the key of a partitioned program. No program begins with it.
const PARTITIONED: u32 = u32::MAX - 1;

/// Mesh for which a program is compiled, and the shardings of its parameters.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Mesh on which the program runs.
    pub mesh: Arc<Mesh>,
    /// Sharding of each parameter.
    pub parameters: Vec<Sharding>,
    /// Sharding of each output, set if all must be stated because XLA chose one that mesh axes cannot express. Not part
    /// of the key: it follows from the rest.
    pub outputs: Option<Vec<Sharding>>,
}

impl Layout {
    /// Returns the key of a program with this layout: the names and sizes of the mesh's axes, its devices, the
    /// parameters' shardings, then the program's words. Equal in every process.
    pub fn key(&self, program: &[u32]) -> Vec<u32> {
        let axes = self.mesh.axes.to_string();
        let mut key = Vec::with_capacity(program.len() + 2 * self.parameters.len() + axes.len() + 8);
        key.extend([PARTITIONED, axes.len() as u32]);
        key.extend(axes.bytes().map(u32::from));
        key.extend(self.mesh.ordinals.iter().map(|&ordinal| ordinal as u32));
        key.push(self.parameters.len() as u32);
        for sharding in &self.parameters {
            let words = sharding.words();
            key.push(words.len() as u32);
            words.for_each(|word| key.extend([word as u32, (word >> 32) as u32]));
        }
        key.extend_from_slice(program);
        key
    }

    /// Returns the shardings of a program of `values`. An output that is a sharding constraint has its sharding; an
    /// output written over a donor has the donor's sharding; XLA chooses the others.
    pub(super) fn partitions(
        &self,
        values: &[Instruction],
        outputs: &[usize],
        donors: &[usize],
        donations: &[Donation],
        packs: usize,
    ) -> Partitions {
        let of_donor = |output: usize| {
            let donor = donations.iter().position(|donation| *donation == Donation::Output(output))?;
            Some(self.parameters[donors[donor]].clone())
        };
        let stated = |(output, &position): (usize, &usize)| {
            stated_sharding(&values[position])
                .or_else(|| of_donor(output))
                .or_else(|| self.outputs.as_ref().map(|outputs| outputs[output].clone()))
        };
        let mut parameters = self.parameters.clone();
        // Vectors of packed scalars are replicated.
        parameters.extend((0..packs).map(|_| Sharding::replicated(1)));
        Partitions { mesh: self.mesh.clone(), parameters, outputs: outputs.iter().enumerate().map(stated).collect() }
    }

    /// Leaves the aliasing to XLA for donors that are paired with an output of another sharding.
    pub(super) fn unpair(
        &self,
        values: &[Instruction],
        outputs: &[usize],
        donors: &[usize],
        donations: &mut [Donation],
    ) {
        for (donation, &donor) in donations.iter_mut().zip(donors) {
            if let Donation::Output(output) = *donation
                && stated_sharding(&values[outputs[output]]).is_some_and(|stated| stated != self.parameters[donor])
            {
                *donation = Donation::Any;
            }
        }
    }
}
