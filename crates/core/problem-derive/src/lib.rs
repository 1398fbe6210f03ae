//! Declares a problem once: `#[derive(Problem)]` generates its code, its fix and its entry in the documentation.
//!
//! `archive::problem` exports the macro and documents the attributes. The generated code names that crate, so this one
//! depends on nothing of the workspace.

#![deny(clippy::disallowed_methods)]

mod declaration;
mod expansion;

use proc_macro::TokenStream;

/// Implements `ProblemKind` and the list `DEFINITIONS` from the attributes `#[problem(...)]` of a type.
#[proc_macro_derive(Problem, attributes(problem))]
pub fn problem(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    expansion::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
