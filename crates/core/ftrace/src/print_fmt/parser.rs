//! Parses a print format: its text and one expression per argument.

mod calls;
mod types;

use super::expression::{Binary, Expression, Unary};
use super::lexer::{Token, tokens};
use crate::format::{EventFormat, Field, Storage};

/// Bounds on one argument, so that evaluating and dropping it cannot exhaust the stack. Real ones stay below a tenth.
const NESTING_MAX: usize = 60;
const OPERATORS_MAX: usize = 400;

/// The text and the arguments; `None` if any part is not supported.
pub(super) fn parse(print_fmt: &str, format: &EventFormat) -> Option<(String, Vec<Expression>)> {
    let mut parser = Parser { tokens: tokens(print_fmt)?, position: 0, format, nesting: 0, operators: 0 };
    let text = parser.text()?;
    let mut arguments = Vec::new();
    while parser.eat(",") {
        parser.operators = 0;
        arguments.push(parser.expression()?);
    }
    (parser.position == parser.tokens.len()).then_some((text, arguments))
}

struct Parser<'f> {
    tokens: Vec<Token>,
    position: usize,
    format: &'f EventFormat,
    nesting: usize,
    operators: usize,
}

/// From loosest to tightest; each level is left-associative.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::EitherTrue)],
    &[("&&", Binary::BothTrue)],
    &[("|", Binary::Or)],
    &[("^", Binary::ExclusiveOr)],
    &[("&", Binary::And)],
    &[("==", Binary::Equal), ("!=", Binary::NotEqual)],
    &[("<", Binary::Less), (">", Binary::Greater), ("<=", Binary::LessOrEqual), (">=", Binary::GreaterOrEqual)],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.position).cloned();
        self.position += usize::from(token.is_some());
        token
    }

    fn eat(&mut self, mark: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Mark(found)) if *found == mark);
        self.position += usize::from(there);
        there
    }

    fn expect(&mut self, mark: &str) -> Option<()> {
        self.eat(mark).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        match self.next()? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Adjacent string literals are one.
    fn text(&mut self) -> Option<String> {
        let Token::Text(mut text) = self.next()? else { return None };
        while let Some(Token::Text(more)) = self.peek() {
            text.push_str(more);
            self.position += 1;
        }
        Some(text)
    }

    fn expression(&mut self) -> Option<Expression> {
        self.nested(|parser| {
            let condition = parser.binary(0)?;
            if !parser.eat("?") {
                return Some(condition);
            }
            let yes = parser.expression()?;
            parser.expect(":")?;
            let no = parser.expression()?;
            Some(Expression::Conditional(Box::new([condition, yes, no])))
        })
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.nesting >= NESTING_MAX {
            return None;
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn binary(&mut self, level: usize) -> Option<Expression> {
        let Some(operations) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        loop {
            let found = match self.peek() {
                Some(Token::Mark(mark)) => operations.iter().find(|(known, _)| known == mark),
                _ => None,
            };
            let Some((_, operation)) = found else { return Some(left) };
            self.count_operator()?;
            self.position += 1;
            let right = self.binary(level + 1)?;
            left = Expression::Binary(*operation, Box::new(left), Box::new(right));
        }
    }

    fn count_operator(&mut self) -> Option<()> {
        self.operators += 1;
        (self.operators <= OPERATORS_MAX).then_some(())
    }

    fn unary(&mut self) -> Option<Expression> {
        let operation = match self.peek() {
            Some(Token::Mark("-")) => Some(Unary::Negate),
            Some(Token::Mark("!")) => Some(Unary::Not),
            Some(Token::Mark("~")) => Some(Unary::Complement),
            // Unary `+`, and `&` and `*` before a field, which both mean the bytes of the field.
            Some(Token::Mark("+" | "&" | "*")) => None,
            _ => return self.cast_or_primary(),
        };
        self.count_operator()?;
        self.position += 1;
        let inner = self.nested(Self::unary)?;
        Some(match operation {
            Some(operation) => Expression::Unary(operation, Box::new(inner)),
            None => inner,
        })
    }

    fn cast_or_primary(&mut self) -> Option<Expression> {
        if let Some((cast, length)) = types::cast(&self.tokens[self.position..]) {
            self.count_operator()?;
            self.position += length;
            let inner = Box::new(self.nested(Self::unary)?);
            return Some(match cast {
                Some((size, signed)) => Expression::Cast { size, signed, inner },
                None => *inner,
            });
        }
        match self.next()? {
            Token::Number { value, unsigned } => Some(Expression::Number { bits: value, signed: !unsigned }),
            Token::Text(_) => {
                self.position -= 1;
                self.text().map(Expression::Text)
            }
            Token::Mark("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Some(inner)
            }
            Token::Name(name) if name == "REC" => self.field(),
            Token::Name(name) if self.eat("(") => self.call(&name),
            Token::Name(name) => types::constant(&name).map(|bits| Expression::Number { bits, signed: true }),
            Token::Mark(_) => None,
        }
    }

    /// After `REC`: `->name`, `->name[index]`.
    fn field(&mut self) -> Option<Expression> {
        self.expect("->")?;
        let name = self.name()?;
        let field = self.known_field(&name)?;
        if !self.eat("[") {
            return Some(Expression::Field(field));
        }
        let index = self.expression()?;
        self.expect("]")?;
        (field.storage != Storage::Value).then(|| Expression::Element(field, Box::new(index)))
    }

    fn known_field(&self, name: &str) -> Option<Box<Field>> {
        self.format.field(name).cloned().map(Box::new)
    }
}
