//! The execution map of a run of the method `map` as a picture (SVG): when each busy thread was kept from its CPU, and beside it
//! what the kernel's trace says of the same thread, where there is one.

mod gaps;
mod switches;

use super::error::ExecutionMapError;
use super::{ExportError, ExportFormat, ExportInput};
use archive::method::MethodOptions;
use archive::reader::Run;
use gaps::{Stretch, each_gap};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use switches::{Agreement, Preemptions, preemptions};

/// The format.
#[derive(Debug)]
pub struct MapSvg;

impl ExportFormat for MapSvg {
    fn name(&self) -> &'static str {
        "map-svg"
    }

    fn about(&self) -> &'static str {
        "The execution map around the worst gap as a picture (of --method map with --every-sample)"
    }

    fn file_name(&self, _: &ExportInput<'_>) -> Result<String, ExportError> {
        Ok("map.svg".into())
    }

    fn write(&self, input: &ExportInput<'_>, out: &mut (dyn io::Write + Send)) -> Result<(), ExportError> {
        let imported = input.run().manifest.as_ref().is_some_and(|manifest| manifest.imported.is_some());
        match svg(input.run()) {
            Err(ExecutionMapError::OtherMethod) if imported => {
                Err(ExportError::NotInImport { format: self.name(), lacks: "time of each gap" })
            }
            drawn => Ok(out.write_all(drawn?.as_bytes())?),
        }
    }
}

/// Stretch that is drawn, around the worst gap: a whole run would be a grey bar.
const WINDOW_NS: i64 = 40_000_000;
const WIDTH: i64 = 1000;
const LEFT: i64 = 190;
const LANE: i64 = 24;
const TOP: i64 = 58;
const TICKS: i64 = 8;

/// Gaps of a thread that are drawn: ten for each pixel.
const DRAWN_MAX: usize = 10 * WIDTH as usize;

/// The stretches in which a thread wanted its CPU and did not have it.
#[derive(Debug, Default)]
struct Lane {
    label: String,
    /// When the first gap that the thread counted began.
    first_gap_ns: Option<i64>,
    /// As the thread saw them, within the picture.
    gaps: Vec<Stretch>,
    /// As traces show them.
    preemptions: Preemptions,
    /// Between the two.
    agreement: Agreement,
}

/// The picture of 40 ms around the worst gap.
///
/// # Errors
/// [`ExecutionMapError`].
fn svg(run: &Run) -> Result<String, ExecutionMapError> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let Some(MethodOptions::Map(map)) = settings.map(|settings| &settings.method.options) else {
        return Err(ExecutionMapError::OtherMethod);
    };
    let mut lanes = BTreeMap::new();
    let mut worst: Option<Stretch> = None;
    let length = |stretch: Option<Stretch>| stretch.map_or(0, |(from_ns, until_ns)| until_ns - from_ns);
    for thread in run.threads.values() {
        let mut first_gap_ns = None;
        let kept = each_gap(run, thread.thread, |gap| {
            first_gap_ns.get_or_insert(gap.0);
            if length(Some(gap)) > length(worst) {
                worst = Some(gap);
            }
        })?;
        if !kept {
            continue;
        }
        // Thread N of the run is the Nth of the file.
        let described = map.described.get(thread.thread as usize);
        let name = described.map_or_else(|| format!("thread {}", thread.thread), |described| described.name.clone());
        let label = format!("{name} on CPU {}", thread.cpu);
        lanes.insert((thread.cpu, thread.thread), Lane { label, first_gap_ns, ..Lane::default() });
    }
    let Some((from_ns, until_ns)) = worst else { return Err(ExecutionMapError::NoSamples) };
    let start_ns = from_ns + (until_ns - from_ns) / 2 - WINDOW_NS / 2;
    let end_ns = start_ns + WINDOW_NS;
    add_preemptions(run, map.gap_ns(), &mut lanes);
    for ((_, thread), lane) in &mut lanes {
        let (gaps, agreement) = (&mut lane.gaps, &mut lane.agreement);
        each_gap(run, *thread, |gap| {
            agreement.compare(&lane.preemptions, gap);
            if gap.0 < end_ns && gap.1 > start_ns && gaps.len() < DRAWN_MAX {
                gaps.push(gap);
            }
        })?;
    }
    let lanes: Vec<Lane> = lanes.into_values().collect();
    Ok(draw(&lanes, start_ns, end_ns))
}

/// Preemptions of the threads in the traces of all spikes; shorter ones than a gap are left out.
fn add_preemptions(run: &Run, gap_ns: u64, lanes: &mut BTreeMap<(u32, u32), Lane>) {
    let tid_of = |number: u32| {
        let threads = run.effective.as_ref().map_or(&[][..], |effective| &effective.threads);
        threads.iter().find(|thread| thread.thread == number).map_or(-1, |thread| thread.tid)
    };
    let tids: Vec<i32> = lanes.keys().map(|(_, number)| tid_of(*number)).collect();
    for spike in run.spikes.iter().filter(|spike| spike.snapshot.is_some()) {
        let Ok(trace) = run.spike_trace(spike.number) else { continue };
        for (lane, found) in lanes.values_mut().zip(preemptions(trace.as_slice(), &tids)) {
            lane.preemptions.extend(found);
        }
    }
    // Traces overlap.
    for lane in lanes.values_mut() {
        let first_gap_ns = lane.first_gap_ns;
        lane.preemptions.retain(|preemption| is_compared(*preemption, first_gap_ns, gap_ns));
        lane.preemptions.sort_unstable();
        lane.preemptions.dedup();
    }
}

/// Whether a thread can have seen a preemption as a gap: it is longer than one, and the thread counted already. The trace of an early
/// spike begins before samples count.
fn is_compared((from_ns, until_ns): Stretch, first_gap_ns: Option<i64>, gap_ns: u64) -> bool {
    from_ns.abs_diff(until_ns) > gap_ns && first_gap_ns.is_none_or(|first_ns| first_ns <= from_ns)
}

/// Whether the kernel's trace and the threads agree.
fn agreement(lanes: &[Lane]) -> String {
    let all: usize = lanes.iter().map(|lane| lane.preemptions.len()).sum();
    if all == 0 {
        return "<text x=\"4\" y=\"36\">no trace of a late sample shows these threads</text>\n".into();
    }
    let within: usize = lanes.iter().map(|lane| lane.agreement.within).sum();
    let longer_ns = lanes.iter().map(|lane| lane.agreement.longer_ns).max().unwrap_or(0);
    format!(
        "<text x=\"4\" y=\"36\" data-preemptions=\"{all}\" data-within=\"{within}\" data-longer-ns=\"{longer_ns}\">\
         blue: sched_switch in the traces of late samples; {within} of {all} preemptions are within a gap that the thread saw, \
         which is at most {:.1} us longer</text>\n",
        longer_ns as f64 / 1000.0
    )
}

/// Place of an instant on the page.
fn x(at_ns: i64, start_ns: i64, end_ns: i64) -> f64 {
    LEFT as f64 + (at_ns - start_ns) as f64 * (WIDTH - LEFT) as f64 / (end_ns - start_ns).max(1) as f64
}

fn draw(lanes: &[Lane], start_ns: i64, end_ns: i64) -> String {
    let bottom = TOP + lanes.len() as i64 * LANE;
    let height = bottom + 30;
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"4\" y=\"18\">dark: the thread wanted its CPU and did not have it; light: it ran, or slept by itself</text>\n\
         {}",
        WIDTH + 20,
        agreement(lanes)
    );
    for (at, lane) in lanes.iter().enumerate() {
        let y = TOP + at as i64 * LANE;
        let _ = writeln!(page, "<text x=\"4\" y=\"{}\">{}</text>", y + 14, escaped(&lane.label));
        let _ =
            writeln!(page, "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"18\" fill=\"#cfe3cf\"/>", WIDTH - LEFT);
        for (stretches, top, height, colour) in [(&lane.gaps, y, 18, "#333"), (&lane.preemptions, y + 13, 5, "#4a90d9")]
        {
            for &(from_ns, until_ns) in stretches.iter().filter(|gap| gap.0 < end_ns && gap.1 > start_ns) {
                let (left, right) = (from_ns.max(start_ns), until_ns.min(end_ns));
                // A gap of a few microseconds is narrower than a pixel.
                let width = (x(right, start_ns, end_ns) - x(left, start_ns, end_ns)).max(0.5);
                let _ = writeln!(
                    page,
                    "<rect x=\"{:.2}\" y=\"{top}\" width=\"{width:.2}\" height=\"{height}\" fill=\"{colour}\"><title>{:.1} us from {from_ns} ns</title></rect>",
                    x(left, start_ns, end_ns),
                    (until_ns - from_ns) as f64 / 1000.0,
                );
            }
        }
    }
    for tick in 0..=TICKS {
        let at_ns = start_ns + (end_ns - start_ns) * tick / TICKS;
        let place = x(at_ns, start_ns, end_ns);
        let text = format!("{:.1} ms", (at_ns - start_ns) as f64 / 1e6);
        let _ = writeln!(page, "<path d=\"M{place:.1} {TOP}V{bottom}\" stroke=\"#999\" stroke-width=\"0.5\"/>");
        let _ = writeln!(page, "<text x=\"{place:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 16);
    }
    page + "</svg>\n"
}

/// A name from an archive as text of the picture.
fn escaped(text: &str) -> String {
    let escape = |letter: char| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        letter if letter.is_control() => "?".to_owned(),
        letter => letter.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_the_first_counted_gap_is_not_compared() {
        assert!(is_compared((1000, 1200), Some(900), 100));
        assert!(!is_compared((800, 1000), Some(900), 100), "before samples count");
        assert!(!is_compared((1000, 1100), Some(900), 100), "no longer than a gap");
        assert!(is_compared((800, 1000), None, 100), "a thread that saw nothing at all");
    }

    #[test]
    fn gaps_are_where_they_were_and_what_is_outside_is_cut() {
        let lanes = [
            Lane {
                label: "a<b on CPU 1".into(),
                first_gap_ns: None,
                gaps: vec![(-500, 100), (400, 600)],
                preemptions: vec![(410, 590), (650, 700)],
                agreement: Agreement { within: 1, longer_ns: 20, ..Agreement::default() },
            },
            Lane { label: "c on CPU 1".into(), gaps: vec![(2_000, 3_000)], ..Lane::default() },
        ];
        let page = draw(&lanes, 0, 1_000);
        let dark: Vec<&str> = page.lines().filter(|line| line.contains("#333")).collect();
        assert_eq!(dark.len(), 2, "{page}");
        assert!(dark[0].starts_with("<rect x=\"190.00\"") && dark[0].contains("width=\"81.00\""), "{}", dark[0]);
        assert!(dark[1].starts_with("<rect x=\"514.00\"") && dark[1].contains("width=\"162.00\""), "{}", dark[1]);
        assert_eq!(page.lines().filter(|line| line.contains("#4a90d9")).count(), 2);
        assert!(page.contains("data-preemptions=\"2\" data-within=\"1\" data-longer-ns=\"20\""), "{page}");
        assert!(page.contains(">a&lt;b on CPU 1<") && page.ends_with("</svg>\n"), "{page}");
    }
}
