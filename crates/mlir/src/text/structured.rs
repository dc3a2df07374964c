//! Reads the pretty forms that products, convolutions, slices, reductions and loops have.

use super::super::{Attribute, Data, Dense, Element, Location, Numbers, Region, TensorShape, Type};
use super::attributes::integers;
use super::draft::Draft;
use super::lexer::Token;
use super::operations::Argument;
use super::parser::{Integers, Parser};
use base::error::{Result, quoted};
use base::types::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// Operations that `reduce` may name instead of a region.
const REDUCERS: &[&str] = &["add", "and", "maximum", "minimum", "multiply", "or", "xor"];

/// The operation of a reduction, if the text names it, and the dimensions.
struct Reducer {
    name: Arc<str>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn set_integers(&mut self, draft: &mut Draft, name: &str, values: &[i64]) {
        draft.set(self.name(name), integers(values));
    }

    /// Reads `[0:2, 0:4:2]`: start, limit and stride of each dimension.
    pub fn ranges(&mut self, draft: &mut Draft) -> Result<()> {
        let ranges = self.list('[', ']', |p| {
            let start = p.integer("a start")?;
            p.expect(':')?;
            let limit = p.integer("a limit")?;
            let stride = if p.take(':')? { p.integer("a stride")? } else { 1 };
            Ok([start, limit, stride])
        })?;
        for (i, name) in ["start_indices", "limit_indices", "strides"].into_iter().enumerate() {
            let values: SmallVec<[i64; 8]> = ranges.iter().map(|range| range[i]).collect();
            self.set_integers(draft, name, &values);
        }
        Ok(())
    }

    /// Reads `, precision = [HIGH, DEFAULT], algorithm = <...>`, either of them, or nothing.
    pub fn precision(&mut self, draft: &mut Draft) -> Result<()> {
        while self.take(',')? {
            match self.word("\"precision\" or \"algorithm\"")? {
                "precision" => {
                    self.expect('=')?;
                    let cases = self.list('[', ']', Self::enumeration)?;
                    draft.set(self.name("precision_config"), Attribute::Array(cases.into()));
                }
                "algorithm" => {
                    self.expect('=')?;
                    draft.set(self.name("algorithm"), self.dot_algorithm()?);
                }
                _ => return Err(self.refuse("expected \"precision\" or \"algorithm\" before this")),
            }
        }
        Ok(())
    }

    /// Reads `batching_dims = [0] x [0], contracting_dims = [1] x [0]`; the first part may be missing.
    pub fn contraction(&mut self, draft: &mut Draft) -> Result<()> {
        let mut batching = Default::default();
        if self.take_word("batching_dims")? {
            batching = self.pair_of_lists()?;
            self.expect(',')?;
        }
        self.expect_word("contracting_dims")?;
        let contracting = self.pair_of_lists()?;
        self.set_integers(draft, "lhs_batching_dimensions", &batching.0);
        self.set_integers(draft, "rhs_batching_dimensions", &batching.1);
        self.set_integers(draft, "lhs_contracting_dimensions", &contracting.0);
        self.set_integers(draft, "rhs_contracting_dimensions", &contracting.1);
        Ok(())
    }

    fn pair_of_lists(&mut self) -> Result<(Integers, Integers)> {
        self.expect('=')?;
        let lhs = self.integers("a dimension")?;
        self.expect_word("x")?;
        Ok((lhs, self.integers("a dimension")?))
    }

    /// Reads `[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],`.
    pub fn convolution_axes(&mut self, draft: &mut Draft) -> Result<()> {
        let value = self.convolution_dimensions(',')?;
        draft.set(self.name("dimension_numbers"), value);
        Ok(())
    }

    /// Reads `{stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = ..., rhs_dilate = ..., reverse = ...}`.
    pub fn window(&mut self, draft: &mut Draft) -> Result<()> {
        self.expect('{')?;
        while !self.take('}')? {
            let start = self.start;
            let field = self.word("a property of a window")?;
            self.expect('=')?;
            match field {
                "pad" => {
                    let value = self.padding()?;
                    draft.set(self.name("padding"), value);
                }
                "stride" | "lhs_dilate" | "rhs_dilate" => {
                    let name = match field {
                        "stride" => "window_strides",
                        "lhs_dilate" => "lhs_dilation",
                        _ => "rhs_dilation",
                    };
                    let values = self.integers("a number")?;
                    self.set_integers(draft, name, &values);
                }
                "reverse" => {
                    let values = self.list('[', ']', |p| match p.token {
                        Token::Word(_) => Ok(u8::from(p.boolean()?)),
                        _ => Ok(u8::from(p.integer("\"true\" or \"false\"")? != 0)),
                    })?;
                    let values = Attribute::Numbers(Numbers { dtype: DType::Pred, bytes: values.into() });
                    draft.set(self.name("window_reversal"), values);
                }
                _ => return Err(self.refuse_at(start, format!("a window has no property {}", quoted(field)))),
            }
            if !self.take(',')? && !self.is('}') {
                return Err(self.expected("\",\" or \"}\""));
            }
        }
        Ok(())
    }

    /// Reads `[[0, 0], [1, 1]]` as a tensor.
    fn padding(&mut self) -> Result<Attribute> {
        let start = self.start;
        let pairs = self.list('[', ']', |p| p.integers("a number of elements"))?;
        if pairs.iter().any(|pair| pair.len() != 2) {
            return Err(self.refuse_at(start, "expected two numbers for each dimension"));
        }
        let dims = SmallVec::from_slice(&[pairs.len() as i64, 2]);
        let ty = self.shared(Type::Tensor(TensorShape::new(Element::DType(DType::S64), dims)));
        let values: Vec<i64> = pairs.into_iter().flatten().collect();
        let data = match values.first() {
            Some(first) if values.iter().all(|value| value == first) => Data::Splat(first.to_le_bytes().into()),
            _ => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                Data::Whole { bytes: 0..bytes.len(), owner: Arc::new(bytes) }
            }
        };
        Ok(Attribute::Dense(Dense { ty, data }.into()))
    }

    /// Reads `(%0 init: %1), ... applies stablehlo.add across dimensions = [1] : type`, or
    /// `(%0 init: %1), ... across dimensions = [1] : type reducer(%a: A, %b: A) ... { ... }`.
    pub fn reduce(&mut self, draft: &mut Draft) -> Result<()> {
        if self.after().trim_start().starts_with(')') {
            return Err(self.refuse("a reduction has no operands"));
        }
        let pairs = self.items(|p| {
            p.expect('(')?;
            let input = p.value()?;
            p.expect_word("init")?;
            p.expect(':')?;
            let init = p.value()?;
            p.expect(')')?;
            Ok((input, init))
        })?;
        draft.operands = pairs.iter().map(|(input, _)| *input).chain(pairs.iter().map(|(_, init)| *init)).collect();
        let reducer = if self.take_word("applies")? { Some(self.reducer()?) } else { None };
        self.expect_word("across")?;
        self.expect_word("dimensions")?;
        self.expect('=')?;
        let dimensions = self.integers("a dimension")?;
        self.set_integers(draft, "dimensions", &dimensions);
        let more = self.optional_dictionary()?;
        draft.attributes.extend(more);
        self.expect(':')?;
        let signature = self.function_type()?;
        self.finish(draft, signature)?;
        let region = match reducer {
            Some(reducer) => {
                let location = self.optional_location()?;
                let region = self.region_of(reducer, draft, &location)?;
                draft.location = Some(location);
                region
            }
            None => {
                self.expect_word("reducer")?;
                let arguments = self.paired_arguments()?;
                self.region(&arguments, false)?
            }
        };
        draft.regions.push(region);
        Ok(())
    }

    fn reducer(&mut self) -> Result<Reducer> {
        let at = self.start;
        let word = self.word("the operation of a reduction")?;
        match word.strip_prefix("stablehlo.") {
            Some(name) if REDUCERS.contains(&name) => Ok(Reducer { name: self.name(word), at }),
            _ => Err(self.refuse_at(at, format!("expected a commutative operation, found {}", quoted(word)))),
        }
    }

    /// Creates the region that applies an operation to scalars of the type of the first operand, as its text would.
    fn region_of(&mut self, reducer: Reducer, draft: &Draft, location: &Location) -> Result<Region> {
        let element = match draft.operands.first().map(|value| &*self.types[value.0 as usize]) {
            Some(Type::Tensor(shape)) => shape.element.clone(),
            _ => return Err(self.refuse_at(reducer.at, "the operand of a reduction is not a tensor")),
        };
        let ty = self.shared(Type::Tensor(TensorShape::new(element, SmallVec::new())));
        self.block_of(reducer.name, ty, location)
    }

    /// Reads `(%0) inits (%1) dimension=0 attributes {...} { ... } : type`.
    pub fn scan(&mut self, draft: &mut Draft) -> Result<()> {
        let inputs = self.list('(', ')', Self::value)?;
        self.expect_word("inits")?;
        let inits = self.list('(', ')', Self::value)?;
        draft.operands = inputs.iter().chain(&inits).copied().collect();
        self.expect_word("dimension")?;
        self.expect('=')?;
        let dimension = self.index("a dimension")?;
        draft.set(self.name("dimension"), dimension);
        if self.take_word("attributes")? {
            let more = self.dictionary()?;
            draft.attributes.extend(more);
        }
        let region = self.region(&[], true)?;
        draft.regions.push(region);
        self.expect(':')?;
        let signature = self.function_type()?;
        self.finish(draft, signature)?;
        let Some(outputs) = draft.results.len().checked_sub(inits.len()) else {
            return Err(self.refuse_at(draft.at, "a scan has fewer results than initial values"));
        };
        self.set_integers(draft, "operandSegmentSizes", &[inputs.len() as i64, inits.len() as i64]);
        self.set_integers(draft, "resultSegmentSizes", &[outputs as i64, inits.len() as i64]);
        Ok(())
    }

    /// Reads `(%a = %0, %b = %1) : A, B attributes {...} cond { ... } do { ... }`.
    pub fn while_loop(&mut self, draft: &mut Draft) -> Result<()> {
        let pairs = self.list('(', ')', |p| {
            let name = p.value_name()?;
            p.expect('=')?;
            Ok((name, p.value()?))
        })?;
        draft.operands = pairs.iter().map(|(_, value)| *value).collect();
        let types = match pairs.is_empty() {
            true => Vec::new(),
            false => {
                self.expect(':')?;
                self.items(Self::ty)?
            }
        };
        self.finish(draft, (types.iter().cloned().collect(), types.iter().cloned().collect()))?;
        if self.take_word("attributes")? {
            draft.attributes = self.dictionary()?;
        }
        let arguments: Vec<Argument> = pairs.iter().zip(types).map(|(((name, at), _), ty)| (*name, *at, ty)).collect();
        for keyword in ["cond", "do"] {
            self.expect_word(keyword)?;
            let region = self.region(&arguments, false)?;
            draft.regions.push(region);
        }
        Ok(())
    }
}
