//! The interface to `explain` for exports that need every event of a trace: the recording, without analysis.

pub use explain::recording::{RecordedEvent, RecordedItem, RecordedText, RecordedValue, Recording};
pub use explain::{Source, Stretch};
