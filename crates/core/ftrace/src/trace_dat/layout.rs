//! Constants shared by the writer and the reader of trace.dat.

pub(super) const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

/// Option and section numbers (one list in the format).
pub(super) mod id {
    pub const OPTIONS: u16 = 0;
    pub const CPU_STAT: u16 = 2;
    pub const BUFFER: u16 = 3;
    pub const TRACE_CLOCK: u16 = 4;
    pub const UNAME: u16 = 5;
    /// Seconds or ns to add to every timestamp.
    pub const OFFSET: u16 = 7;
    pub const CPU_COUNT: u16 = 8;
    pub const VERSION: u16 = 9;
    /// Mapping from the clock of a guest to that of its host.
    pub const TIME_SHIFT: u16 = 12;
    /// Conversion of raw counter values to ns.
    pub const TSC_TO_NS: u16 = 14;
    pub const STRINGS: u16 = 15;
    pub const HEADER_INFO: u16 = 16;
    pub const FTRACE_FORMATS: u16 = 17;
    pub const EVENT_FORMATS: u16 = 18;
    pub const KALLSYMS: u16 = 19;
    pub const PRINTK_FORMATS: u16 = 20;
    pub const COMMAND_LINES: u16 = 21;
    /// Ends a list of options; in version 7 its data is the offset of the next list, 0 for none.
    pub const DONE: u16 = 0;
}
