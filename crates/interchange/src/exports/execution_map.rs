//! The execution map of a run of the method `map` as a picture (SVG): when each busy thread was kept from its CPU.

use archive::method::Method;
use archive::reader::Run;
use archive::samples_file::{self, SampleRecord};
use std::fmt::Write;
use std::io::{self, Read};

/// Stretch that is drawn, around the worst gap: a whole run would be a grey bar.
const WINDOW_NS: i64 = 40_000_000;
const WIDTH: i64 = 1000;
const LEFT: i64 = 150;
const LANE: i64 = 24;
const TOP: i64 = 40;
const TICKS: i64 = 8;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionMapError {
    #[error("failed to draw the execution map: this run has another method; measure with --method map")]
    OtherMethod,
    #[error("failed to draw the execution map: this run kept no samples; measure with --every-sample")]
    NoSamples,
    #[error("failed to read samples: {0}")]
    Samples(#[from] io::Error),
}

/// The stretches in which a thread wanted its CPU and did not have it, in ns of CLOCK_MONOTONIC.
struct Lane {
    thread: u32,
    cpu: u32,
    gaps: Vec<(i64, i64)>,
}

/// The picture of 40 ms around the worst gap.
///
/// # Errors
/// [`ExecutionMapError`].
pub fn svg(run: &Run) -> Result<String, ExecutionMapError> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    if settings.is_none_or(|settings| settings.method.name != Method::Map) {
        return Err(ExecutionMapError::OtherMethod);
    }
    let mut lanes = Vec::new();
    for thread in run.threads.values() {
        let Ok(mut file) = samples_file::open(&run.directory, thread.thread) else { continue };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let gap = |sample: SampleRecord| (sample.due_ns, sample.due_ns + sample.latency_ns);
        let gaps = samples_file::records(&bytes).map(gap).collect();
        lanes.push(Lane { thread: thread.thread, cpu: thread.cpu, gaps });
    }
    lanes.sort_by_key(|lane| (lane.cpu, lane.thread));
    let worst = lanes.iter().flat_map(|lane| &lane.gaps).max_by_key(|(from_ns, until_ns)| until_ns - from_ns);
    let Some((from_ns, until_ns)) = worst else { return Err(ExecutionMapError::NoSamples) };
    let start_ns = from_ns + (until_ns - from_ns) / 2 - WINDOW_NS / 2;
    Ok(draw(&lanes, start_ns, start_ns + WINDOW_NS))
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
         <text x=\"4\" y=\"18\">dark: the thread wanted its CPU and did not have it; light: it ran, or slept by itself</text>\n",
        WIDTH + 20
    );
    for (at, lane) in lanes.iter().enumerate() {
        let y = TOP + at as i64 * LANE;
        let _ = writeln!(page, "<text x=\"4\" y=\"{}\">thread {} on CPU {}</text>", y + 14, lane.thread, lane.cpu);
        let _ =
            writeln!(page, "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"18\" fill=\"#cfe3cf\"/>", WIDTH - LEFT);
        for &(from_ns, until_ns) in lane.gaps.iter().filter(|gap| gap.0 < end_ns && gap.1 > start_ns) {
            let (left, right) = (from_ns.max(start_ns), until_ns.min(end_ns));
            // A gap of a few microseconds is narrower than a pixel.
            let width = (x(right, start_ns, end_ns) - x(left, start_ns, end_ns)).max(0.5);
            let _ = writeln!(
                page,
                "<rect x=\"{:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"18\" fill=\"#333\"><title>{:.1} us from {from_ns} ns</title></rect>",
                x(left, start_ns, end_ns),
                (until_ns - from_ns) as f64 / 1000.0,
            );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_where_they_were_and_what_is_outside_is_cut() {
        let lanes = [
            Lane { thread: 0, cpu: 1, gaps: vec![(-500, 100), (400, 600)] },
            Lane { thread: 1, cpu: 1, gaps: vec![(2_000, 3_000)] },
        ];
        let page = draw(&lanes, 0, 1_000);
        let dark: Vec<&str> = page.lines().filter(|line| line.contains("#333")).collect();
        assert_eq!(dark.len(), 2, "{page}");
        assert!(dark[0].starts_with("<rect x=\"150.00\"") && dark[0].contains("width=\"85.00\""), "{}", dark[0]);
        assert!(dark[1].starts_with("<rect x=\"490.00\"") && dark[1].contains("width=\"170.00\""), "{}", dark[1]);
        assert!(page.contains("thread 1 on CPU 1") && page.ends_with("</svg>\n"));
    }
}
