//! The latency plot of test laboratories: columns cut out of `-h` output by shell tools, drawn by gnuplot.

use crate::programs::run_ours;
use prerequisites::require;
use std::path::Path;
use std::process::{Command, Output};

/// Cuts one file per CPU out of the histogram and draws them over each other, with counts on a logarithmic axis.
const RECIPE: &str = r#"
max=$(grep "Max Latencies" output | tr " " "\n" | sort -n | tail -1 | sed 's/^0*//')
grep -v -e "^#" -e "^$" output | tr " " "\t" > histogram
cores=$(($(head -1 histogram | wc -w) - 1))
plot="plot"
for core in $(seq 1 $cores); do
  cut -f1,$((core + 1)) histogram > histogram$core
  plot="$plot \"histogram$core\" using 1:2 title \"CPU$((core - 1))\" with histeps,"
done
gnuplot << END
set title "Latency plot"
set terminal png size 800,600
set xlabel "Latency (us), max $max us"
set logscale y
set xrange [0:400]
set yrange [0.8:*]
set ylabel "Number of latency samples"
set output "plot.png"
${plot%,}
END
echo "$cores cores, max $max"
"#;

fn draw(directory: &Path) -> Output {
    Command::new("bash").args(["-euo", "pipefail", "-c", RECIPE]).current_dir(directory).output().unwrap()
}

#[test]
fn gnuplot_draws_the_histogram() {
    require!(Root, Program("gnuplot"));
    for compat in ["2.4", "2.10"] {
        let directory = tempfile::tempdir().unwrap();
        let ran = run_ours(&format!("--compat {compat} -l 1000 -m -Sp90 -i200 -h400 -q"), directory.path());
        std::fs::write(directory.path().join("output"), &ran.stdout).unwrap();
        let drawn = draw(directory.path());
        let complaints = String::from_utf8_lossy(&drawn.stderr);
        assert!(drawn.status.success() && complaints.is_empty(), "{complaints}");
        let said = String::from_utf8_lossy(&drawn.stdout);
        let threads = std::thread::available_parallelism().unwrap().get();
        assert!(said.starts_with(&format!("{threads} cores, max ")), "{said}");
        let picture = std::fs::read(directory.path().join("plot.png")).unwrap();
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 3000, "{} bytes", picture.len());
    }
}
