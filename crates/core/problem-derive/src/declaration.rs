//! Reads the attributes `#[problem(...)]` of a variant or a struct.

use quote::ToTokens;
use syn::{Attribute, Error, Expr, ExprLit, Lit, LitStr, Path, Result};

/// Declaration of one variant.
pub enum Declaration {
    Own(Box<Entry>),
    /// It shares the code and the fix of another variant: `Variant`, or `Type::Variant`.
    SameAs(Path),
    /// It contains a problem with its own code.
    Transparent,
}

/// A code with its documentation.
pub struct Entry {
    pub code: LitStr,
    pub meaning: LitStr,
    pub fix: Fix,
    /// The fix in the documentation, where no fields are known.
    pub documented_fix: Expr,
}

/// The fix in a message.
pub enum Fix {
    /// A literal or a constant.
    Text(Expr),
    /// A format string that names fields.
    Format(LitStr),
    /// An expression in which the fields are bound.
    Computed(Expr),
}

#[derive(Default)]
struct Keys {
    code: Option<LitStr>,
    meaning: Option<LitStr>,
    fix: Option<Expr>,
    fix_with: Option<Expr>,
    documented_fix: Option<Expr>,
    same_as: Option<Path>,
    transparent: bool,
}

impl Declaration {
    /// The declaration in these attributes of `place`.
    ///
    /// # Errors
    /// If an attribute is missing, unknown, or contradicts another.
    pub fn of(attributes: &[Attribute], place: &impl ToTokens) -> Result<Self> {
        let mut keys = Keys::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("problem")) {
            keys.read(attribute)?;
        }
        keys.declaration(place)
    }
}

impl Keys {
    fn read(&mut self, attribute: &Attribute) -> Result<()> {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.require_ident()?.to_string();
            let twice = match name.as_str() {
                "code" => self.code.replace(meta.value()?.parse()?).is_some(),
                "meaning" => self.meaning.replace(meta.value()?.parse()?).is_some(),
                "fix" => self.fix.replace(meta.value()?.parse()?).is_some(),
                "fix_with" => self.fix_with.replace(meta.value()?.parse()?).is_some(),
                "documented_fix" => self.documented_fix.replace(meta.value()?.parse()?).is_some(),
                "same_as" => self.same_as.replace(meta.value()?.parse()?).is_some(),
                "transparent" => std::mem::replace(&mut self.transparent, true),
                _ => {
                    return Err(meta.error(
                        "a problem has code, meaning, fix or fix_with, and documented_fix; or same_as; or transparent",
                    ));
                }
            };
            if twice { Err(meta.error(format!("{name} is set twice"))) } else { Ok(()) }
        })
    }

    fn declaration(self, place: &impl ToTokens) -> Result<Declaration> {
        let alone = self.code.is_none()
            && self.meaning.is_none()
            && self.fix.is_none()
            && self.fix_with.is_none()
            && self.documented_fix.is_none();
        match (self.same_as, self.transparent, alone) {
            (Some(variant), false, true) => return Ok(Declaration::SameAs(variant)),
            (None, true, true) => return Ok(Declaration::Transparent),
            (None, false, _) => {}
            _ => return Err(Error::new_spanned(place, "same_as and transparent stand alone")),
        }
        let missing = |name: &str| Error::new_spanned(place, format!("#[problem({name} = ...)] is missing"));
        let code = self.code.ok_or_else(|| missing("code"))?;
        if !is_code(&code.value()) {
            return Err(Error::new_spanned(code, "a code is `area.what-happened`, in small letters and hyphens"));
        }
        let meaning = self.meaning.ok_or_else(|| missing("meaning"))?;
        if !meaning.value().ends_with('.') {
            return Err(Error::new_spanned(meaning, "a meaning is a sentence that ends with a full stop"));
        }
        let fix = match (self.fix, self.fix_with) {
            (Some(fix), None) => Fix::of(fix),
            (None, Some(expression)) => Fix::Computed(expression),
            (None, None) => return Err(missing("fix")),
            (Some(_), Some(_)) => return Err(Error::new_spanned(place, "fix and fix_with exclude each other")),
        };
        let documented_fix = match (self.documented_fix, &fix) {
            (Some(documented), _) => documented,
            (None, Fix::Text(text)) => text.clone(),
            (None, Fix::Format(_) | Fix::Computed(_)) => return Err(missing("documented_fix")),
        };
        Ok(Declaration::Own(Box::new(Entry { code, meaning, fix, documented_fix })))
    }
}

impl Fix {
    fn of(expression: Expr) -> Self {
        match expression {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value().contains(['{', '}']) => Self::Format(text),
            other => Self::Text(other),
        }
    }
}

fn is_code(code: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    code.split_once('.').is_some_and(|(area, what)| plain(area) && plain(what))
}
