//! The settings of the machine that hurt real-time work, looked at before the measurement.

use machines::Target;
use readiness::{Checklist, Finding, Profile, Severity, Subject, check};
use runner::facts::gather;
use runner::run::RunRequest;
use serde::Serialize;
use std::time::Duration;
use words::printable::printable;

/// A slow board needs seconds to read several thousand files.
const LIMIT: Duration = Duration::from_secs(60);

/// Findings worse than a notice.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// `None` if the machine could not be checked.
    pub findings: Option<usize>,
    /// The worst of them.
    pub worst: Option<String>,
}

impl Settings {
    /// A machine in virtual time runs one measurement and nothing before it.
    pub fn of_virtual_time() -> Self {
        complain!("tardy: a machine in virtual time only measures, so its settings are not checked");
        Self { findings: None, worst: None }
    }
}

/// Checks the machine of a run. That it cannot be checked is said, and does not prevent the measurement.
pub fn checked(target: &mut dyn Target, request: &RunRequest) -> Settings {
    let priority = request.settings.priority.clamp(1, 99);
    let limit = LIMIT * target.slowdown();
    let facts = target
        .prepare()
        .map_err(|error| error.to_string())
        .and_then(|()| gather(target, &request.meter, priority, limit).map_err(|error| error.to_string()));
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            complain!("tardy: the settings are not checked: {}", printable(&error));
            return Settings { findings: None, worst: None };
        }
    };
    let subject = Subject { cpus: None, priority, profile: Profile::Auto };
    let readiness = check(&facts, &subject, &Checklist::default(), &[]);
    let bad: Vec<&Finding> = readiness.open().filter(|finding| finding.severity > Severity::Notice).collect();
    let worst = bad.iter().max_by_key(|finding| finding.severity);
    Settings { findings: Some(bad.len()), worst: worst.map(|finding| finding.what.clone()) }
}
