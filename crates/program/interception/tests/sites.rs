//! Which instructions are replaced, and which stay.
#![cfg(target_arch = "x86_64")]

use call_ring::header::Reason;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use interception::sites::{Found, Text, find};
use interception::stub::{Pointers, encode, jump};
use proptest::prelude::*;

const START: u64 = 0x40_0000;

fn found(bytes: &[u8]) -> Found {
    let end = START + bytes.len() as u64;
    find(Text { start: START, bytes }, std::slice::from_ref(&(START..end)))
}

const MOV_EAX_39: [u8; 5] = [0xb8, 39, 0, 0, 0];
const SYSCALL: [u8; 2] = [0x0f, 0x05];
const CMP: [u8; 6] = [0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff];
const RET: u8 = 0xc3;

#[test]
fn the_comparison_after_a_call_makes_room_for_the_jump() {
    let code = [&MOV_EAX_39[..], &SYSCALL, &CMP, &[RET]].concat();
    let found = found(&code);
    assert_eq!((found.sites.len(), found.unpatched.len()), (1, 0));
    let site = &found.sites[0];
    assert_eq!((site.region.clone(), site.before.len(), site.after.len()), (START + 5..START + 13, 0, 1));
    assert_eq!(jump(site, START + 0x1000).unwrap()[..5], [0xe9, 0xf6, 0x0f, 0, 0]);
}

#[test]
fn a_wrapper_of_two_instructions_moves_the_number() {
    let code = [&MOV_EAX_39[..], &SYSCALL, &[RET]].concat();
    let site = found(&code).sites.remove(0);
    assert_eq!((site.region.clone(), site.before.len(), site.after.len()), (START..START + 7, 1, 0));
    // The stub: the number, the entry, the call of its own, and back to the return.
    let pointers = Pointers { entry: START + 0x1000, returned: START + 0x1008 };
    let stub = encode(&site, START + 0x1010, pointers).unwrap();
    let decoded: Vec<Mnemonic> = Decoder::with_ip(64, &stub, START + 0x1010, DecoderOptions::NONE)
        .into_iter()
        .map(|instruction| instruction.mnemonic())
        .collect();
    use Mnemonic::{Jmp, Lea, Mov, Syscall};
    assert_eq!(decoded, [Mov, Mov, Lea, Jmp, Syscall, Mov, Lea, Jmp, Jmp]);
}

#[test]
fn code_that_cannot_be_moved_stays() {
    let reasons = |code: &[u8]| found(code).unpatched.into_iter().map(|(_, reason)| reason).collect::<Vec<Reason>>();
    // Nothing but the call: a call before it and a call after it do not move.
    let call = [0xe8, 0, 0x10, 0, 0];
    assert_eq!(reasons(&[&call[..], &SYSCALL, &call, &[RET]].concat()), [Reason::NoRoom]);
    // A jump leads to the comparison after it, and another one to the call itself.
    let into = [&SYSCALL[..], &CMP, &[0xeb, 0xf8, RET]].concat();
    assert_eq!(reasons(&into), [Reason::JumpedInto]);
    // A jump through a table.
    assert_eq!(reasons(&[&SYSCALL[..], &CMP, &[0xff, 0xe0]].concat()), [Reason::JumpTable]);
    // munmap(2), then exit(2) with no stack left.
    let ends = [&[0xb8, 11, 0, 0, 0][..], &SYSCALL, &[0x31, 0xff, 0xb0, 60], &SYSCALL, &[RET]].concat();
    assert_eq!(reasons(&ends), [Reason::NoStack, Reason::NoStack]);
    // Bytes of another instruction.
    let other = found(&[0xb8, 0x0f, 0x05, 0, 0, RET]);
    assert!(other.sites.is_empty() && other.unpatched.is_empty());
    // No function is known there.
    let unknown = find(Text { start: START, bytes: &SYSCALL }, &[]);
    assert_eq!(unknown.unpatched, [(START, Reason::FunctionUnknown)]);
}

fn code() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        4 => Just(SYSCALL.to_vec()),
        3 => Just(MOV_EAX_39.to_vec()),
        3 => Just(CMP.to_vec()),
        1 => Just(vec![RET]),
        2 => any::<i8>().prop_map(|distance| vec![0xeb, distance as u8]),
        2 => any::<i8>().prop_map(|distance| vec![0x74, distance as u8]),
        1 => proptest::collection::vec(any::<u8>(), 1..6),
        2 => Just(vec![0x90]),
    ];
    proptest::collection::vec(pieces, 1..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever the code, what is replaced is whole instructions, each region holds its call, and no two overlap.
    #[test]
    fn any_code_is_searched(code in code(), split in any::<prop::sample::Index>()) {
        let middle = START + split.index(code.len()) as u64;
        let end = START + code.len() as u64;
        let functions: Vec<_> = [START..middle, middle..end].into_iter().filter(|range| !range.is_empty()).collect();
        let found = find(Text { start: START, bytes: &code }, &functions);
        let mut regions: Vec<_> = found.sites.iter().map(|site| site.region.clone()).collect();
        regions.sort_by_key(|region| region.start);
        prop_assert!(regions.windows(2).all(|pair| pair[0].end <= pair[1].start), "{regions:x?}");
        for site in &found.sites {
            let at = (site.address - START) as usize;
            prop_assert_eq!(&code[at..at + 2], &SYSCALL);
            prop_assert!(site.region.contains(&site.address) && site.region.end - site.region.start >= 5);
            prop_assert!(site.region.start >= START && site.region.end <= end);
            let pointers = Pointers { entry: START + 0x1000, returned: START + 0x1008 };
            if let Some(stub) = encode(site, START + 0x1010, pointers) {
                prop_assert!(stub.len() <= interception::stub::STUB_BYTES_MAX);
            }
        }
    }
}
