//! Numbers and names of the ABI, which never change: `c_tests/abi/frozen.h`, to which lines are only added.

use lazyxla::capi::constants::Family;

const HEAD: &str = "\
/* Constants and functions of lazyxla.h. Lines are only ever added: by `make header`, which refuses to change one.
 * header_c.c defines the two macros, and checks each line against the header. */
";

/// Returns the list of all constants and functions. Panics if one of the lines of `known` would be lost.
pub fn list(known: &str, families: &[Family], functions: &str) -> String {
    let constant = |family: &Family| {
        let line =
            |of: &lazyxla::capi::constants::Constant| format!("CONSTANT({}{}, {})", family.prefix, of.name, of.number);
        family.constants.iter().map(line).collect::<Vec<_>>()
    };
    let constants = families.iter().flat_map(constant);
    let lines: Vec<String> = constants.chain(functions.lines().map(|name| format!("FUNCTION({name})"))).collect();
    for line in known.lines().filter(|line| line.starts_with(['C', 'F'])) {
        assert!(lines.iter().any(|other| other == line), "the ABI is frozen, and no longer has {line}");
    }
    format!("{HEAD}{}\n", lines.join("\n"))
}

#[test]
#[should_panic(expected = "no longer has CONSTANT(LXLA_OK, 1)")]
fn a_changed_number_is_refused() {
    list("CONSTANT(LXLA_OK, 1)\n", &crate::families(), "");
}
