//! The parameters of a tool: declared once, for the schema that a client reads and for the check of what it sends.

use super::problem::RequestProblem;
use serde_json::{Map, Value, json};
use words::printable::{printable, short_name};

/// Bytes of an argument that is a text.
const TEXT_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    name: &'static str,
    what: &'static str,
    kind: Kind,
    is_required: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number { least: u64, most: u64 },
}

impl Parameter {
    pub const fn text(name: &'static str, what: &'static str) -> Self {
        Self { name, what, kind: Kind::Text, is_required: false }
    }

    pub const fn number(name: &'static str, [least, most]: [u64; 2], what: &'static str) -> Self {
        Self { name, what, kind: Kind::Number { least, most }, is_required: false }
    }

    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    fn schema(&self) -> Value {
        match self.kind {
            Kind::Text => json!({ "type": "string", "maxLength": TEXT_BYTES_MAX, "description": self.what }),
            Kind::Number { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most, "description": self.what })
            }
        }
    }

    fn check(&self, value: &Value) -> Result<(), RequestProblem> {
        match self.kind {
            Kind::Text => value
                .as_str()
                .filter(|text| text.len() <= TEXT_BYTES_MAX && !text.contains('\0'))
                .map(|_| ())
                .ok_or_else(|| self.wrong(format!("must be a text of at most {TEXT_BYTES_MAX} bytes"))),
            Kind::Number { least, most } => value
                .as_u64()
                .filter(|number| (least..=most).contains(number))
                .map(|_| ())
                .ok_or_else(|| self.wrong(format!("must be a whole number from {least} to {most}"))),
        }
    }

    fn wrong(&self, wrong: String) -> RequestProblem {
        RequestProblem::Argument { name: self.name.into(), wrong }
    }
}

/// The JSON Schema of the arguments.
pub fn schema(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|parameter| parameter.is_required).map(|parameter| parameter.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The arguments of a call, checked against the parameters of its tool.
#[derive(Debug, Clone, Default)]
pub struct Given(Map<String, Value>);

impl Given {
    /// # Errors
    /// [`RequestProblem::Argument`].
    pub fn checked(parameters: &[Parameter], given: Map<String, Value>) -> Result<Self, RequestProblem> {
        for (name, value) in &given {
            match parameters.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => parameter.check(value)?,
                None => return Err(unknown(name, parameters)),
            }
        }
        let missing = parameters.iter().find(|parameter| parameter.is_required && !given.contains_key(parameter.name));
        match missing {
            Some(parameter) => Err(parameter.wrong("is missing".into())),
            None => Ok(Self(given)),
        }
    }

    pub fn text(&self, parameter: &Parameter) -> Option<&str> {
        self.0.get(parameter.name)?.as_str()
    }

    pub fn number(&self, parameter: &Parameter) -> Option<u64> {
        self.0.get(parameter.name)?.as_u64()
    }

    /// # Errors
    /// If it is missing.
    pub fn required_text(&self, parameter: &Parameter) -> Result<&str, RequestProblem> {
        self.text(parameter).ok_or_else(|| parameter.wrong("is missing".into()))
    }

    /// # Errors
    /// If it is missing.
    pub fn required_number(&self, parameter: &Parameter) -> Result<u64, RequestProblem> {
        self.number(parameter).ok_or_else(|| parameter.wrong("is missing".into()))
    }
}

fn unknown(name: &str, parameters: &[Parameter]) -> RequestProblem {
    let known: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
    let known = if known.is_empty() { "nothing".into() } else { known.join(", ") };
    RequestProblem::Argument {
        name: printable(&short_name(name)),
        wrong: format!("is unknown; the tool takes {known}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Parameter = Parameter::text("run", "a run").required();
    const SPIKE: Parameter = Parameter::number("spike", [1, 9], "a spike");

    fn checked(given: Value) -> Result<Given, RequestProblem> {
        Given::checked(&[RUN, SPIKE], given.as_object().unwrap().clone())
    }

    #[test]
    fn arguments_are_checked_by_what_the_schema_says() {
        let given = checked(json!({ "run": "x", "spike": 7 })).unwrap();
        assert_eq!((given.text(&RUN), given.number(&SPIKE)), (Some("x"), Some(7)));
        assert_eq!(checked(json!({ "run": "x" })).unwrap().number(&SPIKE), None);
        for (wrong, expected) in [
            (json!({}), "`run` is missing"),
            (json!({ "run": 7 }), "`run` must be a text"),
            (json!({ "run": "a\0b" }), "`run` must be a text"),
            (json!({ "run": "x", "spike": 0 }), "from 1 to 9"),
            (json!({ "run": "x", "spike": 1.5 }), "from 1 to 9"),
            (json!({ "run": "x", "\u{1b}other": 1 }), "`\\u{1b}other` is unknown; the tool takes run, spike"),
        ] {
            let problem = checked(wrong).unwrap_err().to_string();
            assert!(problem.contains(expected), "{problem}");
        }
        assert_eq!(schema(&[RUN, SPIKE])["required"], json!(["run"]));
    }
}
