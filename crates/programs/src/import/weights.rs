//! Weights of a folder, which become constants of its function. Each is checked against the function before it is read,
//! and weights that the folder lists several times are read once and share their memory: a small folder cannot ask for
//! more memory than its files have.

use super::functions::{body_of, main_function};
use super::program::STACK;
use super::tuples::without_tuples;
use super::types::{check_fits, shape_of};
use base::error;
use base::error::Result;
use base::stack::{MOST_DEPTH, with_stack};
use base::types::TensorType;
use mlir::{Module, TensorShape};
use native::Array;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Weights that are read, by their places in files.
pub struct Weights<K> {
    /// Types of the parameters of the function, or the errors for types that it cannot have.
    shapes: Vec<Result<TensorShape>>,
    read: FxHashMap<K, Array>,
    constants: Vec<(usize, Array)>,
}

impl<K: Eq + Hash> Weights<K> {
    /// Starts with the wanted function of a program. `listed` is the number of parameters and weights that the folder
    /// lists; an error unless it is the number of the function's parameters.
    pub fn new(module: &Module, function: Option<&str>, listed: usize) -> Result<Weights<K>> {
        let shapes = with_stack(STACK, MOST_DEPTH, || {
            let flat = without_tuples(module)?;
            let module = flat.as_ref().unwrap_or(module);
            let arguments = &body_of(main_function(module, function)?)?.arguments;
            if arguments.len() != listed {
                let count = arguments.len();
                return Err(error!(
                    InvalidArgument,
                    "it lists {listed} parameters and weights; the function of the program has {count} parameters"
                ));
            }
            Ok(arguments.iter().map(|&value| shape_of(module, value).cloned()).collect())
        })?;
        Ok(Weights { shapes, read: FxHashMap::default(), constants: Vec::new() })
    }

    /// Adds the weight of the parameter with this number, which is less than `listed`: one of type `ty` at `place`,
    /// whose bytes `read` returns.
    pub fn add(
        &mut self,
        number: usize,
        place: K,
        ty: &TensorType,
        read: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<()> {
        let shape = self.shapes[number].as_ref().map_err(Clone::clone)?;
        check_fits(shape, ty)?;
        let array = match self.read.get(&place) {
            Some(array) if array.ty() == ty => array.clone(),
            Some(array) => {
                let before = array.ty();
                return Err(error!(InvalidArgument, "it is listed as {ty}, and before as {before}"));
            }
            None => {
                let array = Array::from_bytes(ty, &read()?)?;
                self.read.insert(place, array.clone());
                array
            }
        };
        self.constants.push((number, array));
        Ok(())
    }

    /// Returns the weights with the numbers of their parameters.
    pub fn finish(self) -> Vec<(usize, Array)> {
        self.constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;
    use mlir::text;

    #[test]
    fn weights_fit_the_function_and_are_read_once() {
        let module = "func.func @main(%0: tensor<2xf32>, %1: tensor<?xf32>, %2: tensor<3xf32>) -> tensor<2xf32> \
                      { return %0 : tensor<2xf32> }";
        let module = text::read(module).unwrap();
        let wrong = Weights::<u32>::new(&module, None, 2).map(|_| ()).unwrap_err();
        assert!(wrong.message.contains("it lists 2 parameters and weights; the function"), "{wrong}");
        let ty = TensorType::new(DType::F32, &[2]);
        let mut weights = Weights::new(&module, None, 3).unwrap();
        weights.add(0, 7, &ty, || Ok(vec![1; 8])).unwrap();
        weights.add(1, 7, &ty, || panic!("it is read a second time")).unwrap();
        // No bytes of a weight are read that does not fit.
        let unread = || panic!("it is read although it does not fit");
        let shape = weights.add(2, 8, &ty, unread).unwrap_err();
        assert!(shape.message.contains("the module states the type tensor<3xf32> for a value of type"), "{shape}");
        let other = weights.add(1, 7, &TensorType::new(DType::F32, &[1]), unread).unwrap_err();
        assert!(other.message.contains("and before as"), "{other}");
        let made = weights.finish();
        assert_eq!(made.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(made[0].1.address(), made[1].1.address());
    }
}
