//! Free sizes. A size of a tensor in a file is a number or an expression of symbols, whose values follow from the sizes
//! of the user's inputs.

use base::error;
use base::error::{Result, quoted};
use lazyxla_pytorch::{Size, Symbols};
use rustc_hash::FxHashMap;

/// Values of symbols.
#[derive(Debug, Default)]
pub struct Bound(FxHashMap<String, i64>);

/// The symbol that an expression consists of; None for any other expression.
pub fn symbol(expression: &str) -> Option<&str> {
    match expression.strip_prefix("Symbol('") {
        Some(rest) => {
            rest.split_once('\'').filter(|(_, end)| end.find(')') == Some(end.len() - 1)).map(|(name, _)| name)
        }
        // Schema 5 writes the symbol alone.
        None => is_word(expression).then_some(expression),
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A size as messages and descriptions name it.
pub fn shown(size: &Size) -> String {
    match size {
        Size::Fixed(size) => size.to_string(),
        Size::Expression(expression) => symbol(expression).unwrap_or(expression).to_string(),
    }
}

impl Bound {
    /// Takes a size of an input: a symbol that is new gets its value, any other size must have it.
    pub fn bind(&mut self, size: &Size, given: i64) -> Result<()> {
        let wanted = match size {
            Size::Fixed(wanted) => Some(*wanted),
            Size::Expression(expression) => match symbol(expression) {
                Some(name) => Some(*self.0.entry(name.to_string()).or_insert(given)),
                None => self.value(expression),
            },
        };
        match wanted {
            Some(wanted) if wanted != given => {
                Err(error!(InvalidArgument, "{given} given; want {wanted} ({})", shown(size)))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the values lie within the ranges that the file states.
    pub fn check(&self, symbols: &Symbols) -> Result<()> {
        for (name, &(low, high)) in symbols {
            let Some(&value) = self.0.get(name) else { continue };
            if low.is_some_and(|low| value < low) || high.is_some_and(|high| value > high) {
                let bound = |bound: Option<i64>| bound.map_or("any".to_string(), |bound| bound.to_string());
                return Err(error!(
                    InvalidArgument,
                    "the free size {} is {value}; the program was exported for {} to {}",
                    quoted(name),
                    bound(low),
                    bound(high)
                ));
            }
        }
        Ok(())
    }

    /// The value of an expression; None if it has a function or a symbol that is not known.
    pub fn value(&self, expression: &str) -> Option<i64> {
        let mut parser = Parser { rest: expression, bound: self, depth: 0 };
        let value = parser.expression()?;
        parser.rest.is_empty().then_some(value)
    }
}

/// Reads expressions as SymPy writes them: `Mul(Integer(2), Symbol('s0', integer=True))`.
struct Parser<'e> {
    rest: &'e str,
    bound: &'e Bound,
    depth: usize,
}

impl<'e> Parser<'e> {
    fn eat(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(text)?;
        Some(())
    }

    fn word(&mut self) -> &'e str {
        let end =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn expression(&mut self) -> Option<i64> {
        self.depth += 1;
        // Files are not trusted.
        if self.depth > 64 {
            return None;
        }
        self.rest = self.rest.trim_start();
        let value = match self.word() {
            "Symbol" => {
                let (inside, rest) = self.rest.strip_prefix("('")?.split_once(')')?;
                self.rest = rest;
                *self.bound.0.get(inside.split_once('\'')?.0)?
            }
            "Integer" => {
                self.eat("(")?;
                let value = self.word().parse().ok()?;
                self.eat(")")?;
                value
            }
            "Mul" => self.folded(i64::checked_mul)?,
            "Add" => self.folded(i64::checked_add)?,
            word => match word.parse() {
                Ok(value) => value,
                Err(_) => *self.bound.0.get(word)?,
            },
        };
        self.depth -= 1;
        Some(value)
    }

    fn folded(&mut self, combine: impl Fn(i64, i64) -> Option<i64>) -> Option<i64> {
        self.eat("(")?;
        let mut value = self.expression()?;
        while self.eat(",").is_some() {
            value = combine(value, self.expression()?)?;
        }
        self.eat(")")?;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(expression: &str) -> Size {
        Size::Expression(expression.into())
    }

    #[test]
    fn symbols_agree_and_lie_in_their_ranges() {
        let (s0, s1) = ("Symbol('s0', positive=True, integer=True)", "Symbol('s1', integer=True)");
        let mut bound = Bound::default();
        bound.bind(&free(s0), 5).unwrap();
        bound.bind(&free(s1), 3).unwrap();
        bound.bind(&free(s0), 5).unwrap();
        assert!(bound.bind(&free(s0), 6).unwrap_err().message.contains("6 given; want 5 (s0)"));
        assert!(bound.bind(&Size::Fixed(4), 3).unwrap_err().message.contains("3 given; want 4"));
        let product = format!("Mul(Integer(2), Add({s0}, Integer(-1), {s1}))");
        assert_eq!(bound.value(&product), Some(14));
        bound.bind(&free(&product), 14).unwrap();
        assert!(bound.bind(&free(&product), 15).is_err());
        bound.bind(&free("FloorDiv(Symbol('s0'), Integer(2))"), 2).unwrap();
        bound.check(&[("s0".to_string(), (Some(2), Some(5)))].into()).unwrap();
        let e = bound.check(&[("s0".to_string(), (Some(0), Some(4)))].into()).unwrap_err();
        assert!(e.message.contains("is 5; the program was exported for 0 to 4"), "{}", e.message);
    }

    #[test]
    fn odd_expressions_have_no_value() {
        let mut bound = Bound::default();
        bound.bind(&free("s0"), 7).unwrap();
        assert_eq!((symbol("s0"), symbol("2*s0"), bound.value("s0")), (Some("s0"), None, Some(7)));
        let deep = "Add(".repeat(10_000);
        for odd in ["", "Symbol('x')", "Mul(", "Mul(Integer(2)", "Integer(x)", "Symbol('s0", "s0 s0", &deep] {
            assert_eq!(bound.value(odd), None, "{odd}");
        }
        let huge = "Mul(Integer(9223372036854775807), Integer(2))";
        assert_eq!(bound.value(huge), None);
    }
}
