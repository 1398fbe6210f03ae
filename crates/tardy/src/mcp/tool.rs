//! The declaration of a tool: everything about it stands in the file that implements this trait.

use super::context::Context;
use super::parameter::{Given, Parameter, schema};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Time for an answer that measures nothing.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

pub trait Tool {
    const NAME: &'static str;
    /// When to call it, and what it answers.
    const DESCRIPTION: &'static str;
    const PARAMETERS: &'static [Parameter];
    /// Whether it starts a measurement, which the user must allow.
    const MEASURES: bool = false;

    /// The answer as JSON.
    ///
    /// # Errors
    /// If there is none.
    fn answer(given: &Given, context: &Context) -> anyhow::Result<String>;

    /// Time for the answer.
    fn limit(_given: &Given) -> Duration {
        ANSWER_LIMIT
    }
}

/// A tool as a value, for the list of all tools.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    pub measures: bool,
    pub answer: fn(&Given, &Context) -> anyhow::Result<String>,
    pub limit: fn(&Given) -> Duration,
}

impl Entry {
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            description: T::DESCRIPTION,
            parameters: T::PARAMETERS,
            measures: T::MEASURES,
            answer: T::answer,
            limit: T::limit,
        }
    }

    /// The definition that a client reads.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": schema(self.parameters),
            "annotations": { "readOnlyHint": !self.measures, "destructiveHint": false, "openWorldHint": false },
        })
    }
}

/// An answer as the command line prints it.
///
/// # Errors
/// If it cannot be represented in JSON.
pub fn document(answer: &impl Serialize) -> anyhow::Result<String> {
    let line = String::from_utf8(interchange::json::line(answer)?)?;
    Ok(line.trim_end().to_owned())
}
