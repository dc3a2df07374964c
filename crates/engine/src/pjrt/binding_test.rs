//! Tests that the binding matches the plugin: a C compiler checks every size and offset against the plugin's own
//! header.

use super::sys::LAYOUTS;
use std::fmt::Write;
use std::process::Command;

#[test]
fn binding_matches_the_header_of_the_plugin() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let header = format!("{root}/build/plugins/xla_plugins/xla_cpu_pjrt/include/pjrt_c_api.h");
    let mut source = format!("#include <stddef.h>\n#include \"{header}\"\n");
    for (name, size, fields) in LAYOUTS {
        let constant = if *name == "PJRT_Api" { "PJRT_Api" } else { name };
        writeln!(source, "_Static_assert({constant}_STRUCT_SIZE == {size}, \"size of {name}\");").unwrap();
        for (field, offset) in *fields {
            writeln!(source, "_Static_assert(offsetof({name}, {field}) == {offset}, \"{name}.{field}\");").unwrap();
        }
    }
    let path = std::env::temp_dir().join(format!("lxla_layout_{}.c", std::process::id()));
    std::fs::write(&path, source).unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Werror"])
        .arg(&path)
        .output()
        .expect("a C compiler named cc");
    std::fs::remove_file(&path).unwrap();
    assert!(
        output.status.success(),
        "run `make plugin` first if the header is missing:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
