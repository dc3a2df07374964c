//! Damaged programs: bytes of the samples in `c_tests/programs/data` are changed, removed, repeated and mixed, and
//! operations and attributes of modules are exchanged. Each result is described and imported, and what is imported is
//! evaluated if it is small. A refusal is INVALID_ARGUMENT, UNIMPLEMENTED or RESOURCE_EXHAUSTED with a message; nothing
//! panics.
//!
//! `LXLA_DAMAGED_PROGRAMS` sets their number, `LXLA_DAMAGED_SEED` the first seed. The damaged program of a failure is
//! written to the temporary folder. With `LXLA_DAMAGED_LAST`, each program is written to that file before it is read,
//! for those that end the process.

#[path = "../meshes/common.rs"]
#[allow(dead_code)]
mod common;

use base::error::{Code, Error};
use base::types::TensorType;
use common::{Random, number};
use lowering::interpret;
use mesh::MeshAxes;
use native::Array;
use programs::import::{self, Program, Wanted};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of elements up to which values are evaluated.
const MOST_ELEMENTS: usize = 1 << 12;

/// The samples: their bytes.
fn samples() -> Vec<Vec<u8>> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_program =
                |name: &str| [".jax", ".mlirbc", ".mlir", ".bytecode"].iter().any(|end| name.ends_with(end));
            if path.is_dir() {
                collect(&path, found);
            } else if is_program(&path.to_string_lossy()) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["c_tests/programs/data", "tests/data"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    }
    found.sort();
    found.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

const PIECES: [&str; 12] = [
    "tensor<?xf32>", "-1", "9223372036854775807", "dense<", "{", "}", "0", "tensor<f32>", "<[2]>", "%0", "\"x\"", "i64",
];

/// A sample with some changes.
fn damaged(random: &mut Random, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut data = samples[random.below(samples.len())].clone();
    for _ in 0..[1, 1, 2, 4, 16][random.below(5)] {
        let at = random.below(data.len() + 1);
        let length = [1, 1, 2, 8, 64][random.below(5)].min(data.len() - at);
        match random.below(7) {
            0 if length > 0 => data[at] ^= 1 << random.below(8),
            1 if length > 0 => data[at] = [0, 1, 0x7F, 0x80, 0xFF, b'<', b'(', b'9'][random.below(8)],
            2 => drop(data.drain(at..at + length)),
            3 => {
                let piece = data[at..at + length].repeat([1, 2, 50][random.below(3)]);
                data.splice(at..at, piece);
            }
            4 => drop(data.splice(at..at + length, PIECES[random.below(PIECES.len())].bytes())),
            5 => {
                let other = &samples[random.below(samples.len())];
                let start = random.below(other.len());
                let piece = other[start..(start + length).min(other.len())].to_vec();
                data.splice(at..at + length, piece);
            }
            _ => data.truncate(at),
        }
    }
    data
}

/// Changes the structure of a module: operations exchange operands, types and attributes.
fn shuffled(random: &mut Random, program: &mut Program) {
    let module = &mut program.module;
    let count = module.types.len();
    for _ in 0..1 + random.below(4) {
        if count > 0 && random.below(4) == 0 {
            module.types[random.below(count)] = module.types[random.below(count)].clone();
        }
        let mut regions: Vec<_> = module.operations.iter_mut().flat_map(|operation| &mut operation.regions).collect();
        // Goes down by chance.
        while let Some(place) = (!regions.is_empty()).then(|| random.below(regions.len())) {
            let region = regions.swap_remove(place);
            let Some(block) = region.blocks.first_mut().filter(|block| !block.operations.is_empty()) else { break };
            let [a, b] = [(); 2].map(|()| random.below(block.operations.len()));
            let is_leaf = block.operations.iter().all(|operation| operation.regions.is_empty());
            if !is_leaf && random.below(2) == 0 {
                regions = block.operations.iter_mut().flat_map(|operation| &mut operation.regions).collect();
                continue;
            }
            match random.below(6) {
                0 => block.operations.swap(a, b),
                1 => block.operations[a].attributes = block.operations[b].attributes.clone(),
                2 => block.operations[a].name = block.operations[b].name.clone(),
                3 => block.operations[a].operands = block.operations[b].operands.clone(),
                4 => drop(block.operations[a].operands.pop()),
                _ => block.operations[a].operands.reverse(),
            }
            break;
        }
    }
}

/// Whether a failure is a refusal.
fn check(e: &Error) {
    let is_refusal = matches!(e.code, Code::InvalidArgument | Code::Unimplemented | Code::ResourceExhausted);
    assert!(is_refusal && !e.message.is_empty(), "{e}");
}

/// Describes, imports and evaluates a program. Returns whether it was imported.
fn used(random: &mut Random, program: &Program) -> bool {
    if let Err(e) = import::describe(program) {
        check(&e);
    }
    let mesh: Option<MeshAxes> = [None, Some("a=2,b=2")][random.below(2)].map(|text| text.parse().unwrap());
    let shapes = (random.below(3) == 0).then(|| [[3, 4], [4, 3]].iter().map(|dims| dims[..].into()).collect());
    match import::import(&program.module, &Wanted { mesh, shapes, ..Wanted::default() }) {
        Ok(made) => {
            let zeros = |ty: &TensorType| Array::from_bytes(ty, &vec![0; ty.size_bytes()]).unwrap();
            let is_small = made.body.decode().0.iter().all(|value| value.ty.elements() <= MOST_ELEMENTS);
            // A damaged loop may never end.
            let has_bodies = made.body.decode().0.iter().any(|value| !value.bodies.is_empty());
            if is_small && !has_bodies && !made.body.has_collectives() {
                let inputs: Vec<Array> = made.body.parameters().iter().map(zeros).chain(made.constants).collect();
                let _ = interpret::run(made.body.program(), made.body.scalars(), &inputs);
            }
            true
        }
        Err(e) => {
            check(&e);
            false
        }
    }
}

#[test]
fn damaged_programs_are_refused_or_imported() {
    let samples = samples();
    assert!(samples.len() >= 8, "{} samples", samples.len());
    let last = std::env::var_os("LXLA_DAMAGED_LAST");
    let (first, count) = (number("LXLA_DAMAGED_SEED", 0), number("LXLA_DAMAGED_PROGRAMS", 3000));
    let mut imported = 0;
    for seed in first..first + count {
        let mut random = Random(seed << 8 | 1);
        let is_by_structure = random.below(3) == 0;
        let data = match is_by_structure {
            true => samples[random.below(samples.len())].clone(),
            false => damaged(&mut random, &samples),
        };
        if let Some(last) = &last {
            std::fs::write(last, &data).unwrap();
        }
        let attempt = catch_unwind(AssertUnwindSafe(|| match import::read(Arc::new(data.clone())) {
            Ok(mut program) => {
                if is_by_structure {
                    shuffled(&mut random, &mut program);
                }
                used(&mut random, &program)
            }
            Err(e) => {
                check(&e);
                false
            }
        }));
        imported += u64::from(attempt.unwrap_or_else(|panic| {
            let path = std::env::temp_dir().join(format!("lxla_damaged_{seed}"));
            std::fs::write(&path, &data).unwrap();
            println!("seed {seed}: {}", path.display());
            std::panic::resume_unwind(panic)
        }));
    }
    println!("{imported} of {count} damaged programs were imported");
    assert!(imported > 0 && imported < count, "{imported} of {count} were imported: the test proves little");
}
