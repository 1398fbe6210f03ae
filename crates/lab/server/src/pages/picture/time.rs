//! The axis of time below a picture of a history: months, kernels, changed settings, change points.

use maud::{Markup, html};
use report::picture::Axis;
use words::calendar::utc;

const DAY_NS: i64 = 86_400_000_000_000;
/// Width of a letter, about, and least distance between two labels, in pixels.
const LETTER: f64 = 6.4;
const GAP: f64 = 10.0;

/// A stretch of time on one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelStretch {
    pub kernel: String,
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
}

/// A change point, numbered as in the list below the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub number: usize,
    pub at_unix_ns: i64,
}

/// Events of a board over time, beside its latencies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Events {
    pub kernels: Vec<KernelStretch>,
    /// When the settings of the runs changed.
    pub settings: Vec<i64>,
    pub changes: Vec<Change>,
}

/// Days with a label on the axis: the first of each month, or fewer or more of them.
pub fn dates(from_unix_ns: i64, until_unix_ns: i64, width: f64) -> Vec<(i64, String)> {
    let days = until_unix_ns.saturating_sub(from_unix_ns) / DAY_NS + 1;
    let most = (width / 70.0).max(2.0) as i64;
    let mut labels: Vec<(i64, String)> = Vec::new();
    let monthly = days > 45;
    let every = (days / most).max(1);
    let first = from_unix_ns.div_euclid(DAY_NS) + 1;
    for day in first..first.saturating_add(days.min(20_000)) {
        let at = day.saturating_mul(DAY_NS);
        if at > until_unix_ns {
            break;
        }
        let name = utc(at);
        let name = name.split(' ').next().unwrap_or_default();
        if monthly && name.ends_with("-01") {
            labels.push((at, name[..name.len() - 3].to_owned()));
        } else if !monthly && (day - first) % every == 0 {
            labels.push((at, name[name.len().saturating_sub(5)..].to_owned()));
        }
    }
    let stride = labels.len().div_ceil(most.max(1) as usize).max(1);
    labels.into_iter().step_by(stride).collect()
}

/// Bands of the kernels from `top` on, 18 pixels high, with the names that fit.
pub fn kernel_bands(kernels: &[KernelStretch], x: &Axis, top: f64) -> Markup {
    html! {
        @for (at, stretch) in kernels.iter().enumerate() {
            @let (from, to) = (x.at(stretch.from_unix_ns as f64), x.at(stretch.until_unix_ns as f64));
            @let class = if at % 2 == 0 { "kernel-band" } else { "kernel-band odd" };
            g {
                title { "Linux " (stretch.kernel) " from " (utc(stretch.from_unix_ns)) }
                rect class=(class) x=(px(from)) y=(px(top)) width=(px((to - from).max(1.0))) height="18" {}
                @if let Some(name) = fitting(&stretch.kernel, to - from - 6.0) {
                    text.tick x=(px(from + 4.0)) y=(px(top + 13.0)) { (name) }
                }
            }
        }
    }
}

/// Lines at change points from `top` to `bottom` with numbered flags, and marks below the kernels where settings changed.
pub fn events(events: &Events, x: &Axis, top: f64, bottom: f64) -> Markup {
    html! {
        @for at in &events.settings {
            @let x = x.at(*at as f64);
            path.setting-mark d={ "M" (px(x)) " " (px(bottom)) "l5 9h-10z" } { title { "Settings changed on " (utc(*at)) } }
        }
        @for change in &events.changes {
            @let x = x.at(change.at_unix_ns as f64);
            a href={ "#change-" (change.number) } aria-label={ "Change " (change.number) } {
                path.change-line d={ "M" (px(x)) " " (px(top)) "V" (px(bottom)) } {}
                rect.change-flag x=(px(x - 9.0)) y=(px(top - 9.0)) width="18" height="18" rx="4" {}
                text.change-number x=(px(x)) y=(px(top + 4.5)) text-anchor="middle" { (change.number) }
            }
        }
    }
}

/// Labels of dates below `bottom`, without those that would overlap.
pub fn date_labels(from_unix_ns: i64, until_unix_ns: i64, x: &Axis, bottom: f64) -> Markup {
    let mut free_from = f64::NEG_INFINITY;
    let shown: Vec<(f64, String)> = dates(from_unix_ns, until_unix_ns, x.to - x.from)
        .into_iter()
        .filter_map(|(at, name)| {
            let (at, half) = (x.at(at as f64), name.len() as f64 * LETTER / 2.0);
            let fits = at - half >= free_from && at + half <= x.to + 20.0;
            fits.then(|| free_from = at + half + GAP).map(|()| (at, name))
        })
        .collect();
    html! {
        @for (at, name) in shown { text.tick x=(px(at)) y=(px(bottom + 15.0)) text-anchor="middle" { (name) } }
    }
}

fn fitting(name: &str, width: f64) -> Option<String> {
    let room = (width / LETTER).max(0.0) as usize;
    if name.chars().count() <= room {
        return Some(name.to_owned());
    }
    (room >= 5).then(|| format!("{}…", name.chars().take(room - 1).collect::<String>()))
}

/// A coordinate with as many digits as a screen shows.
pub fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_months_and_a_week_has_days() {
        // 2026-01-01.
        let start = 20_454 * DAY_NS;
        let months: Vec<String> = dates(start, start + 365 * DAY_NS, 900.0).into_iter().map(|(_, name)| name).collect();
        assert_eq!((months.len(), months[0].as_str(), months[11].as_str()), (12, "2026-02", "2027-01"));
        let days: Vec<String> = dates(start, start + 6 * DAY_NS, 900.0).into_iter().map(|(_, name)| name).collect();
        assert_eq!(days, ["01-02", "01-03", "01-04", "01-05", "01-06", "01-07"]);
        assert!(dates(i64::MIN, i64::MAX, 900.0).len() < 100);
        assert!(dates(5, 4, 900.0).len() < 2);
    }

    #[test]
    fn names_that_do_not_fit_are_cut_or_left_out() {
        assert_eq!(fitting("6.12.3-rt5", 100.0).as_deref(), Some("6.12.3-rt5"));
        assert_eq!(fitting("6.12.3-rt5-v8-with-more", 60.0).as_deref(), Some("6.12.3-r…"));
        assert_eq!(fitting("6.12.3-rt5", 20.0), None);
    }
}
