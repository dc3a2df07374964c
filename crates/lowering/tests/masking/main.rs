//! Masked programs, evaluated with garbage in the padding, against the programs that they are made from.

mod control;
mod harness;
mod indexing;
mod networks;
mod operations;
mod programs;
mod refusals;
