//! A build of a Linux source tree, out of tree, so that nothing of it stays: configured once, built, cleaned, built again. Each line
//! of kbuild's output that names a file made is a step.

use super::words::Words;
use super::{CommandLine, Program, Setting, alone};
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "kernel-build",
    executables: &["make"],
    check,
    companion: alone,
    round,
    work: |output, _: &Path| steps(output),
    tells_meanwhile: true,
};

fn check(words: &Words) -> Result<(), String> {
    let tree = words.subject().unwrap_or_default();
    if !tree.starts_with('/') {
        return Err(format!("the source tree is named by its whole path on the target, not by {tree}"));
    }
    if !Path::new(tree).join("Makefile").is_file() {
        return Err(format!("there is no source tree with a Makefile at {tree} on the target"));
    }
    Ok(())
}

fn round(words: &Words, setting: &Setting, number: u64) -> Vec<CommandLine> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).to_string();
    let jobs = format!("-j{}", words.value_or("jobs", &cpus));
    let make = |goal: Option<&str>| {
        let tree = words.subject().unwrap_or_default();
        let own = format!("O={}", setting.place.display());
        let words = ["make", "-C", tree, &own, &jobs].into_iter().chain(goal);
        words.map(String::from).collect::<CommandLine>()
    };
    let first = if number == 0 { words.value_or("config", "defconfig") } else { "clean" };
    vec![make(Some(first)), make(None)]
}

/// Lines like `  CC      init/main.o`: two blanks, a tool in capitals, a file.
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
