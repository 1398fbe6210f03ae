//! Functions of the C and C++ libraries whose calls a program records: they seldom enter the kernel, and may wait all the same.

/// How many of them there are.
pub const FUNCTIONS: usize = Function::ALL.len();

/// The effect of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Takes memory from the heap.
    Allocation,
    /// Gives memory back to it.
    Release,
    /// Takes a lock, and waits for it if need be.
    Lock(Lock),
    /// Takes a lock or returns at once.
    TryLock(Lock),
    Unlock(Lock),
    /// Waits for another thread.
    Wait,
    /// Wakes another thread.
    Signal,
}

/// A kind of lock. A lock of another kind than a mutex never has priority inheritance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    Mutex,
    ReadWrite,
    Spin,
}

macro_rules! functions {
    ($($function:ident $symbol:literal $name:literal $effect:expr;)*) => {
        /// A function; its number is stored, so new ones are added at the end.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Function {
            $($function,)*
        }

        impl Function {
            pub const ALL: &'static [Self] = &[$(Self::$function,)*];

            /// Its name for the linker, ended with a zero.
            pub fn symbol(self) -> &'static std::ffi::CStr {
                match self {
                    $(Self::$function => $symbol,)*
                }
            }

            /// Its name for a programmer.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$function => $name,)*
                }
            }

            pub fn effect(self) -> Effect {
                match self {
                    $(Self::$function => $effect,)*
                }
            }
        }
    };
}

functions! {
    Malloc c"malloc" "malloc" Effect::Allocation;
    Calloc c"calloc" "calloc" Effect::Allocation;
    Realloc c"realloc" "realloc" Effect::Allocation;
    Reallocarray c"reallocarray" "reallocarray" Effect::Allocation;
    Memalign c"memalign" "memalign" Effect::Allocation;
    AlignedAlloc c"aligned_alloc" "aligned_alloc" Effect::Allocation;
    PosixMemalign c"posix_memalign" "posix_memalign" Effect::Allocation;
    Valloc c"valloc" "valloc" Effect::Allocation;
    Pvalloc c"pvalloc" "pvalloc" Effect::Allocation;
    Free c"free" "free" Effect::Release;
    New c"_Znwm" "operator new" Effect::Allocation;
    NewArray c"_Znam" "operator new[]" Effect::Allocation;
    Delete c"_ZdlPv" "operator delete" Effect::Release;
    DeleteSized c"_ZdlPvm" "operator delete" Effect::Release;
    DeleteArray c"_ZdaPv" "operator delete[]" Effect::Release;
    DeleteArraySized c"_ZdaPvm" "operator delete[]" Effect::Release;
    MutexLock c"pthread_mutex_lock" "pthread_mutex_lock" Effect::Lock(Lock::Mutex);
    MutexTimedlock c"pthread_mutex_timedlock" "pthread_mutex_timedlock" Effect::Lock(Lock::Mutex);
    MutexClocklock c"pthread_mutex_clocklock" "pthread_mutex_clocklock" Effect::Lock(Lock::Mutex);
    MutexTrylock c"pthread_mutex_trylock" "pthread_mutex_trylock" Effect::TryLock(Lock::Mutex);
    MutexUnlock c"pthread_mutex_unlock" "pthread_mutex_unlock" Effect::Unlock(Lock::Mutex);
    ReadLock c"pthread_rwlock_rdlock" "pthread_rwlock_rdlock" Effect::Lock(Lock::ReadWrite);
    WriteLock c"pthread_rwlock_wrlock" "pthread_rwlock_wrlock" Effect::Lock(Lock::ReadWrite);
    ReadTrylock c"pthread_rwlock_tryrdlock" "pthread_rwlock_tryrdlock" Effect::TryLock(Lock::ReadWrite);
    WriteTrylock c"pthread_rwlock_trywrlock" "pthread_rwlock_trywrlock" Effect::TryLock(Lock::ReadWrite);
    ReadWriteUnlock c"pthread_rwlock_unlock" "pthread_rwlock_unlock" Effect::Unlock(Lock::ReadWrite);
    SpinLock c"pthread_spin_lock" "pthread_spin_lock" Effect::Lock(Lock::Spin);
    SpinTrylock c"pthread_spin_trylock" "pthread_spin_trylock" Effect::TryLock(Lock::Spin);
    SpinUnlock c"pthread_spin_unlock" "pthread_spin_unlock" Effect::Unlock(Lock::Spin);
    ConditionWait c"pthread_cond_wait" "pthread_cond_wait" Effect::Wait;
    ConditionTimedwait c"pthread_cond_timedwait" "pthread_cond_timedwait" Effect::Wait;
    ConditionClockwait c"pthread_cond_clockwait" "pthread_cond_clockwait" Effect::Wait;
    ConditionSignal c"pthread_cond_signal" "pthread_cond_signal" Effect::Signal;
    ConditionBroadcast c"pthread_cond_broadcast" "pthread_cond_broadcast" Effect::Signal;
    SemaphoreWait c"sem_wait" "sem_wait" Effect::Wait;
    SemaphorePost c"sem_post" "sem_post" Effect::Signal;
}

impl Function {
    /// `None` for a number of no function.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Its bit in [`crate::header::at::ELSEWHERE`].
    pub fn bit(self) -> u64 {
        1 << self as u32
    }
}

const _: () = assert!(FUNCTIONS <= 64);

/// The threads whose calls of these functions are recorded. Of the other ones, a lock that they take is recorded now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    RealTime = 1,
    All = 2,
}

impl Recorded {
    /// `None` for 0, and for a number of neither.
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::RealTime, Self::All].into_iter().find(|recorded| *recorded as u32 == number)
    }
}

/// Bits of the kind of a mutex, the word at [`MUTEX_KIND_OFFSET`] of glibc's `pthread_mutex_t` on 64-bit machines.
pub mod mutex_kind {
    pub const INHERITS: u64 = 0x20;
    /// Its holder has the priority of its ceiling.
    pub const PROTECTS: u64 = 0x40;
}

pub const MUTEX_KIND_OFFSET: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_places_in_the_list_and_symbols_are_unique() {
        let symbols: BTreeSet<&std::ffi::CStr> = Function::ALL.iter().map(|function| function.symbol()).collect();
        assert_eq!(symbols.len(), FUNCTIONS);
        assert!(Function::ALL.iter().all(|function| Function::from_number(*function as u32) == Some(*function)));
        assert_eq!(Function::from_number(FUNCTIONS as u32), None);
    }
}
