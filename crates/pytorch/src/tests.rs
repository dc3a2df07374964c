//! Samples that PyTorch wrote, and damaged ones.

use crate::archive::Archive;
use crate::{Argument, Element, InputKind, OutputKind, Program, Size, read};
use std::path::PathBuf;

fn sample(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../c_tests/programs/pytorch");
    std::fs::read(folder.join(name)).unwrap()
}

fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = Archive::read(bytes, 0..bytes.len()).unwrap();
    archive.names().map(|name| (name.to_string(), archive.bytes(name).unwrap().to_vec())).collect()
}

/// Writes a zip file, all of whose entries have this compression method and these flags.
fn zip_of(entries: &[(String, Vec<u8>)], method: u16, flags: u16) -> Vec<u8> {
    let (mut made, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in entries {
        let offset = made.len() as u32;
        let size = (bytes.len() as u32).to_le_bytes();
        let mut fields = Vec::new();
        fields.extend([10, 0]);
        fields.extend(flags.to_le_bytes());
        fields.extend(method.to_le_bytes());
        fields.extend([0; 4]);
        fields.extend(rawzip::crc32(bytes).to_le_bytes());
        fields.extend([size, size].concat());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        made.extend([b"PK\x03\x04", &fields[..], name.as_bytes(), bytes].concat());
        directory
            .extend([b"PK\x01\x02\x00\x00", &fields[..], &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat());
    }
    let start = made.len() as u32;
    let count = (entries.len() as u16).to_le_bytes();
    let end = [&count[..], &count, &(directory.len() as u32).to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat();
    [&made[..], &directory, b"PK\x05\x06\x00\x00\x00\x00", &end].concat()
}

/// The message of a file that is refused, with whether it is UNSUPPORTED.
fn refused(bytes: &[u8]) -> (bool, String) {
    let error = read(bytes, None).unwrap_err();
    (error.is_unsupported, error.message)
}

/// Reads a sample after a change of its entries.
fn changed(name: &str, change: impl Fn(&str, &mut Vec<u8>)) -> Vec<u8> {
    let mut all = entries(&sample(name));
    all.iter_mut().for_each(|(name, bytes)| change(name, bytes));
    zip_of(&all, 0, 0)
}

/// Reads a sample after a text of its program was replaced.
fn replaced(name: &str, from: &str, to: &str) -> Vec<u8> {
    changed(name, |entry, bytes| {
        if entry.ends_with(".json") {
            let text = String::from_utf8(bytes.clone()).unwrap();
            *bytes = text.replace(from, to).into_bytes();
        }
    })
}

const SAMPLES: [&str; 17] = [
    "bert.pt2", "bf16.pt2", "cnn_train.pt2", "control.pt2", "encoder.pt2", "gpt2.pt2", "joint.pt2", "llama_core.pt2",
    "lstm.pt2", "mlp.pt2", "mobile_core.pt2", "old_2.4.1.pt2", "old_2.6.0.pt2", "old_2.8.0.pt2", "tree.pt2",
    "unet_core.pt2", "views.pt2",
];

fn floats(program: &Program, name: &str, file: &[u8]) -> Vec<f32> {
    let stored = &program.stored[name];
    assert_eq!(stored.element, Element::F32);
    stored.verify(file).unwrap();
    let bytes = stored.read(file);
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn all_samples_are_read() {
    for name in SAMPLES {
        let file = sample(name);
        let program = read(&file, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(program.graph.nodes.len() > 3 && !program.outputs.is_empty(), "{name}");
        assert_eq!(program.inputs.len(), program.graph.inputs.len(), "{name}");
        assert_eq!(program.outputs.len(), program.graph.outputs.len(), "{name}");
        for stored in program.stored.values() {
            assert_eq!(stored.read(&file).len(), stored.count() * stored.element.size(), "{name}");
        }
    }
}

#[test]
fn a_program_has_names_types_and_ties() {
    let file = sample("tree.pt2");
    let program = read(&file, Some("model")).unwrap();
    assert_eq!((program.schema, &*program.torch), ((8, 20), "2.15.0+cu132"));
    let kinds: Vec<InputKind> = program.inputs.iter().map(|input| input.kind).collect();
    use InputKind::*;
    assert_eq!(
        kinds,
        [Parameter, Parameter, Parameter, Buffer, Buffer, Buffer, Constant, User, User, User, User, Fixed, User, Fixed]
    );
    assert!(program.stored["w"].is_same(&program.stored["tied"]) && !program.stored["w"].is_row_major());
    let (low, high) = (&program.stored["low"], &program.stored["high"]);
    assert!(low.storage == high.storage && !low.is_same(high));
    assert!(program.stored["w"].requires_grad && !program.stored["frozen"].requires_grad);
    assert_eq!(program.stored["factor"].element, Element::BF16);
    assert!(matches!(program.outputs[3].argument, Argument::Int(3)));
    let masked = program.graph.nodes.iter().find(|node| node.target.ends_with("masked_fill.Scalar")).unwrap();
    assert!(matches!(masked.inputs[2].argument, Argument::Float(value) if value == f64::NEG_INFINITY));
    let mlp = read(&sample("mlp.pt2"), None).unwrap();
    assert_eq!(mlp.symbols["s31"], (Some(0), None));
    assert_eq!(mlp.graph.nodes[1].module, "1");
    let size = &mlp.graph.tensors["relu"].sizes[0];
    assert_eq!(*size, Size::Expression("Symbol('s31', positive=True, integer=True)".into()));
    let joint = read(&sample("joint.pt2"), None).unwrap();
    assert_eq!(joint.outputs[0].kind, OutputKind::Loss);
    assert_eq!(joint.outputs[1].kind, OutputKind::Gradient("m.0.weight".into()));
}

#[test]
fn pickled_weights_are_those_of_raw_storages() {
    let old = ["old_2.4.1.pt2", "old_2.6.0.pt2", "old_2.8.0.pt2"].map(|name| {
        let file = sample(name);
        let program = read(&file, None).unwrap();
        assert!(program.stored["l.weight"].requires_grad && !program.stored["b.running_mean"].requires_grad);
        assert_eq!(program.stored["l.weight"].sizes, [3, 4]);
        ["b.weight", "l.weight", "l.bias", "b.running_mean"].map(|name| floats(&program, name, &file))
    });
    assert!(old[0] == old[1] && old[1] == old[2]);
    assert!(old[0][1].iter().any(|&value| value != 0.0) && old[0][3] == [0.0; 4]);
}

#[test]
fn strided_tensors_are_read_in_the_order_of_their_axes() {
    let file = sample("tree.pt2");
    let program = read(&file, None).unwrap();
    let stored = &program.stored["w"];
    let raw: Vec<f32> = file[stored.storage.clone()]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let wanted: Vec<f32> = (0..4).flat_map(|i| (0..3).map(move |j| (i, j))).map(|(i, j)| raw[i + 4 * j]).collect();
    assert_eq!(floats(&program, "w", &file), wanted);
}

#[test]
fn other_files_are_told_apart() {
    let of = |names: &[&str]| {
        let entries: Vec<(String, Vec<u8>)> = names.iter().map(|name| (name.to_string(), vec![1])).collect();
        refused(&zip_of(&entries, 0, 0)).1
    };
    assert!(of(&["m/data/aotinductor/model/x.so"]).contains("AOTInductor"));
    assert!(of(&["m/code/__torch__.py", "m/data.pkl", "m/constants.pkl"]).contains("TorchScript"));
    assert!(of(&["archive/data.pkl", "archive/data/0"]).contains("torch.save wrote"));
    for message in [of(&["m/data/aotinductor/model/x.so"]), of(&["archive/data.pkl"])] {
        assert!(message.contains("torch.export.save("), "{message}");
    }
    assert!(of(&["word/document.xml"]).contains("no archive of torch.export.save"));
    assert!(refused(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.").1.contains("torch.save wrote"));
}

#[test]
fn versions_are_checked() {
    let of = |version: &str| replaced("mlp.pt2", r#""schema_version": {"major": 8, "minor": 20}"#, version);
    read(&of(r#""schema_version": {"major": 8, "minor": 99}"#), None).unwrap();
    for major in [7, 9] {
        let text = format!(r#""schema_version": {{"major": {major}, "minor": 1}}"#);
        let (is_unsupported, message) = refused(&of(&text));
        assert!(is_unsupported && message.contains(&format!("schema {major}.1")), "{message}");
        assert!(message.contains("8.20") && message.contains("2.15.0"), "{message}");
    }
}

#[test]
fn what_newer_versions_add_is_passed_over() {
    let added = replaced("mlp.pt2", r#""metadata": {"#, r#""news": [1, {}], "metadata": {"#);
    let added = added.windows(8).any(|bytes| bytes == b"\"news\": ").then_some(added).unwrap();
    assert_eq!(read(&added, None).unwrap().graph.nodes.len(), 6);
    let unknown = replaced("mlp.pt2", r#"{"as_tensor": {"name": "linear"}}, "kind""#, r#"{"as_news": 1}, "kind""#);
    let program = read(&unknown, None).unwrap();
    assert!(matches!(&program.graph.nodes[1].inputs[0].argument, Argument::Other(kind) if kind == "as_news"));
}

#[test]
fn damaged_archives_are_refused() {
    let all = entries(&sample("mlp.pt2"));
    assert!(read(&zip_of(&all, 0, 0), None).is_ok());
    assert!(refused(&zip_of(&all, 8, 0)).1.contains("compressed"));
    assert!(refused(&zip_of(&all, 0, 1)).1.contains("encrypted"));
    let doubled = [all.clone(), vec![all[0].clone()]].concat();
    assert!(refused(&zip_of(&doubled, 0, 0)).1.contains("two entries"));
    let lacking: Vec<_> = all.iter().filter(|(name, _)| !name.ends_with("weight_0")).cloned().collect();
    assert!(refused(&zip_of(&lacking, 0, 0)).1.contains("lacks it"));
    let cut = changed("mlp.pt2", |name, bytes| {
        if name.ends_with("weight_0") {
            bytes.truncate(8);
        }
    });
    assert!(refused(&cut).1.contains("outside of the storage"));
    let order = changed("mlp.pt2", |name, bytes| {
        if name.ends_with("byteorder") {
            *bytes = b"big".to_vec();
        }
    });
    assert!(refused(&order).1.contains("want little"));
    // A weight that was damaged is found when it is read.
    let mut flipped = sample("mlp.pt2");
    let stored = read(&flipped, None).unwrap().stored.into_values().next().unwrap();
    flipped[stored.storage.start] ^= 1;
    let program = read(&flipped, None).unwrap();
    assert!(program.stored.values().any(|stored| stored.verify(&flipped).is_err()));
}

#[test]
fn sizes_of_weights_are_checked() {
    let of = |from: &str, to: &str| refused(&replaced("tree.pt2", from, to)).1;
    let size = r#""sizes": [{"as_int": 4}, {"as_int": 3}], "requires_grad": true"#;
    for (sizes, wanted) in [
        ("[{\"as_int\": 5}, {\"as_int\": 3}]", "outside of the storage"),
        ("[{\"as_int\": 9223372036854775807}, {\"as_int\": 9223372036854775807}]", "outside of the storage"),
        ("[{\"as_int\": -4}, {\"as_int\": 3}]", "-4 given"),
        ("[{\"as_int\": 4}]", "1 sizes and 2 strides"),
    ] {
        let message = of(size, &format!(r#""sizes": {sizes}, "requires_grad": true"#));
        assert!(message.contains(wanted), "{message}");
    }
    // A small file that repeats one element does not become a large one.
    let bomb = r#""sizes": [{"as_int": 1073741824}, {"as_int": 3}], "requires_grad": true"#;
    let strides = r#""strides": [{"as_int": 1}, {"as_int": 4}]"#;
    let repeated = replaced("tree.pt2", size, bomb);
    let repeated = {
        let mut all = entries(&repeated);
        for (_, bytes) in all.iter_mut().filter(|(name, _)| name.ends_with("weights_config.json")) {
            let text = String::from_utf8(bytes.clone()).unwrap();
            *bytes = text.replace(strides, r#""strides": [{"as_int": 0}, {"as_int": 0}]"#).into_bytes();
        }
        zip_of(&all, 0, 0)
    };
    let (is_unsupported, message) = refused(&repeated);
    assert!(is_unsupported && message.contains("repeat"), "{message}");
}

#[test]
fn nothing_in_a_pickle_runs() {
    let pickle = |bytes: &[u8]| {
        let inner = vec![("archive/data.pkl".to_string(), bytes.to_vec())];
        let inner = zip_of(&inner, 0, 0);
        refused(&changed("old_2.6.0.pt2", |name, bytes| {
            if name == "serialized_state_dict.pt" {
                *bytes = inner.clone();
            }
        }))
        .1
    };
    let system = pickle(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00echo\x85R.");
    assert!(system.contains("\"os.system\"") && system.contains("nothing in a pickle is run"), "{system}");
    assert!(pickle(b"\x80\x02}(X\x01\x00\x00\x00aK\x01u.").contains("is a number; want a tensor"));
    assert!(pickle(b"\x80\x02K\x01.").contains("want a dictionary"));
    assert!(pickle(b"\x80\x02\x85.").contains("more values than there are"));
    assert!(pickle(b"\x80\x02X\xff\xff\xff\xffab").contains("ends too early"));
    assert!(pickle(b"\x80\x02cos").contains("ends too early"));
    assert!(pickle(b"").contains("ends too early"));
    assert!(pickle(&[b"\x80\x02)".to_vec(), vec![0x85; 1 << 20], b".".to_vec()].concat()).contains("nested"));
    let nested = [vec![b'}'; 1 << 16], vec![b'('; 0], b".".to_vec()].concat();
    assert!(pickle(&nested).contains("lacks it"), "an empty dictionary has no weight");
}

/// Bytes of programs, configurations, pickles and directories are changed at random; no file is read that does not
/// keep what `Stored` promises.
#[test]
fn mutations_crash_nothing() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut read_well = 0;
    for name in ["tree.pt2", "old_2.6.0.pt2", "old_2.8.0.pt2", "control.pt2"] {
        let (file, all) = (sample(name), entries(&sample(name)));
        for round in 0..600 {
            let bytes = if round % 2 == 0 {
                let mut bytes = file.clone();
                for _ in 0..=random(4) {
                    let at = random(bytes.len());
                    bytes[at] = random(256) as u8;
                }
                if random(8) == 0 {
                    bytes.truncate(random(bytes.len()));
                }
                bytes
            } else {
                let mut all = all.clone();
                let which = random(all.len());
                let bytes = &mut all[which].1;
                for _ in 0..=random(6) {
                    let at = random(bytes.len());
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = if random(2) == 0 { b"0123456789-\"{}[],"[random(17)] } else { random(256) as u8 };
                    }
                }
                zip_of(&all, 0, 0)
            };
            let Ok(program) = read(&bytes, None) else { continue };
            read_well += 1;
            for stored in program.stored.values() {
                assert!(stored.storage.end <= bytes.len());
                let _ = stored.verify(&bytes);
                assert_eq!(stored.read(&bytes).len(), stored.count() * stored.element.size());
            }
        }
    }
    assert!(read_well > 100, "only {read_well} were read");
}
