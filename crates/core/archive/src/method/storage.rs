//! `storage`: from a read or write of a file or block device until its system call returns.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::{Flag, Number, Text, choices};

choices! {
    /// The maker of the requests.
    Engine { Builtin = "builtin", Fio = "fio" }
}

choices! {
    /// The direction of the requests.
    Op { Read = "read", Write = "write" }
}

choices! {
    /// How a request is known to be done.
    Mode {
        Direct = "direct", Sync = "sync", DataSync = "dsync", Fsync = "fsync", Fdatasync = "fdatasync", Buffered = "buffered",
    }
}

choices! {
    /// The size of a request.
    Block {
        K4 = "4k", B512 = "512", K1 = "1k", K2 = "2k", K8 = "8k", K16 = "16k", K32 = "32k", K64 = "64k", K128 = "128k", K256 = "256k",
        K512 = "512k", M1 = "1m",
    }
}

choices! {
    /// The order of the blocks.
    Order { Random = "random", Sequential = "sequential" }
}

choices! {
    /// When the next request starts.
    Pace { Interval = "interval", BackToBack = "back-to-back" }
}

choices! {
    /// Whether the way of each request is recorded.
    Phases { On = "on", Off = "off" }
}

impl Block {
    pub fn bytes(self) -> usize {
        match self {
            Self::B512 => 512,
            Self::K1 => 1 << 10,
            Self::K2 => 2 << 10,
            Self::K4 => 4 << 10,
            Self::K8 => 8 << 10,
            Self::K16 => 16 << 10,
            Self::K32 => 32 << 10,
            Self::K64 => 64 << 10,
            Self::K128 => 128 << 10,
            Self::K256 => 256 << 10,
            Self::K512 => 512 << 10,
            Self::M1 => 1 << 20,
        }
    }
}

method! {
    /// Options of `storage`.
    Storage {
        from: "a thread is about to read or write a block",
        to: "the data is read or written as the mode requires, and the thread reads the clock",
        original: "fio, with one request at a time",
        needs: "a directory to make a file in, on a file system on a block device, or a block device",
        options: {
            engine: Engine = "the source of the requests: the measuring threads, or the program fio, which must be on the target",
            ioengine: Text = "engine=fio: how fio makes them, such as psync (default), libaio or io_uring",
            iodepth: Number<1, 4096, 1> = "engine=fio: requests of a thread that are under way at a time",
            op: Op = "the requests",
            mode: Mode = "O_DIRECT; O_SYNC; O_DSYNC; a call of fsync or fdatasync after each write, in the sample; or only the page \
                          cache. Reads are direct, or of blocks that are not in the page cache",
            block: Block = "bytes of a request",
            order: Order = "of the blocks",
            pace: Pace = "a request each --interval, or the next one when the last one is done",
            threads: Number<1, 64, 1> = "threads, each with one request at a time in its own part, spread over the measured CPUs",
            size_mb: Number<1, 1_048_576, 64> = "size of the file, in MiB; of a device, the part from its start that is used",
            directory: Text = "where to make the file, which is removed at the end; /var/tmp by default",
            device: Text = "a block device in place of a file, such as /dev/sdb",
            phases: Phases = "record the way of each request through the block layer, where the kernel can be traced",
            overwrite: Flag = "permit writes to the device, which destroy what is on it; one in use is refused all the same",
        },
    }
}

impl Sampled for Storage {
    fn stimulus(&self) -> Stimulus {
        Stimulus::OwnCall
    }

    fn sample_word(&self) -> SampleWord {
        SampleWord::long("request", "requests", "the request began")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{OptionValue, Values};

    #[test]
    fn every_size_of_a_block_is_a_power_of_two_of_whole_sectors() {
        let Values::OneOf(words) = Block::VALUES else { panic!("{:?}", Block::VALUES) };
        let sizes: Vec<usize> = words.iter().map(|word| Block::parse(word).unwrap().bytes()).collect();
        assert_eq!((sizes[0], sizes[1], sizes.last()), (4096, 512, Some(&(1 << 20))));
        assert!(sizes.iter().all(|size| size.is_power_of_two() && *size >= 512));
    }
}
