//! A call of a tool, answered on a thread of its own so that the session goes on.

use super::context::Context;
use super::parameter::Given;
use super::tool::{Entry, document};
use crate::defect;
use crate::refusal::{Document, Failure};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread::Builder;

/// As the stack of a verb.
const STACK_BYTES: usize = 8 << 20;

/// A call with checked arguments.
#[derive(Debug)]
pub struct Call {
    pub tool: &'static Entry,
    pub given: Given,
}

impl Call {
    /// Answers on another thread, and passes on the result.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(self, context: Arc<Context>, then: impl FnOnce(Value) + Send + 'static) -> std::io::Result<()> {
        let thread = Builder::new().name(format!("mcp:{}", self.tool.name)).stack_size(STACK_BYTES);
        thread.spawn(move || then(self.result(&context)))?;
        Ok(())
    }

    fn result(&self, context: &Context) -> Value {
        match defect::unless_defective(|| (self.tool.answer)(&self.given, context)) {
            Some(Ok(text)) => content(text, false),
            Some(Err(error)) => refused(&error),
            None => content(in_json(Document::new(&Failure::Defect)), true),
        }
    }
}

/// The result of a call that is refused.
pub fn refused(error: &anyhow::Error) -> Value {
    content(in_json(Document::of(error).brief()), true)
}

fn in_json(refusal: Document) -> String {
    document(&refusal).unwrap_or_default()
}

fn content(text: String, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}
