//! A measuring tracer in its own instance: reads, decodes and counts its records per CPU.

use super::catalogue::Tracer;
use super::channel::{self, Channel};
use super::refusal::{self, Refusal};
use super::series::Series;
use crate::trace::error::TraceError;
use archive::tracer::{KernelSeries, KernelSource};
use ftrace::byte_order::ByteOrder;
use ftrace::format::EventFormats;
use ftrace::page::{PageItem, PageItems};
use ftrace::tracefs::{Instance, RawPages};

/// About twenty thousand records, many times the number between two reads.
const BUFFER_KB: u32 = 1024;

struct CpuSeries {
    cpu: u32,
    pages: RawPages,
    lost_before: u64,
    /// One per channel.
    series: Vec<Series>,
}

/// A running source.
pub struct SourceReader {
    instance: Instance,
    channels: Vec<&'static Channel>,
    formats: EventFormats,
    cpus: Vec<CpuSeries>,
    pages: Vec<u8>,
}

impl SourceReader {
    /// Sets the tracer of a new instance; it does not record yet.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn arm(instance: Instance, source: KernelSource, tracer: &Tracer, measured: &[u32]) -> Result<Self, Refusal> {
        instance.set_tracing_on(false)?;
        instance.set_clock("mono")?;
        instance.set_buffer_size_kb(BUFFER_KB)?;
        let all = channel::of_source(source);
        let events: Vec<(&str, &str)> = all.iter().map(|channel| (channel.system, channel.event)).collect();
        let formats = instance.metadata(&events)?.parse(ByteOrder::NATIVE).formats;
        let channels: Vec<&Channel> = all.iter().filter(|channel| channel.format(&formats).is_some()).collect();
        for channel in channels.iter().filter(|channel| channel.system != "ftrace") {
            instance.enable_event(channel.system, channel.event)?;
        }
        // While a reader holds its pages open, the kernel rejects changes of the tracer (EBUSY).
        refusal::set_in(&instance, tracer)?;
        let mut cpus = Vec::new();
        for cpu in instance.cpus().into_iter().filter(|cpu| measured.contains(cpu)) {
            let pages = instance.open_raw(cpu)?;
            let series = channels.iter().map(|channel| Series::new(source, channel.name, cpu)).collect();
            cpus.push(CpuSeries { cpu, pages, lost_before: 0, series });
        }
        Ok(Self { instance, channels, formats, cpus, pages: Vec::with_capacity(64 << 10) })
    }

    /// # Errors
    /// [`TraceError`].
    pub fn begin(&mut self) -> Result<(), TraceError> {
        self.instance.set_tracing_on(true).map_err(TraceError::from)
    }

    /// Reads and counts the records since the last call.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(&mut self) -> Result<(), TraceError> {
        for cpu in &mut self.cpus {
            let layout = cpu.pages.layout();
            self.pages.clear();
            cpu.pages.drain_into(&mut self.pages, BUFFER_KB as usize * 1024)?;
            for page in self.pages.chunks_exact(layout.page_size) {
                for item in PageItems::new(page, &layout) {
                    let PageItem::Record(record) = item else { continue };
                    let Some(id) = ByteOrder::NATIVE.u16_at(record.payload, 0) else { continue };
                    for (channel, series) in self.channels.iter().zip(&mut cpu.series) {
                        let format = channel.format(&self.formats).filter(|format| format.id == id);
                        if let Some(ns) = format.and_then(|format| channel.value_ns(format, record.payload)) {
                            series.record(ns, record.ts_ns as i64);
                        }
                    }
                }
            }
            let stats = self.instance.cpu_stats(cpu.cpu)?;
            let lost = stats.overrun + stats.dropped_events + stats.commit_overrun;
            let new = lost.saturating_sub(std::mem::replace(&mut cpu.lost_before, lost));
            cpu.series.iter_mut().for_each(|series| series.records_lost += new);
        }
        Ok(())
    }

    pub fn so_far(&self) -> Vec<KernelSeries> {
        self.cpus.iter().flat_map(|cpu| cpu.series.iter().map(Series::so_far)).collect()
    }

    /// Stops recording; recorded data can still be read.
    pub fn stop(&self) {
        let _ = self.instance.set_tracing_on(false);
    }
}
