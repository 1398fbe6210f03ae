//! The pictures as PNG files, for terminals and tickets, without system fonts: the font is part of the binary.

#[cfg_attr(feature = "png", path = "png/encoder.rs")]
#[cfg_attr(not(feature = "png"), path = "png/left_out.rs")]
mod encoder;

use super::plot::{self, Drawing};
use archive::directory::ArchiveDirectory;
use archive::summary::ReportData;
use encoder::Encoder;
use judge::history::Series;
use std::path::{Path, PathBuf};
use std::{fs, io};

#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("failed to draw pictures: this tardy was built without them; use the one that `make build` builds")]
    LeftOut,
    #[error("failed to draw {file}: {reason}; this is a defect of tardy, please report it")]
    Draw { file: String, reason: String },
    #[error("failed to write {}: {source}; choose a directory that can be written with --png", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes `histogram.png`, `latency.png` and `spike-<number>.png` of each traced spike into `directory`, which is
/// created if absent, and returns their paths. A picture without data is not written.
pub fn render_pngs(data: &ReportData, directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    write_pngs(plot::drawings(data), directory)
}

/// Writes `history-<number>.png` of each series into `directory`, which is created if absent, and returns their paths.
pub fn write_history_pngs(all: &[Series], directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    let drawn = all
        .iter()
        .enumerate()
        .filter_map(|(number, series)| Some((format!("history-{:02}.png", number + 1), plot::history::draw(series)?)));
    write_pngs(drawn.collect(), directory)
}

/// Writes drawings under their file names into `directory`, which is created if absent, and returns their paths.
fn write_pngs(drawings: Vec<(String, Drawing)>, directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    if !cfg!(feature = "png") {
        return Err(PngError::LeftOut);
    }
    fs::create_dir_all(directory).map_err(|source| PngError::Write { path: directory.to_owned(), source })?;
    let encoder = Encoder::new();
    let mut paths = Vec::new();
    for (file, drawing) in drawings {
        let png = encoder.encode(&drawing).map_err(|reason| PngError::Draw { file: file.clone(), reason })?;
        let path = directory.join(&file);
        let written = ArchiveDirectory::open(directory).and_then(|inside| inside.replace(&file, &png));
        written.map_err(|source| PngError::Write { path: path.clone(), source })?;
        paths.push(path);
    }
    Ok(paths)
}
