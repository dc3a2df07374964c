//! Traces and programs of `ir`, recorded by operations.

mod body;
mod groups;
mod linear;
mod numbers;
mod sizes;
