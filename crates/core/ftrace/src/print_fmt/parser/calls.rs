//! Functions that the kernel provides in print formats.

use super::Parser;
use super::types::integer;
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;
use crate::metadata::Metadata;
use crate::print_fmt::expression::Expression;
use crate::print_fmt::lexer::Token;
use crate::print_fmt::value::Context;

impl Parser<'_> {
    /// Parses the part after the opening bracket of a call.
    pub(super) fn call(&mut self, function: &str) -> Option<Expression> {
        let call = match function {
            "__get_str" | "__get_rel_str" | "__get_dynamic_array" | "__get_rel_dynamic_array" | "__get_sockaddr" => {
                let name = self.name()?;
                Expression::Field(self.known_field(&name)?)
            }
            "__get_dynamic_array_len" | "__get_rel_dynamic_array_len" => {
                let name = self.name()?;
                Expression::Length(self.known_field(&name)?)
            }
            "__get_bitmask" | "__get_rel_bitmask" | "__get_cpumask" | "__get_rel_cpumask" => {
                let name = self.name()?;
                Expression::Bitmask(self.known_field(&name)?)
            }
            "__print_symbolic" | "__print_symbolic_u64" => {
                let value = Box::new(self.expression()?);
                Expression::Symbolic(value, self.table()?)
            }
            "__print_flags" | "__print_flags_u64" => {
                let value = Box::new(self.expression()?);
                self.expect(",")?;
                let delimiter = self.text()?;
                Expression::Flags { value, delimiter, names: self.table()? }
            }
            "__print_hex" | "__print_hex_str" => {
                let separator = if function == "__print_hex" { " " } else { "" };
                let bytes = self.expression()?;
                self.expect(",")?;
                Expression::Hex { arguments: Box::new([bytes, self.expression()?]), separator }
            }
            "__print_array" => {
                let elements = self.expression()?;
                self.expect(",")?;
                let count = self.expression()?;
                self.expect(",")?;
                Expression::Array(Box::new([elements, count, self.expression()?]))
            }
            "__builtin_expect" => {
                let value = self.expression()?;
                self.expect(",")?;
                self.expression()?;
                value
            }
            "sizeof" => self.size_of()?,
            _ => return None,
        };
        self.expect(")")?;
        Some(call)
    }

    /// `, { VALUE, "NAME" }` repeated; the values are constants, so they are evaluated now. Entries whose value is a
    /// name defined only in the kernel's sources are left out: such values are printed as numbers.
    fn table(&mut self) -> Option<Vec<(u64, String)>> {
        let operators = self.operators;
        let mut table = Vec::new();
        let metadata = Metadata::empty(PageLayout::bits64(ByteOrder::NATIVE));
        while self.eat(",") {
            self.expect("{")?;
            self.operators = 0;
            let start = self.position;
            match self.entry(&metadata) {
                Some(entry) => table.push(entry),
                None => {
                    self.position = start;
                    self.skip_entry()?;
                }
            }
        }
        self.operators = operators;
        Some(table)
    }

    fn entry(&mut self, metadata: &Metadata) -> Option<(u64, String)> {
        let value = self.expression()?;
        let bits = value.value(Context { payload: &[], metadata })?.bits()?;
        self.expect(",")?;
        let name = self.text()?;
        self.expect("}")?;
        Some((bits, name))
    }

    fn skip_entry(&mut self) -> Option<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Token::Mark("{") => depth += 1,
                Token::Mark("}") => depth -= 1,
                _ => {}
            }
        }
        Some(())
    }

    fn size_of(&mut self) -> Option<Expression> {
        let mut names = Vec::new();
        while let Some(Token::Name(name)) = self.peek() {
            names.push(name.clone());
            self.position += 1;
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (size, _) = integer(&names)?;
        Some(Expression::Number { bits: size as u64, signed: false })
    }
}
