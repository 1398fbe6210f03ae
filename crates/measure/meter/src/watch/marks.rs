//! Requests from inside of a program to keep the last seconds: lines that it writes to the kernel's trace marker.
//!
//! An instance of its own receives copies of what is written to the marker of the whole machine (kernels since 6.16), and what is
//! written to its own marker. Programs that write a lot there fill nothing else.

use crate::cadence::Every;
use crate::journal::{Entry, Journal};
use crate::trace::arming::INSTANCE_PREFIX;
use crate::trace::error::TraceError;
use archive::spike::{RequestSource, SaveRequest};
use ftrace::byte_order::ByteOrder;
use ftrace::format::Field;
use ftrace::header::PageLayout;
use ftrace::trace_dat::{CpuRecords, TraceItem};
use ftrace::tracefs::{Instance, RawPages, Tracefs};

/// Beginning of the lines that request it; the rest of the line is the reason.
const SAVE: &[u8] = b"tardy: save";
const BUFFER_KB: u32 = 64;
const ROUND_BYTES_MAX: usize = 1 << 20;
const LOOK_NS: i64 = 100_000_000;

/// Reads the trace marker.
pub struct Marks {
    instance: Instance,
    pages: Vec<(u32, RawPages)>,
    layout: PageLayout,
    /// Number of the event, and the field with its text.
    event: u16,
    text: Field,
    look: Every,
    bytes: Vec<u8>,
}

impl Marks {
    /// Creates the instance, journalled. `None` if the kernel has no marker.
    ///
    /// # Errors
    /// [`TraceError`]; the journal undoes the changes.
    pub fn arm(tracefs: &Tracefs, journal: &mut Journal) -> Result<Option<Self>, TraceError> {
        let name = format!("{INSTANCE_PREFIX}{}-marks", std::process::id());
        journal.note(Entry::TraceInstance { name: name.clone() })?;
        let instance = tracefs.create_instance(&name)?;
        instance.set_buffer_size_kb(BUFFER_KB)?;
        // Without it, a program can still write to the marker of the instance.
        let _ = instance.set_option("copy_trace_marker", true);
        let none: [(&str, &str); 0] = [];
        let metadata = instance.metadata(&none)?.parse(ByteOrder::NATIVE);
        let print = metadata.formats.find("ftrace", "print");
        let Some((event, text)) = print.and_then(|format| Some((format.id, format.field("buf")?.clone()))) else {
            return Ok(None);
        };
        let layout = instance.page_layout()?;
        let pages = instance.cpus().into_iter().map(|cpu| Ok((cpu, instance.open_raw(cpu)?)));
        let pages = pages.collect::<Result<Vec<_>, TraceError>>()?;
        let (look, bytes) = (Every::new(LOOK_NS), Vec::new());
        Ok(Some(Self { instance, pages, layout, event, text, look, bytes }))
    }

    /// The last request since the last look, if one is due.
    pub fn take(&mut self, now_ns: i64) -> Option<SaveRequest> {
        if !self.look.is_due(now_ns) {
            return None;
        }
        let mut last: Option<(u64, SaveRequest)> = None;
        for (cpu, pages) in &mut self.pages {
            self.bytes.clear();
            // A failed read loses a request, which the program sees: nothing is saved.
            let _ = pages.drain_into(&mut self.bytes, ROUND_BYTES_MAX);
            for item in CpuRecords::new(*cpu, &self.bytes, &self.layout) {
                let TraceItem::Record(record) = item else { continue };
                let text = (record.id == self.event).then(|| self.text.c_str(record.payload)).flatten();
                if let Some(request) = text.and_then(requested)
                    && last.as_ref().is_none_or(|(ts_ns, _)| *ts_ns <= record.ts_ns)
                {
                    last = Some((record.ts_ns, request));
                }
            }
        }
        last.map(|(_, request)| request)
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        let _ = self.instance.set_tracing_on(false);
    }
}

/// The request in a line of the marker.
fn requested(line: &[u8]) -> Option<SaveRequest> {
    let reason = line.strip_prefix(SAVE)?;
    let ends = reason.first().is_none_or(|letter| letter.is_ascii_whitespace());
    ends.then(|| SaveRequest::new(RequestSource::Program, &String::from_utf8_lossy(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_marker_requests_with_its_reason() {
        let reason = |line: &[u8]| requested(line).map(|request| request.reason);
        assert_eq!(reason(b"tardy: save lost frame 7\n").as_deref(), Some("lost frame 7"));
        assert_eq!(reason(b"tardy: save").as_deref(), Some(""));
        assert_eq!(reason(b"tardy: save \xff\x1b[2J").as_deref(), Some("\u{fffd} [2J"));
        for other in [&b"tardy: saved"[..], b"tardy-spike\n", b"", b"x tardy: save"] {
            assert_eq!(reason(other), None);
        }
    }
}
