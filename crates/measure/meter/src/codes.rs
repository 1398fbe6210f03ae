//! Defines the codes of an enum of problems in one place, so that every variant has one and each is documented.

/// Generates `code_of_variant` and `fix_of_variant`, which are exhaustive, and the `DEFINITIONS` that
/// `docs/reference/problems.md` is generated from. A variant listed as `of` contains a problem with its own code.
macro_rules! problem_codes {
    ($kind:ident $(of $($inner:ident),+)?: $($variant:ident => $code:literal, $meaning:literal, $fix:literal;)+) => {
        impl $kind {
            fn code_of_variant(&self) -> archive::problem::Code {
                match self {
                    $(Self::$variant { .. } => archive::problem::Code::new($code),)+
                    $($(Self::$inner(problem) => archive::problem::ProblemKind::code(problem),)+)?
                }
            }

            fn fix_of_variant(&self) -> String {
                match self {
                    $(Self::$variant { .. } => $fix.to_owned(),)+
                    $($(Self::$inner(problem) => archive::problem::ProblemKind::fix(problem),)+)?
                }
            }
        }

        /// Every code of this module.
        pub const DEFINITIONS: &[archive::problem::Definition] =
            &[$(archive::problem::Definition { code: $code, meaning: $meaning, fix: $fix },)+];
    };
}
