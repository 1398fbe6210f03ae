//! Renders the report of a synthetic run, for work on its design: `report_sample SHAPE REPORT.html [PNG_DIRECTORY]`.
//! Shapes: two-cpus eight-cpus no-spikes forty-spikes invalid hostile empty.

use fixtures::report_sample;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [shape, report, directory @ ..] = arguments.as_slice() else {
        return Err("usage: report_sample SHAPE REPORT.html [PNG_DIRECTORY]".into());
    };
    let shape = report_sample::named(shape).ok_or("no such shape; see the first lines of this example")?;
    let data = report_sample::report_data(&shape);
    std::fs::write(report, report::render_html(&data, &[]))?;
    if let Some(directory) = directory.first() {
        for path in report::render_pngs(&data, Path::new(directory))? {
            println!("{}", path.display());
        }
    }
    Ok(())
}
