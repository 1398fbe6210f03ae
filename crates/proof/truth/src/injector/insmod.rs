//! A module whose beginning takes long, loaded and removed again by a process of the usual name.

use crate::kernel::{load_module, name, pin, unload_module};
use crate::sections::SECTIONS;
use crate::terms::Terms;
use std::io;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    name("insmod");
    pin(terms.cpu)?;
    let module = terms.module_bytes()?;
    let parameters = format!("init_us={}", terms.length_ns / 1000);
    loop {
        terms.pause();
        load_module(&module, &parameters)?;
        // The module itself notes its beginning: the kernel's part in loading it is no section of known length.
        terms.note_lines(&std::fs::read_to_string(SECTIONS)?)?;
        unload_module("tardy_inject")?;
    }
}
