//! Reads the shardings of the results from the module of a compiled program (`HloModuleProto` in xla/service/hlo.proto,
//! `OpSharding` in xla/xla_data.proto).
//!
//! XLA's partitioner does not keep the names of mesh axes in `OpSharding`: it lists the device of every tile. The mesh
//! axes are inferred from the tiles (`tiles.rs`).

use super::axes::MeshAxes;
use super::named;
use super::sharding::Sharding;
use super::tiles::Tiles;
use base::error;
use base::error::Result;
use base::protobuf::fields;

/// Field of `HloModuleProtoWithConfig`: the module.
const HLO_MODULE: u64 = 1;
/// Field of `HloModuleProto`: the sharding of the results, before the module was partitioned.
const SPMD_OUTPUT_SHARDING: u64 = 12;
/// Fields of `OpSharding`.
const TYPE: u64 = 1;
const TILE_ASSIGNMENT_DIMENSIONS: u64 = 3;
const TILE_ASSIGNMENT_DEVICES: u64 = 4;
const TUPLE_SHARDINGS: u64 = 5;
const REPLICATE_ON_LAST_TILE_DIM: u64 = 6;
const LAST_TILE_DIMS: u64 = 8;
const IOTA_RESHAPE_DIMS: u64 = 9;
const IOTA_TRANSPOSE_PERM: u64 = 10;
const NAMED_SHARDING: u64 = 14;
/// Members of `OpSharding.Type` that are read; the others are MAXIMAL (one device has the whole array), MANUAL, UNKNOWN
/// and UNREDUCED.
const REPLICATED: usize = 0;
const TUPLE: usize = 2;
const OTHER: usize = 3;

/// Returns the `HloModuleProto` within a `HloModuleProtoWithConfig`, the format of `PJRT_Executable_OptimizedProgram`
/// if the plugin names it `hlo_with_config`.
pub fn module_of_hlo_with_config(proto: &[u8]) -> Result<&[u8]> {
    let mut module = None;
    for field in fields(proto) {
        if let (HLO_MODULE, value) = field? {
            module = Some(value.bytes()?);
        }
    }
    module.ok_or_else(|| error!(Internal, "there is no module with the configuration"))
}

impl Sharding {
    /// Reads the shardings of the results, which have the ranks `ranks`, from a serialized `HloModuleProto` that was
    /// compiled for a mesh with these axes. The sharding of a result is None if the module does not state it, or if it
    /// does not split by whole mesh axes. Mesh axes of size 1 never occur in the shardings. INTERNAL if the module is
    /// malformed.
    pub fn of_hlo(proto: &[u8], axes: &MeshAxes, ranks: &[usize]) -> Result<Vec<Option<Sharding>>> {
        let mut found = None;
        for field in fields(proto) {
            if let (SPMD_OUTPUT_SHARDING, value) = field? {
                found = Some(OpSharding::read(value.bytes()?)?);
            }
        }
        // A program for one device is not partitioned.
        if axes.device_count() == 1 || ranks.is_empty() {
            return Ok(ranks.iter().map(|&rank| Some(Sharding::replicated(rank))).collect());
        }
        let Some(all) = found else {
            return Ok(vec![None; ranks.len()]);
        };
        if !all.is_tuple() {
            return ranks.iter().map(|&rank| all.sharding(axes, rank)).collect();
        }
        if all.tuple.len() != ranks.len() {
            let (given, wanted) = (all.tuple.len(), ranks.len());
            return Err(error!(Internal, "it has shardings of {given} results; the program has {wanted}"));
        }
        let one = |(proto, &rank): (&&[u8], &usize)| OpSharding::read(proto)?.sharding(axes, rank);
        all.tuple.iter().zip(ranks).map(one).collect()
    }
}

/// A decoded `OpSharding`.
#[derive(Default)]
struct OpSharding<'a> {
    /// Member of `OpSharding.Type`.
    kind: usize,
    /// Number of tiles along each axis, then the sizes of the subgroups of devices that share a tile.
    dims: Vec<usize>,
    /// Device of every tile, row-major over `dims`; empty if `iota_dims` is used.
    devices: Vec<usize>,
    /// Shardings of the members of a tuple.
    tuple: Vec<&'a [u8]>,
    /// True if the last of `dims` is a subgroup in which the array is replicated.
    replicates_on_last: bool,
    /// Kinds of the subgroups in the last entries of `dims`.
    last_kinds: Vec<usize>,
    /// If not empty, the devices are 0, 1, 2, ... in this shape, transposed by `iota_perm`.
    iota_dims: Vec<usize>,
    /// Axis i of the transposed shape is axis `iota_perm[i]` of `iota_dims`.
    iota_perm: Vec<usize>,
    /// Sharding in the newer format (`NamedShardingProto`); if it is present, the other fields are unused.
    named: Option<&'a [u8]>,
}

impl<'a> OpSharding<'a> {
    fn read(proto: &'a [u8]) -> Result<OpSharding<'a>> {
        let mut read = OpSharding::default();
        for field in fields(proto) {
            let (number, value) = field?;
            match number {
                TYPE => read.kind = value.number()? as usize,
                TILE_ASSIGNMENT_DIMENSIONS => value.push_to(&mut read.dims)?,
                TILE_ASSIGNMENT_DEVICES => value.push_to(&mut read.devices)?,
                TUPLE_SHARDINGS => read.tuple.push(value.bytes()?),
                REPLICATE_ON_LAST_TILE_DIM => read.replicates_on_last = value.number()? != 0,
                LAST_TILE_DIMS => value.push_to(&mut read.last_kinds)?,
                IOTA_RESHAPE_DIMS => value.push_to(&mut read.iota_dims)?,
                IOTA_TRANSPOSE_PERM => value.push_to(&mut read.iota_perm)?,
                NAMED_SHARDING => read.named = Some(value.bytes()?),
                _ => {}
            }
        }
        Ok(read)
    }

    fn is_tuple(&self) -> bool {
        self.kind == TUPLE && self.named.is_none()
    }

    /// Returns the sharding of an array of this rank; None if it does not split by whole mesh axes.
    fn sharding(&self, axes: &MeshAxes, rank: usize) -> Result<Option<Sharding>> {
        match (self.named, self.kind) {
            (Some(named), _) => named::sharding(named, axes, rank),
            (None, REPLICATED) => Ok(Some(Sharding::replicated(rank))),
            (None, OTHER) => self.tiled(axes, rank),
            _ => Ok(None),
        }
    }

    /// Returns the sharding of an array that is split into tiles; None if it does not split by whole mesh axes.
    fn tiled(&self, axes: &MeshAxes, rank: usize) -> Result<Option<Sharding>> {
        let subgroups = self.last_kinds.len() + usize::from(self.replicates_on_last);
        if self.dims.len() != rank + subgroups {
            let dims = &self.dims;
            return Err(error!(Internal, "a result of rank {rank} has tiles {dims:?} with {subgroups} subgroups"));
        }
        if self.last_kinds.iter().any(|&kind| kind != REPLICATED) {
            return Ok(None);
        }
        let tiles = product(&self.dims).filter(|&count| count == axes.device_count()).and_then(|count| {
            let devices = self.devices(count)?;
            let strides = strides(&self.dims);
            let tile = |i: usize, axis: usize| i / strides[axis] % self.dims[axis];
            Tiles::new(self.dims[..rank].to_vec(), &devices, count, tile)
        });
        match tiles {
            Some(tiles) => Ok(tiles.sharding(axes)),
            None => Err(error!(Internal, "tiles {:?} do not fit a mesh {axes}", self.dims)),
        }
    }

    /// Returns the device of every tile; None if the transposed shape is malformed or does not have `count` devices.
    fn devices(&self, count: usize) -> Option<Vec<usize>> {
        if self.iota_dims.is_empty() {
            return Some(self.devices.clone());
        }
        if product(&self.iota_dims) != Some(count) || !is_permutation(&self.iota_perm, self.iota_dims.len()) {
            return None;
        }
        let transposed: Vec<usize> = self.iota_perm.iter().map(|&axis| self.iota_dims[axis]).collect();
        let (from, to) = (strides(&self.iota_dims), strides(&transposed));
        let device = |i: usize| -> usize {
            let along = |(axis, &source): (usize, &usize)| i / to[axis] % transposed[axis] * from[source];
            self.iota_perm.iter().enumerate().map(along).sum()
        };
        Some((0..count).map(device).collect())
    }
}

/// Product of the sizes; None if it overflows.
fn product(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size))
}

/// Row-major strides of a shape whose product does not overflow.
fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis];
    }
    strides
}

fn is_permutation(axes: &[usize], rank: usize) -> bool {
    axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Random, hex, packed};
    use super::*;
    use base::error::Code;
    use base::protobuf::{bytes, number};

    /// Reads the shardings of all results; None if one of them is unknown.
    fn of_hlo(proto: &[u8], axes: &MeshAxes, ranks: &[usize]) -> Result<Option<Vec<Sharding>>> {
        Ok(Sharding::of_hlo(proto, axes, ranks)?.into_iter().collect())
    }

    /// The module of the identity of f32[4,4], compiled by JAX 0.10.2 for a mesh data=2,model=2, with the argument
    /// sharded as "model,data".
    const MODULE: &str = "0a066a69745f6964120b6d61696e2e305f73706d641ace010a0b6d61696e2e305f73706d64124a0a0570617261\
        6d1209706172616d657465721a13100b1a0202022a070a020100800101320200003a0312017898028080808030c2020e08031a0202024a\
        02020252020100a2040092050012380a04636f70791204636f70791a13100b1a0202022a070a020100800101320200003a009802818080\
        8030a202058080808030a2040092050022310a13100b1a0202022a070a020100800101320200001213100b1a0202022a070a0201008001\
        01320200001a05706172616d2803308180808030222e0a13100b1a0202022a070a020100800101320200001213100b1a0202022a070a02\
        0100800101320200001a027030280430033a120a100803120c0a0a808080803081808080304200620e08031a0202024a02020252020100\
        720e08031a0202024a020202520201007a18080110041a030a01001a030a01011a030a01021a030a01039201009a0100";

    /// Texts of the shardings that are read from a module with this `OpSharding`.
    fn read(mesh: &str, sharding: &[u8], ranks: &[usize]) -> Result<Option<Vec<String>>> {
        let axes: MeshAxes = mesh.parse().unwrap();
        let module = [bytes(1, b"jit_f"), number(5, 7), bytes(12, sharding), bytes(18, &[])].concat();
        let found = of_hlo(&module, &axes, ranks)?;
        Ok(found.map(|all| all.iter().map(|sharding| sharding.text(&axes)).collect()))
    }

    /// Like [`read`] for one result of rank 2 that has a sharding.
    fn one(mesh: &str, sharding: &[u8]) -> String {
        read(mesh, sharding, &[2]).unwrap().unwrap().remove(0)
    }

    /// An `OpSharding` of type OTHER with these tiles.
    fn tiled(dims: &[usize], rest: &[Vec<u8>]) -> Vec<u8> {
        [number(1, 3), packed(3, dims), rest.concat()].concat()
    }

    fn iota(dims: &[usize], perm: &[usize]) -> Vec<u8> {
        [packed(9, dims), packed(10, perm)].concat()
    }

    #[test]
    fn the_module_of_a_compiler_is_read() {
        let module = hex(MODULE);
        assert_eq!(module.len(), 368);
        let axes: MeshAxes = "data=2,model=2".parse().unwrap();
        let found = of_hlo(&module, &axes, &[2]).unwrap().unwrap();
        assert_eq!(found, [Sharding::parse("", "model,data", &axes, 2).unwrap()]);
        let with_config = [bytes(1, &module), bytes(2, b"config")].concat();
        assert_eq!(module_of_hlo_with_config(&with_config).unwrap(), module);
        assert_eq!(module_of_hlo_with_config(&bytes(2, b"config")).unwrap_err().code, Code::Internal);
    }

    #[test]
    fn shardings_of_a_compiler_are_read() {
        // Each is field 12 of a module that JAX 0.10.2 compiled for this mesh.
        let of = |mesh, sharding| one(mesh, &hex(sharding));
        assert_eq!(of("data=4", "08031a0204014a0104520100"), "data,-");
        assert_eq!(of("data=2,model=4", "08031a0204024a02020452020100"), "model,data");
        assert_eq!(of("data=2,model=4", "08031a0302010430014a0108520100"), "data,-");
        assert_eq!(of("data=2,model=4", "08031a0301040230014a02020452020100"), "-,model");
        assert_eq!(of("a=2,b=2,c=2", "08031a0204024a02040252020100"), "c+a,b");
        assert_eq!(of("data=2,model=4", ""), "-,-");
        let tuple = "08022a0c08031a0202044a01085201002a002a1008031a02040230014a02020452020100";
        let found = read("data=2,model=4", &hex(tuple), &[2, 0, 1]).unwrap().unwrap();
        assert_eq!(found, ["data,model", "", "model"]);
    }

    #[test]
    fn named_shardings_of_a_compiler_are_read() {
        // As above, with the option xla_enable_hlo_sharding_v3.
        let of = |mesh, sharding| one(mesh, &hex(sharding));
        assert_eq!(of("data=4", "7216120a0a080a046461746110041a040a0010011a021001"), "data,-");
        let model_data = "722512150a080a046461746110020a090a056d6f64656c10041a060a02080110011a040a001001";
        assert_eq!(of("data=2,model=4", model_data), "model,data");
        let c_a = "722912150a050a016110020a050a016210020a050a016310021a080a0208020a0010011a060a0208011001";
        assert_eq!(of("a=2,b=2,c=2", c_a), "c+a,b");
        assert_eq!(of("data=2,model=4", "72021200"), "-,-");
        let tuple = "08022a27722512150a080a046461746110020a090a056d6f64656c10041a040a0010011a060a02080110012a002a21721f\
            12150a080a046461746110020a090a056d6f64656c10041a060a0208011001";
        let found = read("data=2,model=4", &hex(tuple), &[2, 0, 1]).unwrap().unwrap();
        assert_eq!(found, ["data,model", "", "model"]);
    }

    #[test]
    fn tiles_of_listed_devices_are_read() {
        let of = |dims: &[usize], devices: &[usize]| one("a=2,b=2", &tiled(dims, &[packed(4, devices)]));
        assert_eq!(of(&[2, 2], &[0, 1, 2, 3]), "a,b");
        assert_eq!(of(&[2, 2], &[0, 2, 1, 3]), "b,a");
        assert_eq!(of(&[4, 1], &[0, 1, 2, 3]), "a+b,-");
        assert_eq!(of(&[1, 4], &[0, 2, 1, 3]), "-,b+a");
        let unpacked: Vec<Vec<u8>> = [0, 2, 1, 3].iter().map(|&device| number(4, device)).collect();
        assert_eq!(one("a=2,b=2", &tiled(&[2, 2], &unpacked)), "b,a");
    }

    #[test]
    fn subgroups_share_tiles() {
        let last = |mesh, dims: &[usize], devices: Vec<u8>| one(mesh, &tiled(dims, &[devices, number(6, 1)]));
        assert_eq!(last("a=2,b=2", &[2, 1, 2], packed(4, &[0, 1, 2, 3])), "a,-");
        assert_eq!(last("a=2,b=2", &[1, 2, 2], packed(4, &[0, 2, 1, 3])), "-,b");
        assert_eq!(last("a=2,b=4", &[1, 2, 4], iota(&[8], &[0])), "-,a");
        assert_eq!(last("a=2,b=4", &[4, 1, 2], iota(&[2, 4], &[1, 0])), "b,-");
        let kinds = |kinds: &[usize]| tiled(&[2, 1, 2, 2], &[iota(&[8], &[0]), packed(8, kinds)]);
        assert_eq!(one("a=2,b=2,c=2", &kinds(&[0, 0])), "a,-");
        assert_eq!(read("a=2,b=2,c=2", &kinds(&[0, 4]), &[2]).unwrap(), None, "manual");
        assert_eq!(read("a=2,b=2,c=2", &kinds(&[6, 0]), &[2]).unwrap(), None, "unreduced");
    }

    #[test]
    fn transposed_iotas_are_read() {
        let of = |dims: &[usize], reshape: &[usize], perm: &[usize]| {
            one("a=2,b=3,c=4", &tiled(dims, &[iota(reshape, perm)]))
        };
        assert_eq!(of(&[4, 6], &[6, 4], &[1, 0]), "c,a+b");
        assert_eq!(of(&[8, 3], &[2, 3, 4], &[0, 2, 1]), "a+c,b");
        assert_eq!(of(&[12, 2], &[2, 12], &[1, 0]), "b+c,a");
        assert_eq!(of(&[1, 24], &[2, 3, 4], &[2, 0, 1]), "-,c+a+b");
        assert_eq!(of(&[3, 8], &[2, 3, 4], &[1, 2, 0]), "b,c+a");
    }

    #[test]
    fn every_sharding_is_read_back_from_its_devices() {
        let mut random = Random(6);
        for mesh in ["a=2,b=2,c=2", "a=2,b=3,c=4", "a=8"] {
            let axes: MeshAxes = mesh.parse().unwrap();
            let all: Vec<u8> = (0..axes.axes().len() as u8).collect();
            for _ in 0..200 {
                let rank = random.below(4);
                let wanted = random.sharding(&all, rank);
                let mut devices: Vec<usize> = (0..axes.device_count()).collect();
                devices.sort_by_key(|&device| wanted.piece_index(&axes, device));
                let mut dims = wanted.pieces(&axes);
                dims.push(axes.device_count() / dims.iter().product::<usize>());
                let proto = tiled(&dims, &[packed(4, &devices), number(6, 1)]);
                let found = read(mesh, &proto, &[rank]).unwrap();
                assert_eq!(found, Some(vec![wanted.text(&axes)]), "{mesh}");
            }
        }
    }

    #[test]
    fn what_whole_axes_do_not_express_is_none() {
        let none = |mesh: &str, sharding: &[u8]| assert_eq!(read(mesh, sharding, &[2]).unwrap(), None, "{sharding:?}");
        none("x=4", &tiled(&[2, 2], &[iota(&[4], &[0])]));
        none("x=4", &tiled(&[2, 1, 2], &[iota(&[4], &[0]), number(6, 1)]));
        none("x=2", &tiled(&[2, 1], &[packed(4, &[1, 0])]));
        none("x=2,y=2", &tiled(&[4, 1], &[packed(4, &[0, 1, 3, 2])]));
        for kind in [1, 4, 5, 6, 7] {
            none("x=2", &[number(1, kind), packed(3, &[1, 1]), packed(4, &[0])].concat());
        }
        // One member of a tuple that cannot be expressed.
        let tuple = [number(1, 2), bytes(5, &[]), bytes(5, &number(1, 5))].concat();
        assert_eq!(read("x=2", &tuple, &[1, 1]).unwrap(), None);
        // Named shardings: half of an axis, a device that has everything, parts of a sum, a tuple.
        let mesh = bytes(2, &bytes(1, &[bytes(1, b"x"), number(2, 4)].concat()));
        let dimension = |reference: &[u8]| bytes(3, &bytes(1, reference));
        let half = dimension(&bytes(2, &[number(1, 1), number(2, 2)].concat()));
        none("x=4", &bytes(14, &[mesh.clone(), half].concat()));
        none("x=4", &bytes(14, &bytes(2, &packed(2, &[3]))));
        none("x=4", &bytes(14, &[mesh.clone(), bytes(5, &[])].concat()));
        none("x=4", &bytes(14, &[mesh, bytes(1, &[])].concat()));
    }

    #[test]
    fn parts_of_the_axes_of_another_mesh_are_whole_axes_of_this_one() {
        // XLA's mesh is y=4, with the devices 0, 2, 1, 3; its two halves are the axes of a mesh b=2,a=2.
        let axis = bytes(1, &[bytes(1, b"y"), number(2, 4)].concat());
        let mesh = bytes(2, &[axis, packed(2, &[0, 2, 1, 3])].concat());
        let part = |pre_size, size| bytes(3, &bytes(1, &bytes(2, &[number(1, pre_size), number(2, size)].concat())));
        let of = |parts: &[Vec<u8>]| one("a=2,b=2", &bytes(14, &[mesh.clone(), parts.concat()].concat()));
        assert_eq!(of(&[part(1, 2), part(2, 2)]), "b,a");
        assert_eq!(of(&[part(2, 2)]), "a,-");
        assert_eq!(of(&[bytes(3, &bytes(1, &[]))]), "b+a,-");
    }

    #[test]
    fn modules_without_a_sharding_have_none() {
        let axes: MeshAxes = "x=2".parse().unwrap();
        assert_eq!(of_hlo(&bytes(1, b"jit_f"), &axes, &[1]).unwrap(), None);
        assert_eq!(of_hlo(&[], &axes, &[]).unwrap(), Some(vec![]));
        let one: MeshAxes = "x=1".parse().unwrap();
        assert_eq!(of_hlo(&[], &one, &[1, 0]).unwrap().unwrap(), [1, 0].map(Sharding::replicated));
        let replicated = read("x=2", &[], &[2, 0]).unwrap().unwrap();
        assert_eq!(replicated, ["-,-", ""], "one sharding for all results");
    }

    #[test]
    fn malformed_shardings_are_errors() {
        let refused = |mesh: &str, sharding: &[u8], ranks: &[usize]| {
            let error = read(mesh, sharding, ranks).unwrap_err();
            assert_eq!(error.code, Code::Internal);
            error.message.to_string()
        };
        let tiles = |dims: &[usize], devices: &[usize]| tiled(dims, &[packed(4, devices)]);
        assert_eq!(refused("x=2", &tiles(&[2], &[0, 1]), &[2]), "a result of rank 2 has tiles [2] with 0 subgroups");
        assert_eq!(refused("x=2", &tiles(&[4, 1], &[0, 1, 2, 3]), &[2]), "tiles [4, 1] do not fit a mesh x=2");
        refused("x=2", &tiles(&[2, 1], &[0, 0]), &[2]);
        refused("x=2", &tiles(&[2, 1], &[0, 2]), &[2]);
        refused("x=2", &tiles(&[2, 1], &[0]), &[2]);
        refused("x=2", &tiles(&[0, 1], &[]), &[2]);
        refused("x=2", &tiles(&[usize::MAX, 2], &[0, 1]), &[2]);
        refused("x=4", &tiled(&[4, 1], &[iota(&[2, 2], &[0, 0])]), &[2]);
        refused("x=4", &tiled(&[4, 1], &[iota(&[2, 2], &[0])]), &[2]);
        refused("x=4", &tiled(&[4, 1], &[iota(&[2, 3], &[0, 1])]), &[2]);
        let tuple = [number(1, 2), bytes(5, &[])].concat();
        assert_eq!(refused("x=2", &tuple, &[1, 1]), "it has shardings of 1 results; the program has 2");
        refused("x=2", &number(3, 1)[..1], &[1]);
        // Named shardings: too many dimensions, an axis that the mesh does not have, another number of devices, parts
        // that do not divide their axis.
        let mesh = bytes(2, &bytes(1, &number(2, 4)));
        let named = |rest: Vec<u8>| bytes(14, &[mesh.clone(), rest].concat());
        refused("x=4", &named([bytes(3, &[]), bytes(3, &[])].concat()), &[1]);
        refused("x=4", &named(bytes(3, &bytes(1, &number(1, 1)))), &[1]);
        refused("x=2", &named(bytes(3, &bytes(1, &[]))), &[1]);
        for (pre_size, size) in [(3, 1), (0, 2), (2, 0), (2, 4), (u64::MAX, 2)] {
            let part = bytes(2, &[number(1, pre_size), number(2, size)].concat());
            refused("x=4", &named(bytes(3, &bytes(1, &part))), &[1]);
        }
        refused("x=4", &named(bytes(3, &bytes(1, &[]).repeat(40))), &[1]);
    }

    #[test]
    fn truncated_and_random_modules_never_panic() {
        let axes: MeshAxes = "data=2,model=2".parse().unwrap();
        let module = hex(MODULE);
        for end in 0..module.len() {
            let _ = of_hlo(&module[..end], &axes, &[2]);
        }
        let named = hex("722512150a080a046461746110020a090a056d6f64656c10021a060a02080110011a040a001001");
        let tiled = hex("08031a0302010230014a02020252020100");
        let mut random = Random(7);
        for _ in 0..20_000 {
            let mut sharding = [&named, &tiled][random.below(2)].clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(sharding.len());
                sharding[at] = random.below(256) as u8;
            }
            let _ = read("data=2,model=2", &sharding, &[2]);
        }
    }
}
