//! Pictures as SVG, drawn once: in pages with the colours of the style sheet, as files of their own with light ones.

pub mod heat;
pub mod ridge;
pub mod sparkline;
mod standalone;
pub mod time;

pub use standalone::document;
