//! Files of JAX, files that are wrong, and files that are written.

use super::*;

fn sample(name: &str) -> Result<Exported> {
    let path = format!("{}/../../tests/data/mlir/{name}", env!("CARGO_MANIFEST_DIR"));
    read(Arc::new(std::fs::read(path).unwrap()))
}

#[test]
fn a_training_step() {
    let exported = sample("train.jax").unwrap();
    assert_eq!((&*exported.name, exported.calling_convention, exported.devices), ("<lambda>", 10, 1));
    assert_eq!(exported.platforms, ["cpu"]);
    assert_eq!(exported.kept, [0, 1, 2, 3, 4]);
    assert_eq!(exported.parameters.len(), 5);
    assert_eq!(exported.parameters[0].element, Some(Element::DType(DType::F32)));
    assert_eq!(exported.parameters[0].dims, ["4", "16"]);
    assert_eq!(exported.parameters[4], Value { element: None, dtype: "key<fry>", dims: vec![] });
    assert_eq!(exported.results.len(), 3);
    let positional = Tree::Tuple(vec![Tree::Leaf; 5]);
    assert_eq!(exported.parameter_tree, Tree::Tuple(vec![positional, Tree::Dict(vec![])]));
    assert_eq!(exported.result_tree, Tree::Tuple(vec![Tree::List(vec![Tree::Leaf; 2]), Tree::Leaf]));
    let module = super::super::bytecode::read(Arc::new(exported.artifact)).unwrap();
    assert_eq!(module.operations.len(), 6);
}

#[test]
fn free_sizes_and_platforms() {
    assert_eq!(sample("batch.jax").unwrap().parameters[0].dims, ["b", "4"]);
    assert_eq!(sample("platforms.jax").unwrap().platforms, ["cpu", "cuda", "tpu"]);
    assert_eq!(sample("sharded.jax").unwrap().devices, 4);
}

/// Every file with one changed byte, and every prefix, is read or refused.
#[test]
fn bad_files_are_refused() {
    let path = format!("{}/../../tests/data/mlir/batch.jax", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(path).unwrap();
    for at in (0..file.len()).filter(|at| !(400..2800).contains(at)) {
        for value in [0, 1, 0x7F, 0x80, 0xFF, file[at] ^ 4] {
            let mut changed = file.clone();
            changed[at] = value;
            let _ = read(Arc::new(changed));
        }
        assert!(at > 3000 || read(Arc::new(file[..at].to_vec())).is_err());
    }
    let error = read(Arc::new(b"ML\xEFR".to_vec())).unwrap_err();
    assert_eq!(error.code, error::Code::InvalidArgument);
}

/// What is written is read as the same.
#[test]
fn written_files_are_those_that_were_read() {
    for name in ["train.jax", "batch.jax", "platforms.jax", "sharded.jax"] {
        let before = sample(name).unwrap();
        assert_eq!(read(Arc::new(write(&before).unwrap())).unwrap(), before, "{name}");
    }
    let vector = || Value::new(Some(DType::F32), &[3]).unwrap();
    let artifact = |byte| Part::new(vec![byte; 1001]);
    let mut before = Exported::new("f", &["cpu", "tpu"], vec![vector(), vector()], vec![vector()], artifact(1));
    let cotangents = vec![vector(), Value::new(None, &[3]).unwrap()];
    before.vjp = Some(Exported::new("f_vjp", &["cpu", "tpu"], vec![vector(); 3], cotangents, artifact(2)).into());
    before.parameter_tree = Tree::Tuple(vec![
        Tree::Custom("pair".into(), b"data".to_vec(), vec![Tree::Leaf, Tree::None]),
        Tree::Dict(vec![("w".into(), Tree::List(vec![Tree::Leaf]))]),
    ]);
    let after = read(Arc::new(write(&before).unwrap())).unwrap();
    assert_eq!(after, before);
    assert_eq!(after.vjp.unwrap().results[1].dtype, "float0");
}
