//! A fake QEMU for tests: a shell script.

use super::VirtualTimeTarget;
use crate::qemu::machine_file::VirtualMachine;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// Finds its output files and defines `send BYTES AFTER`, which writes the bytes at offset AFTER, then the new total.
const SCRIPT: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 'a script' && exit
for word; do case $word in
  *id=stream,*) stream=${word#*mem-path=}; stream=${stream%%,*}; size=${word#*size=}; size=${size%%,*};;
  file,id=console,*) console=${word#*path=};;
esac; done
put() { dd of="$stream" bs=1 seek="$1" conv=notrunc status=none; }
send() { printf "$1" | put "$2"; printf "\\$(printf %o $((${#1} + $2)))" | put $((size - 8)); }
"#;

/// The files of one test: the script, a kernel and a meter.
pub struct Stage(pub TempDir);

impl Stage {
    pub fn with(part: &str) -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        fs::write(stage.path("qemu"), format!("{SCRIPT}{part}\n")).unwrap();
        fs::set_permissions(stage.path("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(stage.path("kernel"), *b"\x7fELF\x02\x01\0\0\0\0\0\0\0\0\0\0\0\0\x3e\0").unwrap();
        fs::write(stage.path("meter"), "not looked at").unwrap();
        stage
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn target(&self) -> VirtualTimeTarget {
        let machine = VirtualMachine {
            qemu: Some(self.path("qemu")),
            ..VirtualMachine::in_virtual_time(self.path("kernel").to_str().unwrap())
        };
        VirtualTimeTarget::new("exact", machine, &self.path("meter"), self.0.path())
    }
}
