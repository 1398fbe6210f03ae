//! Semaphores between threads: POSIX ones, which are memory and a futex, and System V ones, which are kernel objects.

use std::cell::UnsafeCell;
use std::io;

/// A semaphore of this process, starting at 0.
pub struct PosixSemaphore(Box<UnsafeCell<libc::sem_t>>);

// SAFETY: `sem_t` is designed for concurrent use by threads; it is accessed only through functions of the C library.
unsafe impl Send for PosixSemaphore {}
// SAFETY: as above.
unsafe impl Sync for PosixSemaphore {}

impl PosixSemaphore {
    /// # Errors
    /// Errors of sem_init(3).
    pub fn new() -> io::Result<Self> {
        // SAFETY: all-zero bytes are room for a semaphore; sem_init makes it one below.
        let semaphore = Box::new(UnsafeCell::new(unsafe { std::mem::zeroed() }));
        // SAFETY: the memory belongs to `self`, is boxed so that it never moves, and lives as long as `self`.
        let answer = unsafe { libc::sem_init(semaphore.get(), 0, 0) };
        if answer == 0 { Ok(Self(semaphore)) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub fn post(&self) {
        // SAFETY: initialised and alive.
        unsafe { libc::sem_post(self.0.get()) };
    }

    /// Waits; `false` if the semaphore is unusable.
    #[inline]
    pub fn wait(&self) -> bool {
        loop {
            // SAFETY: initialised and alive.
            if unsafe { libc::sem_wait(self.0.get()) } == 0 {
                return true;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
    }
}

impl Drop for PosixSemaphore {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to it any more.
        unsafe { libc::sem_destroy(self.0.get()) };
    }
}

/// Upper half of every key of this tool: a journal may not contain others.
const KEY_MARK: i32 = 0x7464_0000;

/// A set of one semaphore. It outlives the process unless it is removed.
#[derive(Debug)]
pub struct SysvSemaphore {
    id: i32,
}

impl SysvSemaphore {
    /// An unused key.
    ///
    /// # Errors
    /// ENOSYS on a kernel without CONFIG_SYSVIPC, ENOSPC if all keys are used.
    pub fn unused_key() -> io::Result<i32> {
        let first = std::process::id() as i32;
        for offset in 0..0x1_0000 {
            let key = KEY_MARK | (first.wrapping_add(offset) & 0xffff);
            match Self::find(key)? {
                Some(_) => {}
                None => return Ok(key),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENOSPC))
    }

    fn find(key: i32) -> io::Result<Option<Self>> {
        // SAFETY: takes numbers only.
        let id = unsafe { libc::semget(key, 0, 0) };
        if id >= 0 {
            return Ok(Some(Self { id }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT) => Ok(None),
            // It exists and belongs to another user.
            Some(libc::EACCES) => Ok(Some(Self { id: -1 })),
            _ => Err(error),
        }
    }

    /// # Errors
    /// EEXIST if another process used the key meanwhile.
    pub fn create(key: i32) -> io::Result<Self> {
        // SAFETY: takes numbers only.
        let id = unsafe { libc::semget(key, 1, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
        if id >= 0 { Ok(Self { id }) } else { Err(io::Error::last_os_error()) }
    }

    /// Removes the set of a key of this program; returns whether it existed.
    ///
    /// # Errors
    /// EINVAL for a foreign key, EPERM for a set of another user.
    pub fn remove(key: i32) -> io::Result<bool> {
        if key & !0xffff != KEY_MARK {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let Some(found) = Self::find(key)? else { return Ok(false) };
        // SAFETY: takes numbers only; IPC_RMID reads no fourth argument.
        let answer = unsafe { libc::semctl(found.id, 0, libc::IPC_RMID) };
        if answer == 0 { Ok(true) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    fn add(&self, number: i16) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: number, sem_flg: 0 };
        // SAFETY: `operation` is one live `sembuf`, as the count says.
        let answer = unsafe { libc::semop(self.id, &mut operation, 1) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub fn post(&self) {
        let _ = self.add(1);
    }

    /// Waits; `false` if the semaphore no longer exists.
    #[inline]
    pub fn wait(&self) -> bool {
        loop {
            match self.add(-1) {
                Ok(()) => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_ends_a_wait() {
        let semaphore = PosixSemaphore::new().unwrap();
        semaphore.post();
        assert!(semaphore.wait());
    }

    #[test]
    fn a_set_of_system_v_is_removed_by_its_key_and_no_foreign_one_is() {
        let key = SysvSemaphore::unused_key().unwrap();
        let semaphore = SysvSemaphore::create(key).unwrap();
        semaphore.post();
        assert!(semaphore.wait());
        assert!(SysvSemaphore::remove(key).unwrap());
        assert!(!SysvSemaphore::remove(key).unwrap());
        assert!(!semaphore.wait(), "there is nothing to wait for");
        assert_eq!(SysvSemaphore::remove(1).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}
