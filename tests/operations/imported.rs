//! Checks the tables of operations in docs/import.md against the importer: they have every operation of StableHLO, CHLO
//! and Shardy, and every name that the importer's functions are chosen by; and each is imported where its row says so.

use super::{SPECIFICATION, text_of};
use programs::import::{describe, read};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Operations of the dialect StableHLO, as of version 1.15, that the specification does not have.
const NOT_SPECIFIED: &str = "broadcast create_token cross-replica-sum dot einsum real_dynamic_slice return \
    set_dimension_size torch_index_select trace unary_einsum";

/// Operations of CHLO.
const CHLO: &str = "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e broadcast_add broadcast_and \
    broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide broadcast_maximum broadcast_minimum \
    broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma broadcast_power broadcast_remainder \
    broadcast_select broadcast_shift_left broadcast_shift_right_arithmetic broadcast_shift_right_logical \
    broadcast_subtract broadcast_xor broadcast_zeta conj constant constant_like cosh digamma erf erf_inv erfc is_inf \
    is_neg_inf is_pos_inf lgamma mulhi next_after polygamma ragged_dot scan sinh square tan top_k zeta";

/// Operations of Shardy.
const SHARDY: &str = "all_gather all_reduce all_slice all_to_all collective_permute constant data_flow_edge \
    func_data_flow_edge manual_computation mesh named_computation propagation_barrier reduce_scatter \
    replicated_to_unreduced reshard return sharded_to_unreduced sharding_constraint sharding_group";

/// Files of `import/operations` in which functions are chosen by names, from a line on, and the table of each.
const CHOICES: [(&str, &str, Table); 6] = [
    ("mod.rs", "fn stablehlo(", Table::Stablehlo),
    ("dynamic.rs", "pub fn stablehlo(", Table::Stablehlo),
    ("collectives.rs", "pub fn record(", Table::Stablehlo),
    ("chlo.rs", "pub fn record(", Table::Chlo),
    ("sharding.rs", "pub fn record(", Table::Shardy),
    ("custom_calls.rs", "pub fn custom_call(", Table::CustomCalls),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Stablehlo,
    Chlo,
    Shardy,
    CustomCalls,
}

impl Table {
    const ALL: [Table; 4] = [Table::Stablehlo, Table::Chlo, Table::Shardy, Table::CustomCalls];

    /// Heading of the table in the document.
    fn heading(self) -> &'static str {
        match self {
            Table::Stablehlo => "### Operations of StableHLO",
            Table::Chlo => "### Operations of CHLO",
            Table::Shardy => "### Operations of Shardy",
            Table::CustomCalls => "### Custom calls",
        }
    }

    /// Names that the table has to have.
    fn wanted(self) -> BTreeSet<String> {
        let lists: &[&str] = match self {
            Table::Stablehlo => &[SPECIFICATION, NOT_SPECIFIED],
            Table::Chlo => &[CHLO],
            Table::Shardy => &[SHARDY],
            Table::CustomCalls => &[],
        };
        let chosen = CHOICES.iter().filter(|(_, _, table)| *table == self);
        let chosen = chosen.flat_map(|(file, start, _)| choices(file, start));
        lists.iter().flat_map(|list| list.split_whitespace()).map(str::to_string).chain(chosen).collect()
    }

    /// An operation of the table without operands. Its attributes are those by which a function is chosen.
    fn operation(self, name: &str) -> String {
        match self {
            Table::Stablehlo if name == "composite" => "\"stablehlo.composite\"() {name = \"chlo.erf\"}".to_string(),
            Table::Stablehlo if name == "custom_call" => Table::CustomCalls.operation("Sharding"),
            Table::Stablehlo => format!("\"stablehlo.{name}\"()"),
            Table::Chlo => format!("\"chlo.{name}\"()"),
            Table::Shardy => format!("\"sdy.{name}\"()"),
            Table::CustomCalls => format!("\"stablehlo.custom_call\"() {{call_target_name = \"{name}\"}}"),
        }
    }

    /// Whether the importer takes an operation; otherwise why not. `name` is not part of other operations.
    fn refusal(self, name: &str) -> Option<String> {
        let program = format!("func.func @main() {{ {} : () -> () \n return }}", self.operation(name));
        let program = read(Arc::new(program.into_bytes())).unwrap_or_else(|e| panic!("{name}: {e}"));
        let described: serde_json::Value = serde_json::from_str(&describe(&program).unwrap()).unwrap();
        let unsupported = described["unsupported"].as_array().unwrap();
        unsupported.first().map(|found| found["reason"].as_str().unwrap().to_string())
    }
}

/// The texts by which a function of a file chooses, from the line that contains `start` to the end of the function:
/// `"a" | "b" =>` has two.
fn choices(file: &str, start: &str) -> Vec<String> {
    let source = text_of(&format!("crates/programs/src/import/operations/{file}"));
    let from = source.find(start).unwrap_or_else(|| panic!("{file} has no {start}"));
    let body = source[from..].split("\n}\n").next().unwrap();
    let mut found = Vec::new();
    let mut arms: Vec<&str> = body.split("=>").collect();
    arms.pop();
    for arm in arms {
        let mut rest = arm.trim_end();
        while let Some((before, text)) = rest.strip_suffix('"').and_then(|rest| rest.rsplit_once('"')) {
            found.push(text.to_string());
            rest = before.trim_end().trim_end_matches('|').trim_end();
        }
    }
    assert!(found.len() > 3, "{file}: few names are found, {found:?}");
    found
}

/// The names of a cell: texts in backticks, where `a_{b,c}` is `a_b` and `a_c`.
fn names(cell: &str) -> Vec<String> {
    fn expanded(name: &str) -> Vec<String> {
        let Some((before, rest)) = name.split_once('{') else { return vec![name.to_string()] };
        let (list, after) = rest.split_once('}').expect("a closing brace");
        list.split(',').flat_map(|part| expanded(&format!("{before}{part}{after}"))).collect()
    }
    cell.split('`').skip(1).step_by(2).flat_map(expanded).collect()
}

/// Reads a table of the document: whether each operation is imported.
fn stated(document: &str, table: Table) -> BTreeMap<String, bool> {
    let (_, from) = document.split_once(&format!("\n{}\n", table.heading())).expect("the document has the table");
    let section = from.split("\n#").next().unwrap();
    let mut found = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{row}");
        let is_imported = match cells[1] {
            "yes" | "partly" => true,
            "no" => false,
            other => panic!("{row}: {other}; want yes, partly or no"),
        };
        assert!(cells[1] == "yes" || !cells[3].is_empty(), "{row}: no limits");
        for name in names(cells[0]) {
            assert!(found.insert(name, is_imported).is_none(), "two rows have a name of {row}");
        }
    }
    found
}

#[test]
fn the_document_has_every_operation_that_may_be_imported() {
    let document = text_of("docs/import.md");
    for table in Table::ALL {
        let (stated, wanted) = (stated(&document, table), table.wanted());
        let missing: Vec<&String> = wanted.iter().filter(|name| !stated.contains_key(*name)).collect();
        assert!(missing.is_empty(), "docs/import.md, {}: these are missing: {missing:?}", table.heading());
        let others: Vec<&String> = stated.keys().filter(|name| !wanted.contains(*name)).collect();
        // The importer refuses any other custom call, and has functions of CHLO by the prefix `mhlo.`.
        assert!(table == Table::CustomCalls || others.is_empty(), "{}: unknown: {others:?}", table.heading());
    }
}

#[test]
fn the_document_has_every_routine_of_factorizations() {
    let stated = stated(&text_of("docs/import.md"), Table::CustomCalls);
    for routine in choices("factorizations.rs", "pub fn record(") {
        let target = format!("{routine}_ffi");
        assert!(stated.keys().any(|name| name.ends_with(&target)), "docs/import.md: {target} is missing");
    }
}

#[test]
fn an_operation_is_imported_where_the_document_says_so() {
    let document = text_of("docs/import.md");
    let mut wrong = Vec::new();
    for table in Table::ALL {
        for (name, is_imported) in stated(&document, table) {
            let refusal = table.refusal(&name);
            // The end of a region, and a mesh, which is not an operation of a function.
            let is_part = name == "return" || table == Table::Shardy && name == "mesh";
            if refusal.is_none() != is_imported && !is_part {
                wrong.push(format!("{}: {name}: {}", table.heading(), refusal.unwrap_or("it is imported".to_string())));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/import.md is stale:\n{}", wrong.join("\n"));
}

#[test]
fn the_document_counts_the_operations_of_the_specification() {
    let document = text_of("docs/import.md");
    let stated = stated(&document, Table::Stablehlo);
    let all: Vec<&str> = SPECIFICATION.split_whitespace().collect();
    let imported = all.iter().filter(|name| stated[**name]).count();
    let told = format!("Of the {} operations of the specification, {imported} are imported", all.len());
    assert!(document.contains(&told), "docs/import.md does not say: {told}");
}
