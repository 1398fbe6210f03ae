//! Common uses of a machine, the lateness that each allows, and the standing of a run in each.

use serde::{Deserialize, Serialize};

/// A use of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    Audio64,
    Audio128,
    Audio256,
    LinuxCncBase,
    LinuxCncServo,
    Klipper,
    Frames60,
    Frames144,
}

/// Where the allowed lateness of a use comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllowedBy {
    /// A wake-up that is a period late misses the next one.
    Period,
    /// LinuxCNC's table of latencies.
    LinuxCncTable,
    /// A quarter of the time that Klipper sends a command ahead.
    KlipperMargin,
}

impl Use {
    pub const ALL: [Self; 8] = [
        Self::Audio64,
        Self::Audio128,
        Self::Audio256,
        Self::LinuxCncBase,
        Self::LinuxCncServo,
        Self::Klipper,
        Self::Frames60,
        Self::Frames144,
    ];

    /// Stable identifier.
    pub fn id(self) -> &'static str {
        match self {
            Self::Audio64 => "audio-64",
            Self::Audio128 => "audio-128",
            Self::Audio256 => "audio-256",
            Self::LinuxCncBase => "linuxcnc-base",
            Self::LinuxCncServo => "linuxcnc-servo",
            Self::Klipper => "klipper",
            Self::Frames60 => "frames-60",
            Self::Frames144 => "frames-144",
        }
    }

    /// Latest that a thread may wake, in ns. Audio is at 48 kHz.
    pub fn allowed_ns(self) -> i64 {
        match self {
            Self::Audio64 => 1_333_333,
            Self::Audio128 => 2_666_667,
            Self::Audio256 => 5_333_333,
            Self::LinuxCncBase => 50_000,
            Self::LinuxCncServo => 500_000,
            Self::Klipper => 25_000_000,
            Self::Frames60 => 16_666_667,
            Self::Frames144 => 6_944_444,
        }
    }

    pub fn allowed_by(self) -> AllowedBy {
        match self {
            Self::LinuxCncBase | Self::LinuxCncServo => AllowedBy::LinuxCncTable,
            Self::Klipper => AllowedBy::KlipperMargin,
            _ => AllowedBy::Period,
        }
    }
}

/// The standing of a run in one use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No wake-up was too late, and the run was long enough to show that fewer than one an hour is.
    Proven,
    /// No wake-up was too late so far.
    SoFar,
    /// Wake-ups were too late.
    TooLate,
    NotMeasured,
}

impl Standing {
    /// Stable identifier.
    pub fn id(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::SoFar => "so-far",
            Self::TooLate => "too-late",
            Self::NotMeasured => "not-measured",
        }
    }
}

/// The judgement of a run by a use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UseJudgement {
    #[serde(rename = "use")]
    pub of: Use,
    pub standing: Standing,
    pub samples: u64,
    /// Samples that were certainly too late.
    pub late: u64,
    /// Whether no further one can have been too late.
    pub late_is_exact: bool,
    pub worst_ns: Option<i64>,
    pub measured_ns: i64,
    /// Further hours without a late wake-up that would prove fewer than one an hour; `None` if no time does, or none is needed.
    pub hours_needed: Option<f64>,
    /// In 0 .. 1.
    pub confidence: f64,
    pub sentence: String,
}
