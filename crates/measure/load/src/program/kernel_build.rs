//! A build of a Linux source tree, out of tree, so that nothing of it stays: configured once, then built and cleaned
//! repeatedly. Each line of kbuild's output with a created file is a step.

use super::options::Options;
use super::{CommandLine, Context, Program, Unusable, no_server};
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "kernel-build",
    executables: &["make"],
    check,
    server: no_server,
    round,
    work: |output, _: &Path| steps(output),
    reports_progress: true,
};

fn check(options: &Options) -> Result<(), Unusable> {
    let tree = options.subject().unwrap_or_default();
    if !tree.starts_with('/') {
        return Err(Unusable::RelativePath { what: "the source tree", path: tree.into() });
    }
    if !Path::new(tree).join("Makefile").is_file() {
        return Err(Unusable::NoSourceTree { path: tree.into() });
    }
    Ok(())
}

fn round(options: &Options, context: &Context, number: u64) -> Vec<CommandLine> {
    let cpus = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()).to_string();
    let jobs = format!("-j{}", options.value_or("jobs", &cpus));
    let make = |goal: Option<&str>| {
        let tree = options.subject().unwrap_or_default();
        let own = format!("O={}", context.directory.display());
        let line = ["make", "-C", tree, &own, &jobs].into_iter().chain(goal);
        line.map(String::from).collect::<CommandLine>()
    };
    let first = if number == 0 { options.value_or("config", "defconfig") } else { "clean" };
    vec![make(Some(first)), make(None)]
}

/// Lines such as `  CC      init/main.o`: two spaces, a tool in capitals, a file.
fn steps(output: &[u8]) -> Option<u64> {
    let is_step = |line: &[u8]| {
        let Some(rest) = line.strip_prefix(b"  ") else { return false };
        let tool = rest.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
        tool >= 2 && rest.get(tool) == Some(&b' ') && !rest.starts_with(b"CLEAN")
    };
    Some(output.split(|&byte| byte == b'\n').filter(|line| is_step(line)).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::rounds::any_bytes;

    const OUTPUT: &str = "\
make[1]: Entering directory '/tmp/tardy-load-7'
  GEN     Makefile
  CLEAN   drivers/tty
  CC      init/main.o
  HOSTCC  scripts/basic/fixdep
  LD [M]  crypto/crc.ko
  SYSHDR  arch/x86/include/generated/uapi/asm/unistd_64.h
*** Default configuration is based on 'x86_64_defconfig'
";

    #[test]
    fn files_that_were_made_are_steps() {
        assert_eq!(steps(OUTPUT.as_bytes()), Some(5));
        any_bytes(&PROGRAM, OUTPUT);
    }
}
