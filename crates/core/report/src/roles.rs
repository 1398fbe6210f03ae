//! Sentences about what the other machine of a measurement has measured.

use archive::manifest::RunState;
use archive::roles::RunRole;
use archive::summary::{RoleSummary, RunSummary};
use words::figures::{count, counted, latency};

/// Title of the section.
pub const TITLE: &str = "Measured by the other machine";

/// How a round trip starts.
const GIVEN: &str = "a thread is about";

/// Who measured from where to where, and with which clock.
pub fn whose(other: &RoleSummary) -> String {
    let what = match other.role {
        RunRole::Stimulus => "gave the stimuli and saw the answers",
        RunRole::Target => "is the target, which answered",
    };
    format!(
        "{} {what} ({}). A sample starts when {}, and ends when {}.",
        other.target, other.method, other.from, other.to
    )
}

/// By which clock each figure was taken. No instant of one clock is compared with one of another, so neither needs to be aligned.
pub fn clocks(other: &RoleSummary) -> String {
    match other.same_clock {
        true => "Both machines are this one, with one clock.".into(),
        false => format!(
            "Each figure is a duration by one clock: here the clock of {}, in the other tables the clock of the run's own machine. The \
             clocks are not aligned, and no instant of one is compared with an instant of the other.",
            other.target
        ),
    }
}

/// The part of the round trip outside of the target, by the medians of both.
pub fn outside(summary: &RunSummary, other: &RoleSummary) -> Option<String> {
    let (here, there) = (summary.all_cpus.p50?, other.latency_ns.p50?);
    let (round_trip, residence) = match other.role {
        RunRole::Stimulus => (there, here),
        RunRole::Target => (here, there),
    };
    // The last part of a round trip is no round trip.
    let is_whole = match other.role {
        RunRole::Stimulus => other.from.starts_with(GIVEN),
        RunRole::Target => summary.settings.as_ref().is_some_and(|asked| asked.method.path().0.starts_with(GIVEN)),
    };
    (is_whole && round_trip >= residence).then(|| {
        format!(
            "Half of the round trips took at most {}, half of the target's samples at most {}: about {} are outside of the \
             target's samples, on both ways of the wire, before the target's sample starts, and in the wake-up of the thread that \
             sees the answer.",
            latency(round_trip),
            latency(residence),
            latency(round_trip - residence),
        )
    })
}

/// Reservations about the other machine's figures.
pub fn reservations(other: &RoleSummary) -> Vec<String> {
    let mut said = Vec::new();
    if other.unanswered > 0 && other.role == RunRole::Stimulus {
        let stimuli = if other.unanswered == 1 { "stimulus" } else { "stimuli" };
        let unanswered = count(other.unanswered);
        said.push(format!("{unanswered} {stimuli} had no answer within 1 s: no signal, so no latency."));
    }
    if other.stray > 0 {
        said.push(format!("{} belonged to no stimulus.", counted(other.stray, "answer")));
    }
    match (other.state, &other.ending) {
        (RunState::Complete, _) => {}
        (_, Some(ending)) => said.push(format!("Its run ended early: {ending}.")),
        (_, None) => said.push("Its run ended early.".into()),
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::MethodRequest;
    use archive::reader::Run;
    use archive::summary::LatencyFigures;
    use fixtures::assert_sentence;

    fn other(method: &str) -> RoleSummary {
        let request = MethodRequest::parse(method).unwrap();
        let (from, to) = request.path();
        RoleSummary {
            role: RunRole::Stimulus,
            target: "pc".into(),
            method: request.text(),
            from: from.into(),
            to: to.into(),
            same_clock: false,
            state: RunState::Complete,
            ending: None,
            samples: 10,
            missed: 0,
            unanswered: 0,
            stray: 0,
            latency_ns: LatencyFigures { p50: Some(500_000), ..LatencyFigures::default() },
        }
    }

    #[test]
    fn it_says_who_measured_what_and_by_which_clock() {
        let other = other("serial:role=stimulus,port=/dev/ttyS0");
        assert_sentence!("roles-whose", whose(&other));
        assert_sentence!("roles-two-clocks", clocks(&other));
        let same = RoleSummary { same_clock: true, ..other };
        assert_sentence!("roles-one-clock", clocks(&same));
    }

    #[test]
    fn the_difference_of_the_medians_is_said_for_whole_round_trips_alone() {
        let mut summary = RunSummary::of(&Run::default(), &[]);
        summary.all_cpus.p50 = Some(100_000);
        let outside_of = |method: &str| outside(&summary, &other(method));
        let said = outside_of("gpio:role=stimulus,in=1,out=2").unwrap();
        assert_sentence!("roles-outside", said);
        assert_eq!(outside_of("gpio:role=stimulus,in=1,out=2,sample=arrival"), None);
        summary.all_cpus.p50 = Some(600_000);
        assert_eq!(outside(&summary, &other("serial:role=stimulus")), None, "no time is negative");
    }

    #[test]
    fn a_missing_figure_is_stated() {
        assert_eq!(reservations(&other("serial")), [""; 0]);
        let broken = RoleSummary {
            unanswered: 2,
            stray: 1,
            state: RunState::Failed,
            ending: Some("the meter died".into()),
            ..other("serial")
        };
        let said = reservations(&broken);
        assert_eq!(said.len(), 3, "{said:?}");
        assert_sentence!("roles-reservations", said.join("\n"));
    }
}
