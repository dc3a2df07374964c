//! Calls of functions of this process by compiled programs, as StableHLO. With [`lower_native`], the lowering of an
//! operation makes programs for CPUs evaluate it natively:
//!
//! ```ignore
//! pub(super) fn lower(e: &mut Emitter, at: usize) {
//!     if e.calls_host {
//!         return host_call::lower_native(e, at, &results);
//!     }
//!     // Portable StableHLO.
//! }
//! ```

use crate::emit::{Emitter, emit, mlir, row_major, string};
use base::types::TensorType;
use engine::host_calls::{CALL_TARGET, FUNCTION, HostFunction, TEXT, WORDS};

/// Writes the instruction at a position as a call of its native evaluation, on any thread of the engine. `results` are
/// the types of its results. The operation has no scalar and no bodies; its first result is number 0. XLA cannot
/// partition the call: `whole` of the definition must be true.
pub fn lower_native(e: &mut Emitter, at: usize, results: &[TensorType]) {
    let value = e.instruction(at);
    debug_assert!(value.bodies.is_empty() && !value.op.has_scalar(), "{:?} is not called", value.op);
    let mut words = vec![i64::from(value.op.code())];
    words.extend_from_slice(&value.words);
    let called = Called { function: HostFunction::Operation, words: &words, text: "", has_side_effect: false };
    lower_call(e, at, &called, results);
}

/// Function that a program calls, and the attributes of the call.
pub struct Called<'a> {
    /// The function.
    pub function: HostFunction,
    /// Words that it gets; at least one.
    pub words: &'a [i64],
    /// Text that it gets.
    pub text: &'a str,
    /// If true, XLA must not remove the call or merge it with an equal one.
    pub has_side_effect: bool,
}

/// Writes the instruction at a position as a call of a function with its operands. Arrays are row-major.
pub fn lower_call(e: &mut Emitter, at: usize, called: &Called, results: &[TensorType]) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let (names, types) = e.listed(&value.operands);
    let operands: Vec<&TensorType> = value.operands.iter().map(|&operand| &e.values[operand].ty).collect();
    let layouts = (row_major(&operands), row_major(&results.iter().collect::<Vec<_>>()));
    let words = called.words.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    emit!(
        e,
        "    {name}:{} = \"stablehlo.custom_call\"({}) <{{call_target_name = \"{CALL_TARGET}\", backend_config = \
         {{{FUNCTION} = {} : i64, {WORDS} = array<i64: {words}>, {TEXT} = {}}}, api_version = 4 : i32, \
         has_side_effect = {}, operand_layouts = {}, result_layouts = {}}}> : ({}) -> ({})",
        results.len(),
        names.join(", "),
        called.function as i64,
        string(called.text),
        called.has_side_effect,
        layouts.0,
        layouts.1,
        types.join(", "),
        results.iter().map(mlir).collect::<Vec<_>>().join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LOWERING;
    use base::error::{Code, Result};
    use base::label::Label;
    use base::types::DType;
    use engine::{Engine, EngineOptions, Signature, references, start};
    use ir::{Instruction, Op, encode};
    use std::sync::Arc;

    /// Compiles and runs the native evaluation of an operation on one array. Returns the bytes of its results.
    fn run(
        engine: &Arc<dyn Engine>,
        op: Op,
        words: &[i64],
        x: (&TensorType, &[u8]),
        y: &TensorType,
    ) -> Result<Vec<u8>> {
        let leaf = Instruction {
            op: Op::Leaf,
            ty: x.0.clone(),
            operands: [].into_iter().collect(),
            words: encode(&()),
            bodies: vec![],
            label: Label::NONE,
        };
        let called = Instruction {
            op,
            ty: y.clone(),
            operands: [0].into_iter().collect(),
            words: words.into(),
            bodies: vec![],
            label: Label::NONE,
        };
        let values = [leaf, called];
        let mut e = Emitter::new(&values, &[], &[], "cpu", LOWERING);
        lower_native(&mut e, 1, std::slice::from_ref(y));
        let (from, to) = (mlir(x.0), mlir(y));
        let text = e.text.finish().unwrap();
        let module = format!(
            "module @m {{ func.func public @main(%v0: {from}) -> {to} {{\n{text}    return %v1#0 : {to}\n  }} }}"
        );
        crate::provide_host_functions();
        let (parameters, outputs) = (vec![x.0.clone()], vec![y.clone()]);
        let signature = Signature { parameters, outputs, donors: vec![], partitions: None };
        let executable = engine.compile(&module, signature, &())?;
        let input = engine.transfer_to_device(0, x.0, x.1)?;
        let made = executable.execute(0, &references(&[input]), &[])?;
        let mut bytes = vec![0; y.size_bytes()];
        made.outputs[0].read(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn a_program_evaluates_an_operation_natively_and_its_errors_fail_the_run() {
        let engine = start(EngineOptions::default()).expect("run `make plugin` first");
        assert!(engine.calls_host());
        let matrix = TensorType::new(DType::F64, &[2, 2]);
        let values = [4.0f64, 2.0, 2.0, 10.0];
        let x = (&matrix, bytemuck::cast_slice(&values));
        let factor = run(&engine, Op::Cholesky, &encode(&true), x, &matrix).unwrap();
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f64>(&factor), [2.0, 0.0, 1.0, 3.0]);
        let refused = run(&engine, Op::AllGather, &[], x, &matrix).unwrap_err();
        assert!(refused.message.contains("runs on a mesh only"), "{refused}");
        // Words that are not those of the operation make it panic.
        let panicked = run(&engine, Op::Transpose, &[9], x, &matrix).unwrap_err();
        assert!(panicked.code == Code::Internal && panicked.message.contains("panicked"), "{panicked}");
        let again = run(&engine, Op::Transpose, &encode(&vec![1usize, 0]), x, &matrix).unwrap();
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, f64>(&again), [4.0, 2.0, 2.0, 10.0]);
    }
}
