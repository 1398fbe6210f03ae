//! Pass criteria of Fuego, version 1.0 of its `criteria.json`: what each measure must be, and how many members of a
//! group may fail.
//!
//! A measure without a criterion neither passes nor fails. Names are dotted, such as `default.latencies.max_latency`.

use serde::Deserialize;
use thiserror::Error;

/// Result of criteria for a measure or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    Pass,
    Fail,
    /// No criterion covers it or any member.
    Unruled,
}

/// The criteria of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Criteria {
    criteria: Vec<Criterion>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Criterion {
    tguid: String,
    reference: Option<Reference>,
    min_pass: Option<usize>,
    max_fail: Option<usize>,
    #[serde(default)]
    must_pass_list: Vec<String>,
    #[serde(default)]
    fail_ok_list: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Reference {
    value: serde_json::Value,
    operator: String,
}

#[derive(Debug, Deserialize)]
struct File {
    schema_version: String,
    criteria: Vec<Criterion>,
}

/// Why a text is not a Fuego criteria file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CriteriaError {
    #[error("it is not a criteria file: {0}")]
    NotCriteria(String),
    #[error("its schema_version is {0}, and only 1.0 is known")]
    Version(String),
    #[error("{criterion}: {why}")]
    Reference { criterion: String, why: ReferenceError },
}

/// Why a measure cannot be compared with the reference of a criterion.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReferenceError {
    #[error("{0} is not a number")]
    NotANumber(String),
    #[error("`bt` needs two numbers in a string, like \"10,20\"")]
    NotARange,
    #[error("`{0}` is not an operator; use eq, ne, gt, ge, lt, le or bt")]
    Operator(String),
}

impl Criteria {
    /// Reads the text of a `criteria.json`.
    ///
    /// # Errors
    /// [`CriteriaError`]: not JSON, another version, an unknown operator or a bad value.
    pub fn parse(text: &str) -> Result<Self, CriteriaError> {
        let file: File = serde_json::from_str(text).map_err(|error| CriteriaError::NotCriteria(error.to_string()))?;
        if file.schema_version != "1.0" {
            return Err(CriteriaError::Version(file.schema_version));
        }
        for criterion in &file.criteria {
            if let Some(reference) = &criterion.reference {
                let of = |why| CriteriaError::Reference { criterion: criterion.tguid.clone(), why };
                reference.holds(0.0).map_err(of)?;
            }
        }
        Ok(Self { criteria: file.criteria })
    }

    /// Applies the criteria to a measure.
    pub fn measure(&self, name: &str, value: f64) -> Ruling {
        let references = self.criteria.iter().filter(|criterion| criterion.tguid == name);
        let mut ruling = Ruling::Unruled;
        for reference in references.filter_map(|criterion| criterion.reference.as_ref()) {
            match reference.holds(value) {
                Ok(true) if ruling == Ruling::Unruled => ruling = Ruling::Pass,
                Ok(true) => {}
                Ok(false) | Err(_) => ruling = Ruling::Fail,
            }
        }
        ruling
    }

    /// Applies the criteria to a group with these members, named without the group. By default no member may fail.
    pub fn group(&self, name: &str, members: &[(&str, Ruling)]) -> Ruling {
        let criterion = self.criteria.iter().find(|criterion| criterion.tguid == name && criterion.reference.is_none());
        let list = |list: fn(&Criterion) -> &Vec<String>| criterion.map_or(&[][..], |criterion| list(criterion));
        let (must_pass, fail_ok) = (list(|it| &it.must_pass_list), list(|it| &it.fail_ok_list));
        let named = |list: &[String], member: &str| {
            list.iter().any(|entry| entry == member || entry.strip_prefix(name) == Some(&format!(".{member}")))
        };
        let passed = members.iter().filter(|(_, ruling)| *ruling == Ruling::Pass).count();
        let failed =
            members.iter().filter(|(member, ruling)| *ruling == Ruling::Fail && !named(fail_ok, member)).count();
        let absent = must_pass.iter().any(|wanted| {
            !members
                .iter()
                .any(|(member, ruling)| *ruling == Ruling::Pass && named(std::slice::from_ref(wanted), member))
        });
        let too_few = criterion.and_then(|criterion| criterion.min_pass).is_some_and(|min| passed < min);
        if failed > criterion.and_then(|criterion| criterion.max_fail).unwrap_or(0) || too_few || absent {
            Ruling::Fail
        } else if members.iter().all(|(_, ruling)| *ruling == Ruling::Unruled) {
            Ruling::Unruled
        } else {
            Ruling::Pass
        }
    }
}

impl Reference {
    fn holds(&self, value: f64) -> Result<bool, ReferenceError> {
        let number = |json: &serde_json::Value| {
            let number = json.as_f64().or_else(|| json.as_str()?.trim().parse().ok());
            number.filter(|number: &f64| number.is_finite()).ok_or_else(|| ReferenceError::NotANumber(json.to_string()))
        };
        if self.operator == "bt" {
            let text = self.value.as_str().ok_or(ReferenceError::NotARange)?;
            let (low, high) = text.split_once(',').ok_or(ReferenceError::NotARange)?;
            let (low, high) = (number(&low.into())?, number(&high.into())?);
            return Ok(low <= value && value <= high);
        }
        let reference = number(&self.value)?;
        match self.operator.as_str() {
            "eq" => Ok(value == reference),
            "ne" => Ok(value != reference),
            "gt" => Ok(value > reference),
            "ge" => Ok(value >= reference),
            "lt" => Ok(value < reference),
            "le" => Ok(value <= reference),
            other => Err(ReferenceError::Operator(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = r#"{"schema_version":"1.0","criteria":[
        {"tguid":"default.latencies.max_latency","reference":{"value":100,"operator":"le"}},
        {"tguid":"default.latencies.avg_latency","reference":{"value":"10,20","operator":"bt"}},
        {"tguid":"default.loads","max_fail":1,"fail_ok_list":["disk"]},
        {"tguid":"default.cpus","must_pass_list":["default.cpus.cpu0"],"min_pass":1}]}"#;

    #[test]
    fn a_measure_is_held_against_its_reference() {
        let criteria = Criteria::parse(FILE).unwrap();
        let of = |name, value| criteria.measure(name, value);
        assert_eq!(of("default.latencies.max_latency", 100.0), Ruling::Pass);
        assert_eq!(of("default.latencies.max_latency", 100.001), Ruling::Fail);
        assert_eq!(of("default.latencies.max_latency", f64::NAN), Ruling::Fail);
        assert_eq!(
            (of("default.latencies.avg_latency", 20.0), of("default.latencies.avg_latency", 9.9)),
            (Ruling::Pass, Ruling::Fail)
        );
        assert_eq!(of("default.latencies.min_latency", 1.0), Ruling::Unruled);
    }

    #[test]
    fn a_group_fails_by_its_members() {
        let criteria = Criteria::parse(FILE).unwrap();
        use Ruling::{Fail, Pass, Unruled};
        assert_eq!(criteria.group("default.latencies", &[("max", Pass), ("avg", Unruled)]), Pass);
        assert_eq!(criteria.group("default.latencies", &[("max", Pass), ("avg", Fail)]), Fail);
        assert_eq!(criteria.group("default.latencies", &[("max", Unruled)]), Unruled);
        assert_eq!(criteria.group("default.loads", &[("a", Fail), ("disk", Fail)]), Pass);
        assert_eq!(criteria.group("default.loads", &[("a", Fail), ("b", Fail), ("disk", Fail)]), Fail);
        assert_eq!(criteria.group("default.cpus", &[("cpu0", Pass)]), Pass);
        assert_eq!(criteria.group("default.cpus", &[("cpu1", Pass)]), Fail, "the one that must pass is absent");
    }

    #[test]
    fn a_wrong_criterion_is_refused() {
        for (text, why) in [
            ("{", "not a criteria file"),
            (r#"{"schema_version":"2.0","criteria":[]}"#, "2.0"),
            (
                r#"{"schema_version":"1.0","criteria":[{"tguid":"a","reference":{"value":1,"operator":"about"}}]}"#,
                "about",
            ),
            (
                r#"{"schema_version":"1.0","criteria":[{"tguid":"a","reference":{"value":"x","operator":"le"}}]}"#,
                "not a number",
            ),
            (
                r#"{"schema_version":"1.0","criteria":[{"tguid":"a","reference":{"value":3,"operator":"bt"}}]}"#,
                "two numbers",
            ),
        ] {
            let refused = Criteria::parse(text).unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_criteria_or_refused(text in ".{0,200}") {
            let _ = Criteria::parse(&text);
        }
    }
}
