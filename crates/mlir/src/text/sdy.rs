//! Reads attributes of Shardy. Records and fields have the names of the dialect's definition, as in bytecode.

use super::super::{Attribute, Element};
use super::attributes::integers;
use super::dialects::record;
use super::parser::{Integers, Named, Parser};
use base::error::Result;
use base::types::DType;

impl<'t> Parser<'t> {
    /// Reads the rest of an attribute of Shardy after its name; None if the name is not known.
    pub fn sdy_attribute(&mut self, name: &str) -> Result<Option<Attribute>> {
        Ok(Some(match name {
            "mesh" => self.mesh()?,
            "sharding" => self.sharding()?,
            "sharding_per_value" => {
                self.expect('<')?;
                let shardings = self.shardings()?;
                self.expect('>')?;
                shardings
            }
            "manual_axes" => self.manual_axes()?,
            "propagation_direction" => self.enumeration()?,
            _ => return Ok(None),
        }))
    }

    /// Reads an attribute whose name may be left out, by its body.
    pub fn stripped(&mut self, body: impl FnOnce(&mut Self) -> Result<Attribute>) -> Result<Attribute> {
        if matches!(self.token, super::lexer::Token::Hash(_)) { self.attribute() } else { body(self) }
    }

    /// Reads `<["x"=2, "y"=4], device_ids=[0, 1]>`.
    pub fn mesh(&mut self) -> Result<Attribute> {
        self.expect('<')?;
        let axes = self.list('[', ']', |p| {
            let name = p.axis_name()?;
            p.expect('=')?;
            let size = p.index("the size of an axis")?;
            Ok(record("sdy.mesh_axis", vec![("name".into(), name), ("size".into(), size)]))
        })?;
        let mut devices = Integers::new();
        if self.take(',')? {
            self.expect_word("device_ids")?;
            self.expect('=')?;
            devices = self.integers("a device")?;
        }
        self.expect('>')?;
        let axes = Attribute::Array(axes.into());
        let devices = integers(&devices);
        Ok(record("sdy.mesh", vec![("axes".into(), axes), ("device_ids".into(), devices)]))
    }

    fn axis_name(&mut self) -> Result<Attribute> {
        Ok(Attribute::String(self.string("the name of an axis")?))
    }

    /// Reads `<@mesh, [{"x"}, {?}], replicated={"y"}>`.
    pub fn sharding(&mut self) -> Result<Attribute> {
        self.expect('<')?;
        let mesh = if self.take_word("mesh")? { self.mesh()? } else { self.symbol()? };
        self.expect(',')?;
        let dims = self.list('[', ']', Self::dim_sharding)?;
        let (mut replicated, mut unreduced) = (Vec::new(), Vec::new());
        while self.take(',')? {
            let place = match self.word("\"replicated\" or \"unreduced\"")? {
                "replicated" => &mut replicated,
                "unreduced" => &mut unreduced,
                _ => return Err(self.refuse("expected \"replicated\" or \"unreduced\" before this")),
            };
            self.expect('=')?;
            *place = self.list('{', '}', Self::axis)?;
        }
        self.expect('>')?;
        let mut fields: Named = vec![
            ("mesh_or_ref".into(), mesh),
            ("dim_shardings".into(), Attribute::Array(dims.into())),
            ("replicated_axes".into(), Attribute::Array(replicated.into())),
        ];
        if !unreduced.is_empty() {
            fields.push(("unreduced_axes".into(), Attribute::Array(unreduced.into())));
        }
        Ok(record("sdy.sharding", fields))
    }

    /// Reads `{"x", "y":(1)2, ?}p1`, the axes of one dimension.
    pub fn dim_sharding(&mut self) -> Result<Attribute> {
        self.expect('{')?;
        let mut axes = Vec::new();
        let mut is_closed = true;
        while !self.take('}')? {
            if !is_closed || !axes.is_empty() {
                self.expect(',')?;
            }
            if self.take('?')? {
                is_closed = false;
                self.expect('}')?;
                break;
            }
            axes.push(self.axis()?);
        }
        let mut fields: Named =
            vec![("axes".into(), Attribute::Array(axes.into())), ("is_closed".into(), Attribute::Bool(is_closed))];
        if let super::lexer::Token::Word(word) = self.token {
            let priority = word.strip_prefix('p').and_then(|digits| digits.parse().ok());
            let priority = priority.ok_or_else(|| self.expected("a priority such as \"p1\""))?;
            self.bump()?;
            fields.push(("priority".into(), Attribute::Integer(priority, Element::DType(DType::S64))));
        }
        Ok(record("sdy.dimension_sharding", fields))
    }

    /// Reads `"x"` or `"x":(1)2`.
    fn axis(&mut self) -> Result<Attribute> {
        let mut fields: Named = vec![("name".into(), self.axis_name()?)];
        if self.take(':')? {
            fields.push(("sub_axis_info".into(), self.part_of_axis("sdy")?));
        }
        Ok(record("sdy.axis_ref", fields))
    }

    /// Reads `[<@mesh, [...]>, ...]`, the shardings of several values.
    pub fn shardings(&mut self) -> Result<Attribute> {
        let shardings = self.list('[', ']', |p| p.stripped(Self::sharding))?;
        Ok(record("sdy.sharding_per_value", vec![("shardings".into(), Attribute::Array(shardings.into()))]))
    }

    /// Reads `{"x", "y"}`.
    pub fn manual_axes(&mut self) -> Result<Attribute> {
        let axes = self.list('{', '}', Self::axis_name)?;
        Ok(record("sdy.manual_axes", vec![("value".into(), Attribute::Array(axes.into()))]))
    }
}
