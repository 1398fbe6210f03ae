//! Modules that the guest must load for its ports to the host, in dependency order.

use super::elf;
use super::file_error::FileError;
use super::kernel_error::KernelError;
use super::unpack;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules for the connection to the host.
pub const WANTED: &[&str] = &["virtio_pci", "virtio_console"];

/// The modules of one kernel, from a directory such as /lib/modules/RELEASE.
#[derive(Debug, Default)]
pub struct Modules {
    files: BTreeMap<String, PathBuf>,
    built_in: Vec<String>,
}

impl Modules {
    /// Lists a directory recursively.
    ///
    /// # Errors
    /// [`KernelError::File`].
    pub fn below(directory: &Path) -> Result<Self, KernelError> {
        let mut files = BTreeMap::new();
        collect(directory, &mut files).map_err(FileError::of("list the modules in", directory))?;
        let listed = fs::read_to_string(directory.join("modules.builtin")).unwrap_or_default();
        let built_in = listed.lines().filter_map(|line| name_of(Path::new(line))).collect();
        Ok(Self { files, built_in })
    }

    /// Name and contents of the wanted modules and their dependencies, each after its own dependencies. Modules built
    /// into the kernel are left out.
    ///
    /// # Errors
    /// [`KernelError::File`], [`KernelError::NoModule`], [`KernelError::NotAModule`] and [`KernelError::Circle`].
    pub fn in_order(&self, wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>, KernelError> {
        let mut loaded = Vec::new();
        wanted.iter().try_for_each(|name| self.add(&canonical(name), &mut Vec::new(), &mut loaded))?;
        Ok(loaded)
    }

    fn add(
        &self,
        name: &str,
        waiting: &mut Vec<String>,
        loaded: &mut Vec<(String, Vec<u8>)>,
    ) -> Result<(), KernelError> {
        if loaded.iter().any(|(done, _)| done == name) || self.built_in.iter().any(|built_in| built_in == name) {
            return Ok(());
        }
        if waiting.iter().any(|other| other == name) {
            return Err(KernelError::Circle { names: waiting.clone() });
        }
        let missing = || KernelError::NoModule { name: name.to_owned() };
        let path = self.files.get(name).ok_or_else(missing)?;
        let bytes = unpack::file(path)?;
        let needs =
            elf::module_dependencies(&bytes).ok_or_else(|| KernelError::NotAModule { path: path.to_owned() })?;
        waiting.push(name.to_owned());
        needs.iter().try_for_each(|need| self.add(&canonical(need), waiting, loaded))?;
        waiting.pop();
        loaded.push((name.to_owned(), bytes));
        Ok(())
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Links point to the sources and, in a circle, back.
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else if let Some(name) = name_of(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// `virtio_pci` of `kernel/drivers/virtio/virtio-pci.ko.xz`.
pub fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.split_once(".ko")?;
    matches!(ending, "" | ".xz" | ".gz" | ".zst").then(|| canonical(stem))
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qemu::elf::tests::module;

    fn kernel(modules: &[(&str, &str)], built_in: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("kernel/drivers/virtio")).unwrap();
        for (name, depends) in modules {
            fs::write(directory.path().join(format!("kernel/drivers/virtio/{name}.ko")), module(depends)).unwrap();
        }
        fs::write(directory.path().join("modules.builtin"), built_in).unwrap();
        directory
    }

    fn order(modules: &[(&str, &str)], built_in: &str) -> Result<Vec<String>, KernelError> {
        let directory = kernel(modules, built_in);
        let found = Modules::below(directory.path())?.in_order(WANTED)?;
        Ok(found.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn needed_modules_come_first_and_once() {
        let modules = [
            ("virtio_pci", "virtio_pci_modern_dev,virtio,virtio_ring"),
            ("virtio-pci-modern-dev", ""),
            ("virtio", ""),
            ("virtio_ring", "virtio"),
            ("virtio_console", "virtio_ring,virtio"),
            ("virtio_net", "virtio"),
        ];
        let expected = ["virtio_pci_modern_dev", "virtio", "virtio_ring", "virtio_pci", "virtio_console"];
        assert_eq!(order(&modules, "").unwrap(), expected);
    }

    #[test]
    fn built_in_modules_are_not_loaded() {
        let built_in = "kernel/drivers/virtio/virtio_pci.ko\nkernel/drivers/char/virtio_console.ko\n";
        assert!(order(&[], built_in).unwrap().is_empty());
    }

    #[test]
    fn missing_and_circular_modules_are_named() {
        assert!(
            matches!(order(&[("virtio_pci", "virtio")], ""), Err(KernelError::NoModule { name }) if name == "virtio")
        );
        let circle = [("virtio_pci", "virtio"), ("virtio", "virtio_pci")];
        assert!(matches!(order(&circle, ""), Err(KernelError::Circle { names }) if names == ["virtio_pci", "virtio"]));
    }
}
