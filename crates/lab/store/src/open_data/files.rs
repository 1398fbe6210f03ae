//! Writes columns as Parquet, in folders as Hive names them: `TABLE/board=NAME/month=YYYY-MM/rows.parquet`.

use super::ExportError;
use super::columns::{Kind, Table};
use super::partitions::{Partition, Values};
use archive::directory::make_directories;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: &str = "rows.parquet";
/// Version of the tables, in every file.
const VERSION: &str = "1";

/// A directory that is being written under a hidden name.
pub struct Staged {
    staged: PathBuf,
    directory: PathBuf,
}

impl Staged {
    pub fn beside(directory: &Path) -> Result<Self, ExportError> {
        if fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(ExportError::NotEmpty(directory.display().to_string()));
        }
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let staged = directory.with_file_name(format!(".{name}-{}.partial", std::process::id()));
        make_directories(&staged).map_err(failed(&staged))?;
        Ok(Self { staged, directory: directory.to_owned() })
    }

    /// Returns the length of the file.
    pub fn write(&self, table: &Table, of: &Partition, columns: Vec<Values>) -> Result<u64, ExportError> {
        let (board, month) = (hive(&of.board), hive(&of.month));
        let folder = self.staged.join(table.name).join(format!("board={board}")).join(format!("month={month}"));
        make_directories(&folder).map_err(failed(&folder))?;
        let path = folder.join(FILE);
        let file = fs::File::create_new(&path).map_err(failed(&path))?;
        let file = written(table, columns, file)?;
        file.sync_all().map_err(failed(&path))?;
        Ok(file.metadata().map_err(failed(&path))?.len())
    }

    pub fn finish(self) -> Result<(), ExportError> {
        fs::rename(&self.staged, &self.directory).map_err(failed(&self.directory))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone if it was finished.
        let _ = fs::remove_dir_all(&self.staged);
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> ExportError {
    let path = path.display().to_string();
    move |source| ExportError::Io { path, source }
}

/// A value as Hive writes it into the name of a folder: readers undo the escapes.
fn hive(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn written<W: Write + Send>(table: &Table, columns: Vec<Values>, out: W) -> Result<W, ParquetError> {
    let fields = table.columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by(format!("tardy {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new("open_data_version".to_owned(), VERSION.to_owned())]))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for ((_, kind), values) in table.columns.iter().zip(columns) {
        let optional = is_optional(*kind);
        match values {
            Values::Text(values) => {
                let values: Vec<_> =
                    values.into_iter().map(|text| text.map(|text| ByteArray::from(text.into_bytes()))).collect();
                write::<ByteArrayType>(&mut group, values, optional)?;
            }
            Values::Number(values) => write::<Int64Type>(&mut group, values, optional)?,
            Values::Real(values) => write::<DoubleType>(&mut group, values.into_iter().map(Some).collect(), false)?,
            Values::Flag(values) => write::<BoolType>(&mut group, values.into_iter().map(Some).collect(), false)?,
        }
    }
    group.close()?;
    writer.into_inner()
}

fn is_optional(kind: Kind) -> bool {
    matches!(kind, Kind::TextOrNull | Kind::CountOrNull)
}

fn field(name: &str, kind: Kind) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text | Kind::TextOrNull => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Count | Kind::CountOrNull => (Physical::INT64, None),
        // Without a time zone, so that every reader shows UTC as it is.
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
    };
    let repetition = if is_optional(kind) { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let name = Table::name_in_file(name, kind);
    let builder = Type::primitive_type_builder(&name, physical).with_repetition(repetition);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: Vec<Option<T::T>>,
    optional: bool,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&present, optional.then_some(&levels[..]), None)?;
        column.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_board_is_one_folder_whatever_it_is() {
        assert_eq!(hive("pi-4_b.2"), "pi-4_b.2");
        assert_eq!(hive("../a=b/µ %"), "..%2Fa%3Db%2F%C2%B5%20%25");
    }
}
