//! The declaration of an option of a run: its name, text, parser and default, who sees it in the help, and its place in a
//! plan. Command line, keys of a plan and their documentation follow from it.

use crate::exit::UsageError;
use clap::builder::ArgExt;
use runner::plan::options::Place;
use std::fmt;

/// Which help shows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Help {
    /// Also the short one, for the options that most people use.
    Common,
    /// The long one, which has every option.
    Rare,
}

/// An option beside and inside of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InPlans {
    /// The section where the name of its field is a key, or what a plan has instead.
    pub key: Result<Place, &'static str>,
    /// Whether the command line may have it beside a plan.
    pub beside: bool,
}

impl ArgExt for InPlans {}

/// An option that is a key of this section.
pub const fn key(place: Place) -> InPlans {
    InPlans { key: Ok(place), beside: false }
}

/// An option that is not a key, with what a plan has instead.
pub const fn no_key(instead: &'static str) -> InPlans {
    InPlans { key: Err(instead), beside: false }
}

impl InPlans {
    /// The same, for an option that also applies to every step of a plan where the command line has it.
    pub const fn or_beside(self) -> Self {
        Self { beside: true, ..self }
    }
}

/// Options as a struct of `clap`, under one heading of the help. Each field ends with its [`Help`] and its [`InPlans`].
macro_rules! options {
    ($(#[$of_struct:meta])* $view:vis struct $name:ident, $heading:literal {
        $($(#[$attribute:meta])* $field_view:vis $field:ident: $kind:ty => $help:ident, $in_plans:expr;)+
    }) => {
        $(#[$of_struct])*
        #[derive(Debug, clap::Args)]
        $view struct $name {$(
            $(#[$attribute])*
            #[arg(
                help_heading = $heading,
                hide_short_help = matches!($crate::measuring::arguments::declared::Help::$help, $crate::measuring::arguments::declared::Help::Rare),
                add = $in_plans,
            )]
            $field_view $field: $kind,
        )+}
    };
}
pub(super) use options;

/// An option that does not fit the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Its long name.
    pub option: &'static str,
    pub why: String,
}

impl Contradiction {
    pub fn new(option: &'static str, why: impl Into<String>) -> Self {
        Self { option, why: why.into() }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "--{}: {}", self.option, self.why)
    }
}

impl From<Contradiction> for UsageError {
    fn from(contradiction: Contradiction) -> Self {
        Self(contradiction.to_string())
    }
}
