//! Masked programs, evaluated with garbage in the padding, against the programs that they are made from.

mod harness;
mod operations;
