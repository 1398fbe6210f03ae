//! Uses of a machine, and what a run shows of them.

use crate::amounts::{hours_more, percent};
use crate::figures::{count, duration, latency};
use claims::uses::{AllowedBy, Standing, Use, UseJudgement};

/// The use in a few words.
pub fn title(of: Use) -> &'static str {
    match of {
        Use::Audio64 => "Audio, 64 frames at 48 kHz",
        Use::Audio128 => "Audio, 128 frames at 48 kHz",
        Use::Audio256 => "Audio, 256 frames at 48 kHz",
        Use::LinuxCncBase => "LinuxCNC, base thread",
        Use::LinuxCncServo => "LinuxCNC, servo thread of 1 ms",
        Use::Klipper => "Klipper",
        Use::Frames60 => "Frames at 60 Hz",
        Use::Frames144 => "Frames at 144 Hz",
    }
}

/// The source of the allowed lateness.
pub fn source(by: AllowedBy) -> &'static str {
    match by {
        AllowedBy::Period => "one period",
        AllowedBy::LinuxCncTable => "LinuxCNC's latency table",
        AllowedBy::KlipperMargin => "a quarter of the 100 ms that Klipper sends ahead",
    }
}

/// The standing in one or two words.
pub fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Proven => "Yes",
        Standing::SoFar => "So far",
        Standing::TooLate => "No",
        Standing::NotMeasured => "Not measured",
    }
}

/// The standing of the run in the use.
pub fn sentence(judged: &UseJudgement) -> String {
    let UseJudgement { of, samples, late, .. } = judged;
    let (Some(worst_ns), samples) = (judged.worst_ns, count(*samples)) else {
        return "Nothing has been measured yet.".into();
    };
    let (allowed, worst) = (latency(of.allowed_ns()), latency(worst_ns));
    let time = duration(judged.measured_ns);
    match judged.standing {
        Standing::NotMeasured => "Nothing has been measured yet.".into(),
        Standing::TooLate => {
            let at_least = if judged.late_is_exact { "" } else { "At least " };
            format!(
                "{at_least}{} of {samples} wake-ups in {time} came more than {allowed} late, the worst {worst}.",
                count(*late)
            )
        }
        Standing::SoFar => {
            let more = judged
                .hours_needed
                .map(|hours| format!(" Another {} without one proves fewer than one an hour.", hours_more(hours)));
            format!(
                "The worst of {samples} wake-ups in {time} was {worst} late; {allowed} is allowed.{}",
                more.unwrap_or_default()
            )
        }
        Standing::Proven => format!(
            "None of {samples} wake-ups in {time} came more than {allowed} late, the worst {worst}: fewer than one an hour, at \
             {} confidence.",
            percent(judged.confidence)
        ),
    }
}
