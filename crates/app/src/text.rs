//! Text for people: pages of lines, tables, figures with units. Everything escapes what must not reach a terminal.

pub mod calendar;
pub mod figures;
pub mod json;
pub mod page;
pub mod printable;
pub mod table;
pub mod terminal;
