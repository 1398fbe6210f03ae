//! A table of times by size, and how each grows.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Times in milliseconds of named work, by the number of runs.
#[derive(Debug, Default)]
pub struct Growth {
    names: Vec<&'static str>,
    times: BTreeMap<(usize, &'static str), f64>,
}

impl Growth {
    /// Notes a time in milliseconds.
    pub fn note(&mut self, name: &'static str, runs: usize, ms: f64) {
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self.times.insert((runs, name), ms);
    }

    fn of(&self, name: &str) -> Vec<(f64, f64)> {
        let own = self.times.iter().filter(|((_, of), _)| *of == name);
        own.map(|((runs, _), ms)| (*runs as f64, *ms)).collect()
    }
}

/// The slope of the line through the logarithms, by least squares: 0 where the size does not matter, 1 where twice the
/// runs take twice the time.
pub fn exponent(times: &[(f64, f64)]) -> f64 {
    let logarithms = times.iter().map(|(runs, ms)| (runs.ln(), ms.ln()));
    let count = times.len() as f64;
    let (sum_x, sum_y) = logarithms.clone().fold((0.0, 0.0), |(of_x, of_y), (x, y)| (of_x + x, of_y + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let products: f64 = logarithms.clone().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    products / logarithms.map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

impl Display for Growth {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<usize> = self.names.first().map_or_else(Vec::new, |first| {
            self.times.keys().filter(|(_, name)| name == first).map(|(runs, _)| *runs).collect()
        });
        write!(to, "{:<24}", "ms, for runs:")?;
        for runs in &sizes {
            write!(to, " {runs:>9}")?;
        }
        writeln!(to, "  exponent")?;
        for name in &self.names {
            write!(to, "{name:<24}")?;
            let times = self.of(name);
            for (_, ms) in &times {
                write!(to, " {ms:>9.1}")?;
            }
            writeln!(to, "  {:>8.2}", exponent(&times))?;
        }
        Ok(())
    }
}
