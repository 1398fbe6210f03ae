//! Rows of samples in Parquet, one per wake-up.
//!
//! Columns: `thread` and `cpu` (32 bits, the CPU that the thread was pinned to or started on), `due_ns` and
//! `latency_ns` (64 bits, CLOCK_MONOTONIC of the target). Each row group is a piece of the file of one thread.

use archive::reader::Run;
use archive::samples_file;
use parquet::basic::{Compression, Repetition, Type as PhysicalType};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum ParquetExportError {
    #[error("failed to export samples: this run kept none; measure with --every-sample")]
    NoSamples,
    #[error("failed to write Parquet: {0}")]
    Writer(#[from] ParquetError),
    #[error("failed to read samples: {0}")]
    Samples(#[from] io::Error),
}

/// Writes the file in chunks of samples. `notes` are key-value metadata of the file.
///
/// # Errors
/// If the run kept no samples.
pub fn write(run: &Run, notes: &[(&str, String)], out: &mut (dyn Write + Send)) -> Result<(), ParquetExportError> {
    let column = |name: &str, kind| {
        Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let columns = vec![
        column("thread", PhysicalType::INT32)?,
        column("cpu", PhysicalType::INT32)?,
        column("due_ns", PhysicalType::INT64)?,
        column("latency_ns", PhysicalType::INT64)?,
    ];
    let schema = Arc::new(Type::group_type_builder("samples").with_fields(columns).build()?);
    let notes = notes.iter().map(|(name, value)| KeyValue::new((*name).to_owned(), value.clone())).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by(format!("tardy {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(notes))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut rows = 0;
    for thread in run.threads.values() {
        let Ok(file) = samples_file::open(&run.directory, thread.thread) else { continue };
        for stretch in samples_file::pieces(file) {
            let stretch = stretch?;
            rows += stretch.len();
            let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
            let mut group = writer.next_row_group()?;
            write_column::<Int32Type>(&mut group, &vec![number(thread.thread); stretch.len()])?;
            write_column::<Int32Type>(&mut group, &vec![number(thread.cpu); stretch.len()])?;
            write_column::<Int64Type>(&mut group, &stretch.iter().map(|record| record.due_ns).collect::<Vec<_>>())?;
            write_column::<Int64Type>(&mut group, &stretch.iter().map(|record| record.latency_ns).collect::<Vec<_>>())?;
            group.close()?;
        }
    }
    if rows == 0 {
        return Err(ParquetExportError::NoSamples);
    }
    writer.close()?;
    Ok(())
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}
