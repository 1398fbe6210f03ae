//! A module whose beginning takes long, loaded and removed again by a process of the usual name.

use crate::kernel::{load_module, name, now_ns, pin, unload_module};
use crate::terms::Terms;
use std::io;

pub fn inject(mut terms: Terms) -> io::Result<()> {
    name("insmod");
    pin(terms.cpu)?;
    let module = terms.module_bytes()?;
    let parameters = format!("init_us={}", terms.length_ns / 1000);
    loop {
        terms.pause();
        let begin_ns = now_ns();
        load_module(&module, &parameters)?;
        let end_ns = now_ns();
        terms.note(begin_ns, end_ns)?;
        unload_module("tardy_inject")?;
    }
}
