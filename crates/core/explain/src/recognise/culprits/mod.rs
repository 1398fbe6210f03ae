//! The catalogue of culprits. How to add one: docs/how-to/adding-a-culprit.md.

mod about;

pub use about::{About, Proof, Unrecorded};

use crate::recognise::case::{Case, Claim};
use archive::culprit::{Culprit, Facts};

/// An entry of the catalogue.
pub struct Entry {
    pub culprit: Culprit,
    pub about: &'static About,
    pub(crate) look: for<'c> fn(&Case<'c>) -> Option<Claim<'c, Facts>>,
}

macro_rules! catalogue {
    ($($variant:ident $id:literal $module:ident $facts:ident;)*) => {
        $(mod $module;)*

        /// In the order in which they may claim stretches of a ledger: the more specific first.
        pub const CATALOGUE: &[Entry] = &[$(
            Entry {
                culprit: Culprit::$variant,
                about: &$module::ABOUT,
                look: |case| Some($module::look(case)?.map(Facts::$variant)),
            },
        )*];
    };
}

archive::culprits!(catalogue);
