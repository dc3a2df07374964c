//! One operation, recorded in a trace and in a builder.

use base::error::Result;
use base::types::{DType, TensorType};
use ir::{NodeId, Trace};
use lazyxla_xla_rs::element_type;
use std::fmt;
use xla::{Shape, XlaBuilder, XlaOp};

/// Types of the results, or why there are none.
type Outcome = std::result::Result<Vec<TensorType>, String>;

/// A trace and a builder with the same operands.
pub struct Both {
    pub trace: Trace,
    pub builder: XlaBuilder,
    /// Types of the operands.
    pub operands: Vec<TensorType>,
    /// The other arguments, in words.
    pub arguments: String,
    ours: Outcome,
    theirs: Outcome,
}

/// Who accepted.
pub enum Verdict {
    Same,
    BothRefuse,
    OnlyOurs,
    OnlyTheirs,
    OtherTypes,
}

/// An operand: its node and its value in the builder.
#[derive(Clone)]
pub struct Operand {
    pub node: NodeId,
    pub op: XlaOp,
    pub ty: TensorType,
}

impl Both {
    pub fn new() -> Both {
        let (trace, builder) = (Trace::new(), XlaBuilder::new("judge"));
        let nothing = || Err("nothing was recorded".to_string());
        Both { trace, builder, operands: vec![], arguments: String::new(), ours: nothing(), theirs: nothing() }
    }

    /// Adds an operand.
    pub fn operand(&mut self, ty: &TensorType) -> Operand {
        let number = self.operands.len() as i64;
        let element = element_type(ty.dtype);
        let op = self.builder.parameter(number, element, &ty.dims, &format!("p{number}")).expect("a valid type");
        self.operands.push(ty.clone());
        Operand { node: self.trace.parameter(ty.clone()), op, ty: ty.clone() }
    }

    /// Records the operation in the trace.
    pub fn ours(&mut self, made: impl FnOnce(&mut Trace) -> Result<Vec<NodeId>>) {
        let made = made(&mut self.trace);
        let types = |nodes: Vec<NodeId>| nodes.into_iter().map(|node| self.trace.ty(node)).collect();
        self.ours = made.map(types).map_err(|error| error.message.to_string());
    }

    /// Takes what the builder made.
    pub fn theirs(&mut self, made: xla::Result<XlaOp>) {
        self.theirs = made
            .and_then(|op| op.shape())
            .map_err(|error| match error {
                xla::Error::XlaError { msg, .. } => msg.lines().next().unwrap_or_default().to_string(),
                other => other.to_string(),
            })
            .map(|shape| types(&shape));
    }

    pub fn verdict(&self) -> Verdict {
        match (&self.ours, &self.theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => Verdict::Same,
            (Ok(_), Ok(_)) => Verdict::OtherTypes,
            (Err(_), Err(_)) => Verdict::BothRefuse,
            (Ok(_), Err(_)) => Verdict::OnlyOurs,
            (Err(_), Ok(_)) => Verdict::OnlyTheirs,
        }
    }

    /// Why XLA refused.
    pub fn their_error(&self) -> &str {
        self.theirs.as_ref().err().map_or("", String::as_str)
    }

    /// Why we refused.
    pub fn our_error(&self) -> &str {
        self.ours.as_ref().err().map_or("", String::as_str)
    }
}

/// The arrays of a shape.
fn types(shape: &Shape) -> Vec<TensorType> {
    match shape {
        Shape::Tuple(all) => all.iter().flat_map(types).collect(),
        Shape::Array(array) => {
            let of = |dtype: &DType| element_type(*dtype) == array.element_type();
            let dtype = crate::draw::DTYPES.into_iter().find(of).expect("a dtype that is drawn");
            vec![TensorType::new(dtype, array.dims())]
        }
        Shape::Unsupported(_) => vec![],
    }
}

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let operands: Vec<String> = self.operands.iter().map(TensorType::to_string).collect();
        let of = |outcome: &Outcome| match outcome {
            Ok(types) => types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => format!("refused ({error})"),
        };
        write!(f, "{} {}; ours {}; XLA {}", operands.join(" "), self.arguments, of(&self.ours), of(&self.theirs))
    }
}
