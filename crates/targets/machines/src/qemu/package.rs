//! Debian's kernel packages, as apt describes them.

use super::apt::Apt;
use super::kernel_error::KernelError;
use std::iter;

/// Packages with files of a kernel; Debian splits them since Linux 7.2.
const PARTS: [&str; 3] = ["linux-base-", "linux-binary-", "linux-modules-"];

/// One version of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Hexadecimal, from apt's lists, which are signed.
    pub sha256: String,
    pub bytes: u64,
    /// The packages that have a part of its files, each as `name=version`.
    pub parts: Vec<String>,
}

impl Package {
    /// `name=version`, as used by apt and in target files.
    pub fn pin(&self) -> String {
        format!("{}={}", self.name, self.version)
    }

    /// Looks a package up, `name` or `name=version`.
    ///
    /// # Errors
    /// [`KernelError`], which names the missing part.
    fn describe(apt: &Apt, pin: &str) -> Result<Self, KernelError> {
        let answer = apt.ask("apt-cache", &["show", pin])?;
        Self::of_description(&answer).ok_or_else(|| KernelError::NoChecksum { pin: pin.into() })
    }

    /// The first version that `apt-cache show` lists, which is the one that apt would install.
    fn of_description(answer: &str) -> Option<Self> {
        let first = answer.split("\n\n").next()?;
        let field =
            |name: &str| first.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        let depends = field("Depends:").unwrap_or_default();
        Some(Self {
            name: field("Package:")?,
            version: field("Version:")?,
            sha256: field("SHA256:")?,
            bytes: field("Size:")?.parse().ok()?,
            parts: depends.split(", ").filter_map(part).collect(),
        })
    }
}

/// The pin in a dependency such as `linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1)`, if it is a part of a kernel.
fn part(dependency: &str) -> Option<String> {
    let (name, version) = dependency.split_once(" (= ")?;
    let release = PARTS.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    release
        .starts_with(|letter: char| letter.is_ascii_digit())
        .then(|| format!("{name}={}", version.trim_end_matches(')')))
}

/// The packages with the files of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelPackages {
    image: Package,
    parts: Vec<Package>,
}

impl KernelPackages {
    /// Looks up the package of an image, `name` or `name=version`, and those that have a part of its files.
    ///
    /// # Errors
    /// [`KernelError`], which names the missing part.
    pub fn describe(apt: &Apt, pin: &str) -> Result<Self, KernelError> {
        let image = Package::describe(apt, pin)?;
        let parts = image.parts.iter().map(|part| Package::describe(apt, part)).collect::<Result<_, _>>()?;
        Ok(Self { image, parts })
    }

    /// The version of the image package, which fixes the versions of its parts.
    pub fn pin(&self) -> String {
        self.image.pin()
    }

    pub fn all(&self) -> impl Iterator<Item = &Package> {
        iter::once(&self.image).chain(&self.parts)
    }

    pub fn bytes(&self) -> u64 {
        self.all().map(|package| package.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_that_apt_shows_is_taken() {
        let answer = "Package: linux-image-6.1.0-56-rt-amd64\nVersion: 6.1.192-2\nDepends: kmod\nSize: 70533964\n\
                      SHA256: e97e7f\n\nPackage: linux-image-6.1.0-56-rt-amd64\nVersion: 6.1.1-1\nSize: 1\nSHA256: 00\n";
        let package = Package::of_description(answer).unwrap();
        assert_eq!(package.pin(), "linux-image-6.1.0-56-rt-amd64=6.1.192-2");
        assert_eq!((package.sha256.as_str(), package.bytes), ("e97e7f", 70_533_964));
        assert_eq!(package.parts, [] as [&str; 0]);
        assert_eq!(Package::of_description("Package: x\nVersion: 1\n"), None);
    }

    #[test]
    fn a_kernel_in_several_packages_names_those_of_its_version() {
        let answer = "Package: linux-image-7.3.4+deb13-amd64\nVersion: 7.3.4-1\nDepends: dracut | initramfs-tools (>= 0.120), \
                      linux-base-7.3.4+deb13-amd64 (= 7.3.4-1), linux-binary-7.3.4+deb13-amd64 (= 7.3.4-1), \
                      linux-modules-7.3.4+deb13-amd64 (= 7.3.4-1)\nPre-Depends: linux-base (>= 4.17~)\nSize: 1900\nSHA256: 7a\n";
        let names = ["base", "binary", "modules"].map(|part| format!("linux-{part}-7.3.4+deb13-amd64=7.3.4-1"));
        assert_eq!(Package::of_description(answer).unwrap().parts, names);
        assert_eq!(part("linux-base (= 4.17)"), None);
    }
}
