//! The door to `explain` for exports that need every event of a trace: what was recorded, without a judgement.

pub use explain::recording::{RecordedEvent, RecordedItem, RecordedText, RecordedValue, Recording};
pub use explain::{Source, Stretch};
