//! Any bytes as the stacks of a spike, and any bytes as the executables that they name.
#![no_main]

use archive::stacks::{CodeMapping, KernelFunction, StackDescription, encode};
use libfuzzer_sys::{arbitrary, fuzz_target};
use stacks::{Files, Naming};
use tardy_fuzz::within_budget;

#[derive(Debug, arbitrary::Arbitrary)]
struct Input<'a> {
    file: &'a [u8],
    program: &'a [u8],
    records: &'a [u8],
    start: u64,
    end: u64,
    offset: u64,
    is_arm: bool,
    sampled_bytes: Option<u64>,
    kernel: Vec<(u64, &'a str)>,
}

struct OneProgram(Vec<u8>);

impl Files for OneProgram {
    fn read(&mut self, _: &str) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

fuzz_target!(|input: Input| {
    let bytes = input.file.len() + input.program.len() + input.records.len();
    within_budget(bytes, || {
        let build_id = stacks::code_file::Identity::of(input.program).and_then(|identity| identity.build_id);
        let mapping = CodeMapping {
            start: input.start,
            end: input.end,
            offset: input.offset,
            path: "/program".into(),
            build_id,
            ..CodeMapping::default()
        };
        let machine = if input.is_arm { "aarch64" } else { "x86_64" }.into();
        let kernel =
            input.kernel.iter().map(|(start, name)| KernelFunction { start: *start, name: (*name).into() }).collect();
        let sampled_bytes = input.sampled_bytes;
        let description =
            StackDescription { machine, mappings: vec![mapping], kernel, sampled_bytes, ..StackDescription::default() };
        let mut naming = Naming::new(OneProgram(input.program.to_vec()));
        naming.named(&encode(&description, input.records)).expect("an encoded file is one");
        let _ = naming.named(input.file);
    });
});
