//! `audio`: from the interrupt of a sound card's period until the thread that plays or captures runs.

use super::declaration::{Sampled, method};
use super::definition::Stimulus;
use super::sample_word::SampleWord;
use super::values::{Number, Text, choices};

choices! {
    /// The stretch that a sample is.
    Sample { Period = "period", Interrupt = "interrupt", Loop = "loop" }
}

choices! {
    /// How much is transferred at an interrupt.
    Refill { All = "all", Period = "period" }
}

choices! {
    /// Whether the card plays or captures.
    Direction { Playback = "playback", Capture = "capture" }
}

method! {
    /// Options of `audio`.
    Audio {
        from: "instant at which a period of a sound card should be over",
        to: "the thread that plays or captures reads the clock",
        when (sample: Sample::Interrupt) {
            from: "the kernel enters the handler of the sound card's interrupt",
            to: "the thread that plays or captures reads the clock"
        },
        when (sample: Sample::Loop) {
            from: "a thread is about to write an impulse",
            to: "it has captured the impulse"
        },
        original: "the Senoner test (latencytest)",
        needs: "a sound card (/dev/snd/pcmC0D0p) that no other program uses; sample=loop: a cable from its output to its input, or \
                snd-aloop",
        options: {
            sample: Sample = "how far the distance of two periods is from their length, early or late; from the kernel's time stamp of \
                              the interrupt; or from writing an impulse to reading it",
            refill: Refill = "sample=period: transfer all that the card has room or data for at its interrupt, or exactly one period, \
                              as latencytest's blocking write does",
            direction: Direction = "what the card does, except with sample=loop",
            device: Text = "the stream; /dev/snd/pcmC0D0p or pcmC0D0c by default",
            far: Text = "sample=loop: the stream that captures; /dev/snd/pcmC0D0c by default",
            rate: Number<4_000, 384_000, 48_000> = "frames per second",
            period: Number<16, 65_536, 256> = "frames per period",
            periods: Number<2, 32, 3> = "periods of the buffer: an xrun needs a thread that is late by all of them but one",
            work: Number<0, 90, 50> = "percent of each period for which the thread works, except with sample=loop",
        },
    }
}

impl Sampled for Audio {
    fn stimulus(&self) -> Stimulus {
        match self.sample() {
            // The thread itself writes the impulse.
            Sample::Loop => Stimulus::Busy,
            Sample::Period | Sample::Interrupt => Stimulus::Device,
        }
    }

    fn sample_word(&self) -> SampleWord {
        match self.sample() {
            Sample::Loop => SampleWord::long("round trip", "round trips", "the round trip began"),
            Sample::Period | Sample::Interrupt => SampleWord::late("period", "periods", "the period was due"),
        }
    }
}
