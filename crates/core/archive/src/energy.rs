//! Energy that parts of a machine used during a run, where the machine counts it.

use serde::{Deserialize, Serialize};

/// Most parts of a machine that are kept.
pub const SOURCES_MAX: usize = 64;

/// Energy of one part of the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnergyUse {
    /// The kernel's name of the part: `package-0`, `psys`, `ina226 power1`. Parts may contain each other.
    pub source: String,
    /// Microjoules between the two readings.
    pub uj: u64,
    /// Time between the two readings, in ns.
    pub over_ns: u64,
}

impl EnergyUse {
    /// Mean power; `None` without time.
    pub fn watts(&self) -> Option<f64> {
        (self.over_ns > 0).then(|| self.uj as f64 * 1e3 / self.over_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_energy_over_time() {
        let used = EnergyUse { source: "package-0".into(), uj: 30_000_000, over_ns: 2_000_000_000 };
        assert_eq!((used.watts(), EnergyUse::default().watts()), (Some(15.0), None));
    }
}
