//! Writes the codes of an enum of problems once, so that every variant has one and each is documented.

/// Gives `definition`, which is exhaustive, and the `DEFINITIONS` that `docs/problems.md` is generated from.
macro_rules! problem_codes {
    ($kind:ident: $($variant:ident => $code:literal, $meaning:literal, $fix:literal;)+) => {
        impl $kind {
            fn definition(&self) -> archive::problem::Definition {
                let (code, meaning, fix) = match self {
                    $(Self::$variant { .. } => ($code, $meaning, $fix),)+
                };
                archive::problem::Definition { code, meaning, fix }
            }
        }

        /// Every code of this module.
        pub const DEFINITIONS: &[archive::problem::Definition] =
            &[$(archive::problem::Definition { code: $code, meaning: $meaning, fix: $fix },)+];
    };
}
