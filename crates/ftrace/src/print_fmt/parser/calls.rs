//! The functions the kernel offers inside print formats.

use super::Parser;
use super::types::integer;
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;
use crate::metadata::Metadata;
use crate::print_fmt::expression::Expression;
use crate::print_fmt::lexer::Token;
use crate::print_fmt::value::Context;

impl Parser<'_> {
    /// Behind the opening bracket of a call.
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

    /// `, { VALUE, "NAME" }` repeated; the values are constants, so they are worked out now.
    fn table(&mut self) -> Option<Vec<(u64, String)>> {
        let operators = self.operators;
        let mut table = Vec::new();
        let metadata = Metadata::empty(PageLayout::bits64(ByteOrder::NATIVE));
        while self.eat(",") {
            self.expect("{")?;
            self.operators = 0;
            let value = self.expression()?;
            let bits = value.value(Context { payload: &[], metadata: &metadata })?.bits()?;
            self.expect(",")?;
            // Older kernels end a table with { -1, NULL }.
            let name = match self.peek() {
                Some(Token::Name(name)) if name == "NULL" => {
                    self.position += 1;
                    None
                }
                Some(Token::Number { value: 0, .. }) => {
                    self.position += 1;
                    None
                }
                _ => Some(self.text()?),
            };
            self.expect("}")?;
            table.extend(name.map(|name| (bits, name)));
        }
        self.operators = operators;
        Some(table)
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
