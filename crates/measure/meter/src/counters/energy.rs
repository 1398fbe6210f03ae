//! Reads the energy that parts of the machine count: RAPL's zones, and sensors of hwmon.
//!
//! A reading interrupts a CPU of the package, so there is one before the measurement and one after it, none in between.

use crate::environment::tree::Tree;
use crate::kernel::clock;
use archive::energy::{EnergyUse, SOURCES_MAX};
use std::path::Path;

const POWERCAP: &str = "sys/class/powercap";
const HWMON: &str = "sys/class/hwmon";

/// A counter of microjoules, or a sensor of microwatts.
struct Source {
    name: String,
    path: String,
    kind: Kind,
}

enum Kind {
    /// Starts again at 0 above this value; `None` if that is not known.
    Counter { wraps_at_uj: Option<u64> },
    /// The kernel's mean, or the present power.
    Power,
}

/// The first reading of every part.
pub struct EnergyMeters {
    tree: Tree,
    before: Vec<(Source, u64)>,
    read_ns: i64,
}

impl EnergyMeters {
    /// Reads every part below this root.
    pub fn begin(root: &Path) -> Self {
        let tree = Tree::new(root);
        let sources = zones(&tree).into_iter().chain(sensors(&tree)).take(SOURCES_MAX);
        let before = sources.filter_map(|source| {
            let value = tree.number(&source.path)?;
            Some((source, value))
        });
        let before = before.collect();
        Self { tree, before, read_ns: clock::monotonic_ns() }
    }

    /// Energy since then; parts that cannot be read any more are absent.
    pub fn end(self) -> Vec<EnergyUse> {
        let over_ns = u64::try_from(clock::monotonic_ns() - self.read_ns).unwrap_or(0);
        self.used(over_ns)
    }

    fn used(&self, over_ns: u64) -> Vec<EnergyUse> {
        let used = |(source, before): &(Source, u64)| {
            let after = self.tree.number(&source.path)?;
            let uj = source.kind.uj(*before, after, over_ns)?;
            Some(EnergyUse { source: source.name.clone(), uj, over_ns })
        };
        self.before.iter().filter_map(used).collect()
    }
}

impl Kind {
    fn uj(&self, before: u64, after: u64, over_ns: u64) -> Option<u64> {
        match self {
            Self::Counter { .. } if after >= before => Some(after - before),
            Self::Counter { wraps_at_uj } => (*wraps_at_uj)?.checked_sub(before)?.checked_add(after),
            Self::Power => {
                let uw = (u128::from(before) + u128::from(after)) / 2;
                u64::try_from(uw * u128::from(over_ns) / 1_000_000_000).ok()
            }
        }
    }
}

/// The packages and the platform. A zone below another one is part of it, and `intel-rapl-mmio` counts the packages again.
fn zones(tree: &Tree) -> Vec<Source> {
    let named = |prefix: &str| tree.numbered(POWERCAP, prefix);
    let zones =
        Some(named("intel-rapl:")).filter(|zones| !zones.is_empty()).unwrap_or_else(|| named("intel-rapl-mmio:"));
    let source = |(_, zone): (u32, String)| {
        let folder = format!("{POWERCAP}/{zone}");
        Source {
            name: tree.text(&format!("{folder}/name")).unwrap_or(zone),
            path: format!("{folder}/energy_uj"),
            kind: Kind::Counter { wraps_at_uj: tree.number(&format!("{folder}/max_energy_range_uj")) },
        }
    };
    zones.into_iter().map(source).collect()
}

fn sensors(tree: &Tree) -> Vec<Source> {
    let mut sensors = Vec::new();
    for (_, chip) in tree.numbered(HWMON, "hwmon") {
        let folder = format!("{HWMON}/{chip}");
        let chip = tree.text(&format!("{folder}/name")).unwrap_or(chip);
        let files = tree.names(&folder);
        for file in &files {
            let Some((sensor, value)) = file.split_once('_') else { continue };
            let has_mean = files.contains(&format!("{sensor}_average"));
            let kind = match value {
                "input" if sensor.starts_with("energy") => Kind::Counter { wraps_at_uj: None },
                "average" if sensor.starts_with("power") => Kind::Power,
                "input" if sensor.starts_with("power") && !has_mean => Kind::Power,
                _ => continue,
            };
            let label = tree.text(&format!("{folder}/{sensor}_label"));
            let name = format!("{chip} {}", label.as_deref().unwrap_or(sensor));
            sensors.push(Source { name, path: format!("{folder}/{file}"), kind });
        }
    }
    sensors
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const SECOND_NS: u64 = 1_000_000_000;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = root.join("sys/class").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn energy_is_what_each_part_counted_between_two_readings() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[
                ("powercap/intel-rapl:0/name", "package-0\n"),
                ("powercap/intel-rapl:0/energy_uj", "262143000000\n"),
                ("powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"),
                ("powercap/intel-rapl:0:0/name", "core\n"),
                ("powercap/intel-rapl:0:0/energy_uj", "5\n"),
                ("powercap/intel-rapl-mmio:0/name", "package-0\n"),
                ("powercap/intel-rapl-mmio:0/energy_uj", "7\n"),
                ("hwmon/hwmon1/name", "ina226\n"),
                ("hwmon/hwmon1/power1_input", "3000000\n"),
                ("hwmon/hwmon2/name", "meter\n"),
                ("hwmon/hwmon2/energy1_label", "socket\n"),
                ("hwmon/hwmon2/energy1_input", "1000\n"),
                ("hwmon/hwmon2/power1_average", "2000000\n"),
                ("hwmon/hwmon2/power1_input", "9000000\n"),
                ("hwmon/hwmon2/temp1_input", "40000\n"),
            ],
        );
        let meters = EnergyMeters::begin(root.path());
        write(
            root.path(),
            &[
                ("powercap/intel-rapl:0/energy_uj", "4671150\n"),
                ("hwmon/hwmon1/power1_input", "5000000\n"),
                ("hwmon/hwmon2/energy1_input", "4000\n"),
            ],
        );
        let used = meters.used(2 * SECOND_NS);
        let shown: Vec<(&str, u64)> = used.iter().map(|one| (one.source.as_str(), one.uj)).collect();
        let expected = [
            ("package-0", 5_000_000),
            ("ina226 power1", 8_000_000),
            ("meter socket", 3000),
            ("meter power1", 4_000_000),
        ];
        assert_eq!(shown, expected);
        assert_eq!(used[0].watts(), Some(2.5));
    }

    #[test]
    fn a_machine_without_counters_has_no_energy() {
        let root = tempfile::tempdir().unwrap();
        assert!(EnergyMeters::begin(root.path()).end().is_empty());
        write(root.path(), &[("hwmon/hwmon0/energy1_input", "50")]);
        let meters = EnergyMeters::begin(root.path());
        write(root.path(), &[("hwmon/hwmon0/energy1_input", "20")]);
        assert!(meters.used(SECOND_NS).is_empty(), "a counter that fell shows nothing");
    }
}
