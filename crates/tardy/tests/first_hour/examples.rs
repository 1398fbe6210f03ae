//! Every example of `--help`, the README and the documents: executed, with times that fit a test, and ended with the code
//! that it promises; or named with what it needs.

pub mod found;
mod table;

use crate::desk::{Desk, exceeds_a_limit};
use fixtures::ended::Ended;
use fixtures::repository::repository_path;
use found::{TomlFile, examples, toml_files};
use std::time::Duration;
use table::{NEEDS, PROMISES, Promise, SHORTER};

/// Files for the examples: two runs later than their limit, an execution map and the file of its threads, results of other
/// tools, a plan, a key, a thread that sleeps, a program with a loop.
fn prepare(desk: &Desk) {
    let threads = toml_files(TomlFile::Threads);
    assert_eq!(threads.len(), 1, "{threads:?}");
    std::fs::write(desk.path("threads.toml"), &threads[0].1).unwrap();
    let corpus = repository_path("corpus/imports").display().to_string();
    let prepared = desk.shell(&format!(
        "tardy run -q -D 2s --limit 1us --beside-others --out runs/before; \
         tardy run -q -D 2s --limit 1us --beside-others --out runs/after; \
         tardy run -q -D 1s --method map:file=threads.toml --every-sample --beside-others --out runs/map; \
         tardy lab store rebuild; tardy lab publish before --key lab-key --new-key --out first.tar; mkdir nightly; cp -r runs/before runs/after nightly/; cp -r {}/plans . ; \
         cp {corpus}/cyclictest-2.10/histogram.json cyclictest.json; cp {corpus}/cyclictest-2.4/nanoseconds.txt . ; \
         gunzip -c {corpus}/../foreign/hog.dat.gz > trace.dat; tardy lab plan new lathe.toml; tardy check --format accepted > known.txt; \
         cp \"$(command -v bash)\" sleeping; mkfifo never; \
         (./sleeping -c 'exec 9<>never; while :; do read -r -t 0.05 -u 9; done' >sleep.log 2>&1 & echo $! > sleeper); \
         printf '#!/bin/bash\nexec 9<>never; for ((n = 0; n < 10; n++)); do read -r -t 0.05 -u 9; done; true\n' > robot; \
         chmod +x robot",
        repository_path("").display()
    ));
    assert!(desk.path("runs/after").is_dir() && desk.path("nanoseconds.txt").is_file(), "{}", prepared.shown());
}

/// The line with times, names and limits that fit a test.
pub fn shortened(line: &str) -> String {
    SHORTER.iter().fold(line.to_owned(), |line, (long, short)| line.replace(long, short))
}

/// The line for a machine on which another test may trace.
pub fn beside_others(line: &str) -> String {
    if line.contains(".toml") {
        // A plan sets that itself.
        return line.to_owned();
    }
    let starts =
        ["tardy run ", "tardy qualify ", "tardy watch ", "tardy experiment tracing-cost ", "--cpu-dma-latency 0' -- "];
    starts.iter().fold(line.to_owned(), |line, start| line.replace(start, &format!("{start}--beside-others ")))
}

/// The code that a line promises, known before it or from the run that it made; `None` for a plan.
fn promised(desk: &Desk, line: &str) -> Option<i32> {
    let command = line.rsplit("; ").find(|part| part.starts_with("tardy")).unwrap_or(line);
    let (_, promise) = PROMISES.iter().find(|(start, _)| command.starts_with(start)).expect("every line starts so");
    Some(match promise {
        Promise::Code(code) => *code,
        Promise::Limit(code) => {
            if exceeds_a_limit(desk, command) {
                *code
            } else {
                0
            }
        }
        Promise::Check => {
            let line = command.split(" --format").next().unwrap_or(command);
            i32::from(desk.shell(&format!("{line} --json")).json()["ready"] != true)
        }
        Promise::Plan => return None,
    })
}

/// How a line ended, the code that it promises, and whether it kept that.
fn tried(desk: &Desk, line: &str) -> (Ended, Option<i32>, bool) {
    let ended = desk.shell(&beside_others(line));
    let promised = promised(desk, line);
    let kept = match promised {
        Some(code) => ended.code == Some(code),
        None => matches!(ended.code, Some(0 | 1 | 3 | 4)),
    };
    (ended, promised, kept)
}

/// How often a line that did not keep its promise runs once more.
const TRIES: usize = 5;

#[test]
fn examples_do_what_they_promise() {
    let Some(desk) = Desk::new() else { return };
    prepare(&desk);
    let mut wrong = Vec::new();
    for example in examples(&desk) {
        if let Some((_, needs)) = NEEDS.iter().find(|(words, _)| example.contains(words)) {
            eprintln!("needs {needs}: {example}");
            continue;
        }
        let line = shortened(&example);
        eprintln!("run: {line}");
        let (mut ended, mut promised, mut kept) = tried(&desk, &line);
        // Tests beside this one start and end urgent tasks and take CPU time: a line counts as wrong if it stays wrong.
        for _ in 0..TRIES {
            if kept {
                break;
            }
            eprintln!("  again, it ended with {:?}, promised {promised:?}: {}", ended.code, ended.shown());
            std::thread::sleep(Duration::from_secs(2));
            (ended, promised, kept) = tried(&desk, &line);
        }
        if !kept {
            wrong.push(format!("{line}: {:?}, promised {promised:?}: {}", ended.code, ended.shown()));
        }
    }
    desk.shell("kill $(cat sleeper)");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
