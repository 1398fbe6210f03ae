//! Generates the implementation from the declarations of a type.

use crate::declaration::{Declaration, Entry, Fix};
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;
use syn::{Data, DeriveInput, Error, Fields, Ident, Path, Result};

/// A variant, or the whole struct.
struct Case<'a> {
    /// Of the variant, or of the struct.
    name: &'a Ident,
    /// Its path in a pattern.
    path: TokenStream,
    fields: &'a Fields,
    declaration: Declaration,
}

/// The implementation of `ProblemKind` and the definitions of a type.
///
/// # Errors
/// If a declaration is incomplete, or two of them contradict each other.
pub fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let cases = cases(input)?;
    assert_codes_differ(&cases)?;
    let kind = &input.ident;
    let (mut codes, mut fixes) = (Vec::new(), Vec::new());
    let (mut definitions, mut names) = (Vec::new(), Vec::new());
    for case in &cases {
        let path = &case.path;
        let entry = match &case.declaration {
            Declaration::Transparent => {
                let inner = case.inner()?;
                codes.push(quote!(#path #inner => ::archive::problem::ProblemKind::code(problem)));
                fixes.push(quote!(#path #inner => ::archive::problem::ProblemKind::fix(problem)));
                continue;
            }
            Declaration::SameAs(other) => match other.get_ident() {
                Some(variant) => target(&cases, variant)?,
                None => {
                    let foreign = foreign(other)?;
                    codes.push(quote!(#path { .. } => ::archive::problem::Code::new(#foreign.code)));
                    fixes.push(quote!(#path { .. } => ::std::string::String::from(#foreign.fix)));
                    continue;
                }
            },
            Declaration::Own(entry) => {
                let name = constant(case.name);
                definitions.push(definition(&name, entry));
                names.push(name);
                entry
            }
        };
        let code = &entry.code;
        codes.push(quote!(#path { .. } => ::archive::problem::Code::new(#code)));
        let (pattern, fix) = case.fix(&entry.fix);
        fixes.push(quote!(#path #pattern => #fix));
    }
    let (generics, of, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics #kind #of #bounds {
            #(#definitions)*

            /// Every code of this type, with its meaning and fix.
            pub const DEFINITIONS: &'static [::archive::problem::Definition] = &[#(Self::#names),*];
        }

        impl #generics ::archive::problem::ProblemKind for #kind #of #bounds {
            fn code(&self) -> ::archive::problem::Code {
                match self { #(#codes),* }
            }

            #[allow(unused_variables)]
            fn fix(&self) -> ::std::string::String {
                match self { #(#fixes),* }
            }
        }
    })
}

fn cases(input: &DeriveInput) -> Result<Vec<Case<'_>>> {
    match &input.data {
        Data::Enum(data) => {
            let (mut found, mut wrong) = (Vec::new(), None::<Error>);
            for variant in &data.variants {
                let name = &variant.ident;
                match Declaration::of(&variant.attrs, name) {
                    Ok(declaration) => {
                        found.push(Case { name, path: quote!(Self::#name), fields: &variant.fields, declaration });
                    }
                    Err(error) => match &mut wrong {
                        Some(wrong) => wrong.combine(error),
                        None => wrong = Some(error),
                    },
                }
            }
            wrong.map_or(Ok(found), Err)
        }
        Data::Struct(data) => {
            let declaration = Declaration::of(&input.attrs, &input.ident)?;
            Ok(vec![Case { name: &input.ident, path: quote!(Self), fields: &data.fields, declaration }])
        }
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a problem is an enum or a struct")),
    }
}

fn assert_codes_differ(cases: &[Case]) -> Result<()> {
    let mut first: BTreeMap<String, &Ident> = BTreeMap::new();
    for case in cases {
        let Declaration::Own(entry) = &case.declaration else { continue };
        let code = &entry.code;
        if let Some(other) = first.insert(code.value(), case.name) {
            return Err(Error::new_spanned(code, format!("{other} has this code: #[problem(same_as = {other})]")));
        }
    }
    Ok(())
}

/// The entry that a variant shares.
fn target<'a>(cases: &'a [Case], name: &Ident) -> Result<&'a Entry> {
    let found = cases.iter().find(|case| case.name == name).map(|case| &case.declaration);
    match found {
        Some(Declaration::Own(entry)) if matches!(entry.fix, Fix::Text(_)) => Ok(entry),
        Some(Declaration::Own(_)) => Err(Error::new_spanned(name, "its fix depends on its fields")),
        Some(_) => Err(Error::new_spanned(name, "it has no code of its own")),
        None => Err(Error::new_spanned(name, "there is no such variant")),
    }
}

/// The definition of a variant of another type.
fn foreign(path: &Path) -> Result<Path> {
    let mut path = path.clone();
    let last = path.segments.last_mut().ok_or_else(|| Error::new(Span::call_site(), "a path has a name"))?;
    last.ident = constant(&last.ident);
    Ok(path)
}

/// The name of a variant's definition: `INVALID_RUN` of `InvalidRun`.
fn constant(variant: &Ident) -> Ident {
    let mut name = String::new();
    for letter in variant.to_string().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    Ident::new(&name, variant.span())
}

fn definition(name: &Ident, entry: &Entry) -> TokenStream {
    let Entry { code, meaning, documented_fix, .. } = entry;
    quote! {
        #[doc = #meaning]
        pub const #name: ::archive::problem::Definition =
            ::archive::problem::Definition { code: #code, meaning: #meaning, fix: #documented_fix };
    }
}

impl Case<'_> {
    /// The pattern of the only field, as `problem`.
    fn inner(&self) -> Result<TokenStream> {
        let mut fields = self.fields.iter();
        match (fields.next(), fields.next()) {
            (Some(field), None) => Ok(match &field.ident {
                Some(name) => quote!({ #name: problem }),
                None => quote!((problem)),
            }),
            _ => Err(Error::new_spanned(self.name, "a transparent variant has one field")),
        }
    }

    /// The pattern that binds the fields which this fix reads, and the fix.
    fn fix(&self, fix: &Fix) -> (TokenStream, TokenStream) {
        match fix {
            Fix::Text(text) => (quote!({ .. }), quote!(::std::string::String::from(#text))),
            Fix::Format(format) => (self.bound(), quote!(::std::format!(#format))),
            Fix::Computed(expression) => (self.bound(), quote!(::std::string::String::from(#expression))),
        }
    }

    /// The pattern that binds every field: by its name, or as `_0`.
    fn bound(&self) -> TokenStream {
        match self.fields {
            Fields::Named(fields) => {
                let names = fields.named.iter().map(|field| &field.ident);
                quote!({ #(#names),* })
            }
            Fields::Unnamed(fields) => {
                let names = (0..fields.unnamed.len()).map(|index| format_ident!("_{index}"));
                quote!((#(#names),*))
            }
            Fields::Unit => TokenStream::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    fn error_of(input: DeriveInput) -> String {
        expand(&input).map(|code| code.to_string()).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_missing_key_is_an_error_that_names_it() {
        for (input, missing) in [
            (
                parse_quote!(
                    enum Trouble {
                        A,
                    }
                ),
                "code",
            ),
            (
                parse_quote!(
                    enum Trouble {
                        #[problem(code = "x.a")]
                        A,
                    }
                ),
                "meaning",
            ),
            (
                parse_quote!(
                    enum Trouble {
                        #[problem(code = "x.a", meaning = "It is.")]
                        A,
                    }
                ),
                "fix",
            ),
            (
                parse_quote!(
                    enum Trouble {
                        #[problem(code = "x.a", meaning = "It is.", fix = "run {it}")]
                        A { it: u8 },
                    }
                ),
                "documented_fix",
            ),
            (
                parse_quote!(
                    enum Trouble {
                        #[problem(code = "x.a", meaning = "It is.", fix_with = f(it))]
                        A { it: u8 },
                    }
                ),
                "documented_fix",
            ),
        ] {
            assert_eq!(error_of(input), format!("#[problem({missing} = ...)] is missing"));
        }
    }

    #[test]
    fn a_key_that_is_unknown_or_wrong_is_an_error() {
        for input in [
            parse_quote!(
                enum Trouble {
                    #[problem(cdoe = "x.a")]
                    A,
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(code = "a", meaning = "It is.", fix = "")]
                    A,
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(code = "x.a", meaning = "it is", fix = "")]
                    A,
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(code = "x.a", code = "x.b", meaning = "It is.", fix = "")]
                    A,
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(transparent, code = "x.a")]
                    A(Inner),
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(transparent)]
                    A,
                }
            ),
            parse_quote!(
                enum Trouble {
                    #[problem(same_as = B)]
                    A,
                }
            ),
        ] {
            let input: DeriveInput = input;
            assert!(expand(&input).is_err());
        }
    }

    #[test]
    fn a_code_belongs_to_one_variant_or_to_those_that_say_so() {
        let twice = parse_quote! {
            enum Trouble {
                #[problem(code = "x.a", meaning = "It is.", fix = "")]
                A,
                #[problem(code = "x.a", meaning = "It is.", fix = "")]
                B,
            }
        };
        assert!(error_of(twice).contains("#[problem(same_as = A)]"));
        let shared = parse_quote! {
            enum Trouble {
                #[problem(code = "x.a", meaning = "It is.", fix = "")]
                A,
                #[problem(same_as = A)]
                B(u8),
            }
        };
        let code = expand(&shared).unwrap().to_string();
        assert_eq!(code.matches(r#"code : "x.a""#).count(), 1, "{code}");
    }

    #[test]
    fn a_code_of_another_type_is_named_by_its_variant() {
        let code = expand(&parse_quote!(
            enum Trouble {
                #[problem(same_as = other::Trouble::NotRoot)]
                A,
            }
        ));
        let code = code.unwrap().to_string();
        assert!(code.contains("other :: Trouble :: NOT_ROOT . code"), "{code}");
    }
}
