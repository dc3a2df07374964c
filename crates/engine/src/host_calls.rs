//! Calls of functions of this process by compiled programs: the functions, and their arguments and results. An engine
//! that supports them ([`Engine::calls_host`](super::Engine::calls_host)) implements the custom call [`CALL_TARGET`].

use base::error;
use base::error::Result;
use base::types::DType;
use std::sync::OnceLock;

/// Target of the custom calls, of the typed FFI. The attributes are [`FUNCTION`], [`WORDS`] and [`TEXT`].
pub const CALL_TARGET: &str = "lazyxla_host_call";

/// Attribute: number of the [`HostFunction`], s64.
pub const FUNCTION: &str = "function";
/// Attribute: words that the function gets, an array of s64 that is not empty.
pub const WORDS: &str = "words";
/// Attribute: text that the function gets.
pub const TEXT: &str = "text";

/// Functions that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFunction {
    /// Evaluates an operation of the library natively.
    Operation = 0,
    /// Calls a kernel of the caller.
    Kernel = 1,
}

/// An argument of a call: elements in row-major order.
pub struct HostInput<'a> {
    /// Dtype of the elements.
    pub dtype: DType,
    /// Dimensions.
    pub dims: &'a [i64],
    /// The elements.
    pub bytes: &'a [u8],
}

/// A result of a call, which the function writes: elements in row-major order.
pub struct HostOutput<'a> {
    /// Dtype of the elements.
    pub dtype: DType,
    /// Dimensions.
    pub dims: &'a [i64],
    /// The elements.
    pub bytes: &'a mut [u8],
}

/// One call of a function by a compiled program, on a thread of the engine.
pub struct HostCall<'a, 'b> {
    /// Words of the program's text.
    pub words: &'a [i64],
    /// Text of the program's text.
    pub text: &'a str,
    /// Arguments.
    pub inputs: &'a [HostInput<'a>],
    /// Results.
    pub outputs: &'a mut [HostOutput<'b>],
}

/// Implementation of a [`HostFunction`]. An error fails the run, with its message. It may panic: that is an error, too.
pub type Implementation = fn(&mut HostCall) -> Result<()>;

static IMPLEMENTATIONS: [OnceLock<Implementation>; 2] = [const { OnceLock::new() }; 2];

/// Provides the implementation of a function. The first one counts. Layers above provide theirs before they compile or
/// load a program that calls it.
pub fn provide(function: HostFunction, implementation: Implementation) {
    let _ = IMPLEMENTATIONS[function as usize].set(implementation);
}

/// Calls the function with this number. No lock is held meanwhile.
pub fn call_host(function: i64, call: &mut HostCall) -> Result<()> {
    let found = usize::try_from(function).ok().and_then(|number| IMPLEMENTATIONS.get(number)?.get());
    let implementation =
        found.ok_or_else(|| error!(FailedPrecondition, "the program calls function {function} of another version"))?;
    implementation(call)
}
