//! The methods that a run can measure with.

use crate::exit::UsageError;
use account::brief::BRIEF_VERSION;
use account::brief::fitted::{Shrink, fitted};
use archive::method::{METHODS, MethodDefinition, MethodWordsError};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct BriefMethods {
    brief_version: u32,
    methods: Vec<BriefMethod>,
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct BriefMethod {
    name: &'static str,
    /// The program whose method it is.
    like: &'static str,
    #[serde(flatten)]
    details: Option<Details>,
}

/// Of the one that is asked for.
#[derive(Debug, Serialize)]
struct Details {
    /// The stretch that a sample measures.
    from: &'static str,
    to: &'static str,
    needs: &'static str,
    options: Vec<BriefOption>,
}

#[derive(Debug, Serialize)]
struct BriefOption {
    key: &'static str,
    what: &'static str,
}

/// All methods, or everything about one.
///
/// # Errors
/// If the method does not exist.
pub fn methods(name: Option<&str>) -> Result<BriefMethods, UsageError> {
    let methods = match name {
        None => METHODS.iter().map(|method| listed(method, None)).collect(),
        Some(name) => {
            let found = named(name)?;
            vec![listed(found, Some(Details::of(found)))]
        }
    };
    Ok(fitted(BriefMethods { brief_version: BRIEF_VERSION, methods, left_out: 0 }))
}

/// The method that a name or a request of `run --method` begins with.
///
/// # Errors
/// If the method does not exist.
pub fn named(typed: &str) -> Result<&'static MethodDefinition, UsageError> {
    let name = typed.split(':').next().unwrap_or(typed);
    let found = METHODS.iter().find(|definition| definition.name == name);
    let unknown = || UsageError(MethodWordsError::Unknown { name: name.into() }.to_string());
    found.ok_or_else(unknown)
}

fn listed(method: &MethodDefinition, details: Option<Details>) -> BriefMethod {
    BriefMethod { name: method.name, like: method.entry.original, details }
}

impl Details {
    fn of(method: &MethodDefinition) -> Self {
        let options = method.entry.options.iter().map(|option| BriefOption { key: option.key, what: option.what });
        Self { from: method.entry.from, to: method.entry.to, needs: method.entry.needs, options: options.collect() }
    }
}

impl Shrink for BriefMethods {
    fn shrink(&mut self) -> bool {
        let dropped = self.methods.pop().is_some();
        self.left_out += usize::from(dropped);
        dropped
    }
}
