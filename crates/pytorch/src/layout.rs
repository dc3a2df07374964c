//! Where archives keep a program and its weights, and how other files of PyTorch are told apart.

use crate::archive::{Archive, check_order, entry_of};
use crate::error::{Error, Result, shown};
use crate::json;
use crate::pickle;
use crate::program::{Input, InputKind, Program};
use crate::schema::{Exported, Versioned};
use crate::stored::Stored;
use crate::weights;
use std::collections::BTreeMap;

/// The first bytes of a zip file.
const ZIP: &[u8] = b"PK\x03\x04";
/// The first bytes of files of `torch.save` before PyTorch 1.6: a pickled number.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// The program of PyTorch 2.4 to 2.7, in no folder.
const OLD_PROGRAM: &str = "serialized_exported_program.json";

/// Advice in the message for a file without a graph.
const ADVICE: &str = "export the model in PyTorch: torch.export.save(torch.export.export(model, inputs), \"m.pt2\")";

/// Whether bytes begin as an archive.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(ZIP)
}

/// Whether bytes begin as a file of `torch.save` of before PyTorch 1.6, which is not a zip file.
pub fn is_legacy_save(bytes: &[u8]) -> bool {
    bytes.starts_with(LEGACY)
}

/// Reads a program of an archive, without its weights. `name` is the program's name; None for the only one, or the
/// one with the name `model`.
pub fn read(bytes: &[u8], name: Option<&str>) -> Result<Program> {
    if is_legacy_save(bytes) {
        return Err(Error::invalid(format!("it holds tensors that torch.save wrote, and no program; {ADVICE}")));
    }
    let archive = Archive::read(bytes, 0..bytes.len())?;
    if archive.has(OLD_PROGRAM) {
        return old(&archive, name);
    }
    let found: Vec<(&str, &str)> = archive.names().filter_map(program_of).collect();
    if found.is_empty() {
        return Err(no_program(&archive));
    }
    let wanted = name.unwrap_or("model");
    let chosen = match &found[..] {
        [only] if name.is_none() => only,
        several => several.iter().find(|(_, found)| *found == wanted).ok_or_else(|| {
            let names: Vec<String> = several.iter().map(|(_, found)| shown(found)).collect();
            let given = name.map_or("none given".to_string(), |name| format!("{} given", shown(name)));
            Error::invalid(format!("options.function: {given}; the archive has the programs {}", names.join(", ")))
        })?,
    };
    of_folder(&archive, chosen.0, chosen.1)
}

/// The top folder and the name of the program of an entry: `TOP/models/NAME.json`.
fn program_of(entry: &str) -> Option<(&str, &str)> {
    let (top, name) = entry.split_once("/models/")?;
    let name = name.strip_suffix(".json").filter(|name| !name.contains('/'))?;
    (!top.contains('/')).then_some((top, name))
}

/// Reads an archive of PyTorch 2.8 and newer.
fn of_folder(archive: &Archive, top: &str, name: &str) -> Result<Program> {
    check_order(archive, &format!("{top}/byteorder"))?;
    let mut program = parsed(archive, &format!("{top}/models/{name}.json"), name)?;
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    for (kind, found) in ["weights", "constants"].into_iter().zip(&mut found) {
        let folder = format!("{top}/data/{kind}");
        let (config, pickled) = (format!("{folder}/{name}_{kind}_config.json"), format!("{folder}/{name}.pt"));
        if archive.has(&config) {
            weights::read(archive, &config, &folder, found)?;
        } else if archive.has(&pickled) {
            pickle::read(archive, &pickled, found)?;
        }
    }
    program.stored = chosen(&program.inputs, found)?;
    Ok(program)
}

/// Reads an archive of PyTorch 2.4 to 2.7.
fn old(archive: &Archive, name: Option<&str>) -> Result<Program> {
    if let Some(name) = name.filter(|name| *name != "model") {
        return Err(Error::invalid(format!(
            "options.function: {} given; the archive has one program, \"model\"",
            shown(name)
        )));
    }
    let mut program = parsed(archive, OLD_PROGRAM, "model")?;
    let mut found = [BTreeMap::new(), BTreeMap::new()];
    for (entry, found) in ["serialized_state_dict.pt", "serialized_constants.pt"].into_iter().zip(&mut found) {
        if archive.has(entry) && !archive.entry(entry)?.range.is_empty() {
            pickle::read(archive, entry, found)?;
        }
    }
    program.stored = chosen(&program.inputs, found)?;
    Ok(program)
}

/// Reads the JSON of a program.
fn parsed(archive: &Archive, entry: &str, name: &str) -> Result<Program> {
    let bytes = archive.bytes(entry)?;
    let read = || {
        let (schema, torch) = json::read::<Versioned>(bytes)?.checked()?;
        let parts = json::read::<Exported>(bytes)?.parts()?;
        let (name, stored) = (name.to_string(), BTreeMap::new());
        let (graph, inputs, outputs, symbols) = (parts.graph, parts.inputs, parts.outputs, parts.symbols);
        Ok(Program { name, schema, torch, graph, inputs, outputs, symbols, stored })
    };
    read().map_err(|e: Error| e.at(entry_of(entry)))
}

/// Returns the tensors that the inputs of a graph name, of the weights and the constants of an archive.
fn chosen(inputs: &[Input], [weights, constants]: [BTreeMap<String, Stored>; 2]) -> Result<BTreeMap<String, Stored>> {
    let mut chosen = BTreeMap::new();
    for input in inputs {
        // A buffer that is not persistent is kept with the constants.
        let stored = match input.kind {
            InputKind::User | InputKind::Fixed => continue,
            InputKind::Constant => constants.get(&input.name).or_else(|| weights.get(&input.name)),
            InputKind::Parameter | InputKind::Buffer => weights.get(&input.name).or_else(|| constants.get(&input.name)),
        };
        let missing = || Error::invalid(format!("tensor {}: the archive lacks it", shown(&input.name)));
        chosen.insert(input.name.clone(), stored.ok_or_else(missing)?.clone());
    }
    Ok(chosen)
}

/// Says what an archive is that holds no program, and what to do.
fn no_program(archive: &Archive) -> Error {
    let any = |test: &dyn Fn(&str) -> bool| archive.names().any(test);
    let what = if any(&|name| name.contains("/data/aotinductor/") || name.ends_with(".wrapper.so")) {
        "it is a package of AOTInductor: machine code for inference, without the graph that is needed here"
    } else if any(&|name| name.contains("/code/") || name.ends_with("/constants.pkl")) {
        "it is a TorchScript file, whose programs are not read"
    } else if any(&|name| name.ends_with("/data.pkl")) {
        "it holds tensors that torch.save wrote (a state dict or a pickled model), and no program"
    } else {
        return Error::invalid("it is a zip file, but no archive of torch.export.save: it has no models/NAME.json");
    };
    Error::invalid(format!("{what}; {ADVICE}"))
}
