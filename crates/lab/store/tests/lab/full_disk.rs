//! An index on a disk without room.

use crate::both::finish;
use prerequisites::require;
use std::fs;
use std::path::Path;
use store::{Address, Store, StoreError};

fn succeeds(words: &[&str], directory: &Path) -> bool {
    let status = std::process::Command::new(words[0]).args(&words[1..]).arg(directory).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_is_named_with_its_directory_and_serves_again_once_it_has_room() {
    let disk = tempfile::tempdir().unwrap();
    let mounted = succeeds(&["mount", "-t", "tmpfs", "-o", "size=4m", "none"], disk.path());
    require!(Prepared("the right to mount", mounted));
    let (filling, address) = (disk.path().join("filling"), Address::directory(disk.path()));
    let mut size = 4 << 20;
    while fs::write(&filling, vec![0; size]).is_err() {
        size -= 4096;
    }
    finish(async {
        let refused = Store::open(&address).await.map(|_| ()).unwrap_err();
        fs::remove_file(&filling).unwrap();
        let opened = Store::open(&address).await.map(|_| ());
        assert!(succeeds(&["umount", "--lazy"], disk.path()));
        let place = disk.path().display().to_string();
        assert!(matches!(&refused, StoreError::DiskFull { place: named, .. } if *named == place), "{refused:?}");
        opened.unwrap();
    });
}
