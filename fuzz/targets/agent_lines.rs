//! Any bytes as the messages of an agent, whole or inside a request.
#![no_main]

use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::within_budget;

/// A fault quotes an identifier of limited length and nothing else of a message.
const REPLY_BYTES_MAX: usize = 8 << 10;

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a [u8]),
    Request { id: i64, method: &'a str, params: &'a str },
}

fuzz_target!(|input: Input| {
    let bytes = match input {
        Input::Any(bytes) => bytes.to_vec(),
        Input::Request { id, method, params } => {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method:?},\"params\":{params}}}\n").into_bytes()
        }
    };
    within_budget(bytes.len(), || {
        let (lines, faults) = tardy::fuzzing::agent_lines(&bytes);
        assert!(faults.len() <= lines && lines <= bytes.iter().filter(|byte| **byte == b'\n').count() + 1);
        for fault in faults {
            assert!(fault.len() <= REPLY_BYTES_MAX && !fault.contains('\n'), "{} bytes", fault.len());
        }
    });
});
