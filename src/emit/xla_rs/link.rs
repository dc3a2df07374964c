//! Links the computations of one module. XlaBuilder copies every computation that an operation applies, so that nested
//! bodies would grow exponentially, and it lacks some instructions. So each computation is built alone, with a hole
//! for each instruction that applies a body or that the builder lacks; linking replaces the holes in the HLO protos.
//!
//! A hole is a tuple of its operands, followed by a parameter with the type of its results. The numbers of such
//! parameters are greater than those of the computation's own.

use super::unlinked::Unlinked;
use super::wire::{Field, Message, fields};
use crate::engine::failed;
use crate::error;
use crate::error::Result;
use crate::ir::Body;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;
use xla::{HloModuleProto, XlaComputation, XlaOp};

/// Numbers of the fields of `HloModuleProto`, `HloComputationProto`, `HloInstructionProto` and `ProgramShapeProto`.
mod field {
    pub const NAME: u64 = 1;
    pub const ENTRY_NAME: u64 = 2;
    pub const COMPUTATIONS: u64 = 3;
    pub const PROGRAM_SHAPE: u64 = 4;
    pub const MODULE_ENTRY_ID: u64 = 6;
    pub const BUFFER_DONORS: u64 = 18;
    pub const INSTRUCTIONS: u64 = 2;
    pub const COMPUTATION_ID: u64 = 5;
    pub const ROOT_ID: u64 = 6;
    pub const OPCODE: u64 = 2;
    pub const SHAPE: u64 = 3;
    pub const PARAMETER_NUMBER: u64 = 9;
    pub const ID: u64 = 35;
    pub const OPERANDS: u64 = 36;
    pub const PREDECESSORS: u64 = 37;
    pub const CALLED: u64 = 38;
    pub const ELEMENT_TYPE: u64 = 2;
    pub const SHAPE_PARAMETERS: u64 = 1;
    pub const SHAPE_NAMES: u64 = 3;
}

/// Maximum number of bytes of a module; protocol buffers end at 2 GiB.
const MOST_BYTES: usize = 1 << 30;

/// Computations of one module that are finished.
#[derive(Default)]
pub struct Link {
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Protos of the computations; those that a computation applies come before it.
    computations: Vec<Message>,
    bytes: usize,
    /// Number of the computation that was added last.
    last: u64,
    /// Numbers of the computations of bodies, by digest.
    bodies: FxHashMap<Vec<u32>, u64>,
}

impl Link {
    /// Returns the number of the computation of a body; `build` builds it when it is first asked for.
    pub fn body(&self, body: &Arc<Body>, build: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(&number) = self.inner.borrow().bodies.get(body.digest()) {
            return Ok(number);
        }
        let number = build()?;
        self.inner.borrow_mut().bodies.insert(body.digest().to_vec(), number);
        Ok(number)
    }

    /// Adds a computation, and returns its number.
    pub fn add(&self, unlinked: &Unlinked, root: &XlaOp) -> Result<u64> {
        Ok(self.finish(unlinked, root)?.1)
    }

    /// Returns the module with this entry and all computations that were added. XLA chooses which outputs take the
    /// memory of the parameters in `donors`, which XlaBuilder cannot say.
    pub fn module(&self, entry: &Unlinked, root: &XlaOp, donors: &[usize]) -> Result<XlaComputation> {
        let (built, number) = self.finish(entry, root)?;
        let mut module = Message::new();
        for field in fields(&built)? {
            module = match field.number {
                field::COMPUTATIONS => module,
                field::ENTRY_NAME => module.content(field::ENTRY_NAME, named(field.text(), number).as_bytes()),
                field::MODULE_ENTRY_ID => module.number(field::MODULE_ENTRY_ID, number as i64),
                field::PROGRAM_SHAPE => module.message(field::PROGRAM_SHAPE, &without_holes(&field, entry)?),
                _ => module.fields(field.whole),
            };
        }
        for computation in &self.inner.borrow().computations {
            module = module.message(field::COMPUTATIONS, computation);
        }
        let donor = |all: Message, &donor: &usize| all.message(1, &Message::new().number(1, donor as i64));
        module = module.message(field::BUFFER_DONORS, &donors.iter().fold(Message::new(), donor));
        // The crate reads a snapshot first. A module alone might be read as one.
        let snapshot = Message::new().message(1, &Message::new().message(1, &module));
        let parsed = HloModuleProto::parse_proto(snapshot.bytes(), true).map_err(failed)?;
        Ok(XlaComputation::from_proto(&parsed))
    }

    /// Builds a computation and adds it, after those that XlaBuilder copied into its module. Returns the module as
    /// built, and the number of the computation.
    fn finish(&self, unlinked: &Unlinked, root: &XlaOp) -> Result<(Vec<u8>, u64)> {
        let built = unlinked.builder.build(root).and_then(|made| made.proto().to_bytes()).map_err(failed)?;
        let mut numbers: FxHashMap<u64, u64> = FxHashMap::default();
        let all = fields(&built)?;
        let inner = &mut *self.inner.borrow_mut();
        let entry = all.iter().find(|field| field.number == field::MODULE_ENTRY_ID).map_or(0, |field| field.value);
        for computation in all.iter().filter(|field| field.number == field::COMPUTATIONS) {
            let parts = fields(computation.content)?;
            let id = parts.iter().find(|part| part.number == field::COMPUTATION_ID).map_or(0, |part| part.value);
            inner.last += 1;
            numbers.insert(id, inner.last);
            let edited = Edit { number: inner.last, numbers: &numbers, holes: (id == entry).then_some(unlinked) };
            let edited = edited.computation(&parts)?;
            inner.bytes += edited.bytes().len();
            if inner.bytes > MOST_BYTES {
                return Err(error!(
                    ResourceExhausted,
                    "the program is too large for the engine xla-rs: its module has more than {MOST_BYTES} bytes"
                ));
            }
            inner.computations.push(edited);
        }
        let number = numbers.get(&entry).copied();
        let number = number.ok_or_else(|| error!(Internal, "XlaBuilder built a module without its entry"))?;
        Ok((built, number))
    }
}

/// The name of a computation or instruction, unique in the module.
fn named(name: &str, number: u64) -> String {
    format!("{name}.c{number}")
}

/// Returns a shape, with another dtype if one is given.
fn with_element(shape: &Field, element: Option<u64>) -> Result<Message> {
    let mut edited = Message::new();
    for part in fields(shape.content)? {
        edited = match element {
            Some(element) if part.number == field::ELEMENT_TYPE => edited.number(field::ELEMENT_TYPE, element as i64),
            _ => edited.fields(part.whole),
        };
    }
    Ok(edited)
}

/// Returns a program shape without the parameters that are holes.
fn without_holes(shape: &Field, unlinked: &Unlinked) -> Result<Message> {
    let (mut kept, mut parameters, mut names) = (Message::new(), 0, 0);
    for part in fields(shape.content)? {
        let count = match part.number {
            field::SHAPE_PARAMETERS => &mut parameters,
            field::SHAPE_NAMES => &mut names,
            _ => {
                kept = kept.fields(part.whole);
                continue;
            }
        };
        *count += 1;
        if *count <= unlinked.parameters {
            kept = kept.fields(part.whole);
        }
    }
    Ok(kept)
}

/// Edit of one computation.
struct Edit<'a> {
    /// Its number in the linked module.
    number: u64,
    /// New numbers of the computations of the module in which it was built.
    numbers: &'a FxHashMap<u64, u64>,
    /// The computation, if it is the one whose holes are filled.
    holes: Option<&'a Unlinked>,
}

/// The fields of an instruction that are edited.
struct Parts<'a> {
    all: Vec<Field<'a>>,
}

impl Parts<'_> {
    fn find(&self, number: u64) -> Option<&Field<'_>> {
        self.all.iter().find(|field| field.number == number)
    }

    fn numbers(&self, number: u64) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for field in self.all.iter().filter(|field| field.number == number) {
            numbers.extend(field.numbers()?);
        }
        Ok(numbers)
    }
}

impl Edit<'_> {
    fn computation(&self, parts: &[Field]) -> Result<Message> {
        let mut edited = Message::new();
        // The instruction before, which is not written yet: if it is the tuple of a hole's operands, it never is.
        let mut before: Option<(Parts, Message)> = None;
        for part in parts {
            edited = match part.number {
                field::NAME => edited.content(field::NAME, named(part.text(), self.number).as_bytes()),
                field::COMPUTATION_ID => edited.number(field::COMPUTATION_ID, self.number as i64),
                field::ROOT_ID => edited.number(field::ROOT_ID, self.id(part.value)),
                field::PROGRAM_SHAPE => match self.holes {
                    Some(unlinked) => edited.message(field::PROGRAM_SHAPE, &without_holes(part, unlinked)?),
                    None => edited.fields(part.whole),
                },
                field::INSTRUCTIONS => {
                    let instruction = Parts { all: fields(part.content)? };
                    let made = match self.hole(&instruction) {
                        Some(hole) => {
                            let tuple = before.take();
                            self.filled(&instruction, hole, tuple.as_ref().map(|(parts, _)| parts))?
                        }
                        None => self.instruction(&instruction)?,
                    };
                    match before.replace((instruction, made)) {
                        Some((_, made)) => edited.message(field::INSTRUCTIONS, &made),
                        None => edited,
                    }
                }
                _ => edited.fields(part.whole),
            };
        }
        Ok(match before {
            Some((_, made)) => edited.message(field::INSTRUCTIONS, &made),
            None => edited,
        })
    }

    /// Number of the hole that an instruction is.
    fn hole(&self, instruction: &Parts) -> Option<usize> {
        let unlinked = self.holes?;
        let is_parameter = instruction.find(field::OPCODE)?.text() == "parameter";
        let number = instruction.find(field::PARAMETER_NUMBER).map_or(0, |field| field.value as usize);
        if is_parameter { number.checked_sub(unlinked.parameters) } else { None }
    }

    /// The unique number of an instruction: that of its computation in the upper half.
    fn id(&self, id: u64) -> i64 {
        (self.number << 32 | id & 0xFFFF_FFFF) as i64
    }

    /// The fields of an instruction that name others.
    fn links(&self, edited: Message, own: u64, operands: &[u64], predecessors: &[u64], called: &[u64]) -> Message {
        // Where numbers are unique in a computation only, operands have no upper half.
        let is_local = own >> 32 != 0;
        let of = |&id: &u64| if is_local { (id & 0xFFFF_FFFF) as i64 } else { self.id(id) };
        edited
            .number(field::ID, self.id(own))
            .numbers(field::OPERANDS, operands.iter().map(of))
            .numbers(field::PREDECESSORS, predecessors.iter().map(of))
            .numbers(field::CALLED, called.iter().map(|&number| number as i64))
    }

    fn instruction(&self, parts: &Parts) -> Result<Message> {
        let mut edited = Message::new();
        for part in &parts.all {
            edited = match part.number {
                field::NAME => edited.content(field::NAME, named(part.text(), self.number).as_bytes()),
                field::ID | field::OPERANDS | field::PREDECESSORS | field::CALLED => edited,
                _ => edited.fields(part.whole),
            };
        }
        let own = parts.find(field::ID).map_or(0, |field| field.value);
        let new = |id: &u64| self.numbers.get(id).copied();
        let called: Option<Vec<u64>> = parts.numbers(field::CALLED)?.iter().map(new).collect();
        let called = called.ok_or_else(|| error!(Internal, "XlaBuilder applies a computation before it is there"))?;
        let (operands, predecessors) = (parts.numbers(field::OPERANDS)?, parts.numbers(field::PREDECESSORS)?);
        Ok(self.links(edited, own, &operands, &predecessors, &called))
    }

    /// The instruction that replaces a hole. `before` is the tuple of its operands.
    fn filled(&self, parts: &Parts, hole: usize, before: Option<&Parts>) -> Result<Message> {
        let holes = self.holes.map(|unlinked| unlinked.holes.borrow());
        let lost = || error!(Internal, "XlaBuilder lost the hole {hole}");
        let hole = holes.as_ref().and_then(|holes| holes.get(hole)).ok_or_else(lost)?;
        let tuple = before.filter(|parts| parts.find(field::OPCODE).is_some_and(|opcode| opcode.text() == "tuple"));
        let operands = tuple.ok_or_else(lost)?.numbers(field::OPERANDS)?;
        let own = parts.find(field::ID).map_or(0, |field| field.value);
        let name = parts.find(field::NAME).map_or("", |field| field.text());
        let edited = Message::new()
            .content(field::NAME, named(name, self.number).as_bytes())
            .content(field::OPCODE, hole.opcode.as_bytes())
            .message(field::SHAPE, &with_element(parts.find(field::SHAPE).ok_or_else(lost)?, hole.element)?)
            .fields(hole.attributes.bytes());
        Ok(self.links(edited, own, &operands, &[], &hole.called))
    }
}
