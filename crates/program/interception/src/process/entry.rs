//! Where every patched instruction arrives: it records the call and makes it.
//!
//! On the usual path only general registers are used, and all are restored, as the kernel would leave them. The 128 bytes
//! below the stack pointer belong to the interrupted function. A record is reserved by one instruction, so that a signal
//! handler on the same thread gets another one. Whatever is unusual (no ring yet, no room, a call that returns twice or
//! never, an injection) is decided by [`calls::unusual`], after the vector registers have been saved.
//!
//! For an unwinder the entry is a function that the instruction called: a thread may be cancelled in its system call, and then
//! runs the handlers of the functions that it is in.

use super::action;
use super::calls;
use super::thread::{SPECIAL, at};
use crate::stub::RAW_BYTES;
use call_ring::record::at as record;
use call_ring::{RESERVE, RING_RECORDS};
use std::arch::global_asm;

unsafe extern "C" {
    /// Entered by a jump, with the address to go on at in `rcx` and the address of the call in `r11`.
    pub fn tardy_interception_entry();
    /// Entered by a jump after a call that the stub made.
    pub fn tardy_interception_returned();
}

/// Bytes of the processor's extended state without AMX (2688), and some to spare.
const STATE_BYTES: usize = 2816;
/// x87, SSE, AVX, AVX-512.
const STATE_PARTS: u32 = 0xe7;

global_asm!(
    r#"
    .hidden tardy_interception_state
    .pushsection .text.tardy_interception,"ax",@progbits

    .macro tardy_save_rest
    push r11
    push rax
    push rdi
    push rsi
    push r8
    push r9
    push r10
    push rbp
    .cfi_def_cfa_offset 232
    .cfi_offset rbp, -232
    .endm
    .macro tardy_restore_rest
    pop rbp
    pop r10
    pop r9
    pop r8
    pop rsi
    pop rdi
    pop rax
    pop r11
    .cfi_def_cfa_offset 168
    .cfi_restore rbp
    .endm
    .macro tardy_save_first
    .cfi_def_cfa rsp, 0
    .cfi_register rip, r11
    lea rsp, [rsp - 128]
    .cfi_def_cfa_offset 128
    push r11
    .cfi_def_cfa_offset 136
    .cfi_offset rip, -136
    push rcx
    .cfi_def_cfa_offset 144
    push rbx
    .cfi_def_cfa_offset 152
    .cfi_offset rbx, -152
    push rdx
    .cfi_def_cfa_offset 160
    push r12
    .cfi_def_cfa_offset 168
    .cfi_offset r12, -168
    .endm
    .macro tardy_restore_first
    .cfi_remember_state
    pop r12
    .cfi_def_cfa_offset 160
    .cfi_restore r12
    pop rdx
    .cfi_def_cfa_offset 152
    pop rbx
    .cfi_def_cfa_offset 144
    .cfi_restore rbx
    pop rcx
    .cfi_def_cfa_offset 136
    pop r11
    .cfi_def_cfa_offset 128
    .cfi_register rip, r11
    lea rsp, [rsp + 128]
    .cfi_def_cfa_offset 0
    .endm
    .macro tardy_rust function
    mov rbp, rsp
    .cfi_def_cfa_register rbp
    sub rsp, {state_bytes}
    and rsp, -64
    xor eax, eax
    mov [rsp + 512], rax
    mov [rsp + 520], rax
    mov [rsp + 528], rax
    mov [rsp + 536], rax
    mov [rsp + 544], rax
    mov [rsp + 552], rax
    mov [rsp + 560], rax
    mov [rsp + 568], rax
    mov eax, {state_parts}
    xor edx, edx
    xsave64 [rsp]
    mov rdi, rbp
    cld
    call \function
    mov r12, rax
    mov eax, {state_parts}
    xor edx, edx
    xrstor64 [rsp]
    mov rsp, rbp
    .cfi_def_cfa_register rsp
    .endm

    .hidden tardy_interception_entry
    .globl tardy_interception_entry
    .type tardy_interception_entry, @function
    .balign 64
tardy_interception_entry:
    .cfi_startproc
    tardy_save_first
    mov rcx, [rip + tardy_interception_state@GOTTPOFF]
    mov ebx, eax
    cmp ebx, 511
    ja 5f
    lea rdx, [rip + {special}]
    cmp byte ptr [rdx + rbx], 0
    jne 5f
2:
    mov r12, fs:[rcx + {base}]
    test r12, r12
    jz 5f
    mov rdx, fs:[rcx + {tail}]
    mov rbx, fs:[rcx + {head}]
    sub rbx, [rdx]
    cmp rbx, {room}
    jae 5f
    mov ebx, 1
    xadd fs:[rcx + {head}], rbx
    lea rdx, [rbx + rbx + 1]
    and ebx, {mask}
    shl rbx, 7
    add rbx, r12
    mov [rbx + {number}], eax
    mov [rbx + {arguments}], rdi
    mov [rbx + {arguments} + 8], rsi
    mov [rbx + {arguments} + 24], r10
    mov [rbx + {arguments} + 32], r8
    mov [rbx + {arguments} + 40], r9
    mov [rbx + {address}], r11
    mov r11, rdx
    mov rdx, [rsp + 8]
    mov [rbx + {arguments} + 16], rdx
    mov edx, fs:[rcx + {tid}]
    mov [rbx + {record_tid}], edx
    xor edx, edx
    mov [rbx + {callers}], rdx
    mov [rbx + {callers} + 8], rdx
    mov [rbx + {callers} + 16], rdx
    mov [rbx + {callers} + 24], rdx
    cmp rsp, fs:[rcx + {stack_low}]
    jb 4f
    mov rdx, rbp
    .irp at, 0, 8, 16, 24
    cmp rdx, rsp
    jbe 4f
    cmp rdx, fs:[rcx + {stack_high}]
    jae 4f
    test dl, 7
    jnz 4f
    mov r12, [rdx + 8]
    mov [rbx + {callers} + \at], r12
    mov rdx, [rdx]
    .endr
4:
    mov rcx, rax
    rdtsc
    shl rdx, 32
    or rax, rdx
    mov [rbx + {entered}], rax
    mov rax, rcx
    mov rdx, [rsp + 8]
    mov [rbx], r11
    syscall
    mov rcx, rax
    mov [rbx + {result}], rax
    rdtsc
    shl rdx, 32
    or rax, rdx
    mov [rbx + {returned}], rax
    mov rax, rcx
    inc qword ptr [rbx]
    tardy_restore_first
    jmp rcx
    .cfi_restore_state

5:
    tardy_save_rest
    tardy_rust {unusual}
    cmp r12, {in_stub}
    je 6f
    cmp r12, {done}
    je 7f
    cmp r12, {unrecorded}
    je 8f
    .cfi_remember_state
    tardy_restore_rest
    mov rcx, [rip + tardy_interception_state@GOTTPOFF]
    jmp 2b
    .cfi_restore_state
6:
    .cfi_remember_state
    tardy_restore_rest
    tardy_restore_first
    lea rcx, [rcx - {raw_bytes}]
    jmp rcx
    .cfi_restore_state
    .cfi_restore_state
7:
    .cfi_remember_state
    tardy_restore_rest
    tardy_restore_first
    jmp rcx
    .cfi_restore_state
    .cfi_restore_state
8:
    tardy_restore_rest
    mov rdx, [rsp + 8]
    syscall
    tardy_restore_first
    jmp rcx
    .cfi_restore_state
    .cfi_endproc

    .hidden tardy_interception_returned
    .globl tardy_interception_returned
    .type tardy_interception_returned, @function
tardy_interception_returned:
    .cfi_startproc
    tardy_save_first
    tardy_save_rest
    tardy_rust {after}
    jmp 7b
    .cfi_endproc
    .popsection
    "#,
    special = sym SPECIAL,
    unusual = sym calls::unusual,
    after = sym calls::returned_in_stub,
    base = const at::BASE,
    head = const at::HEAD,
    tail = const at::TAIL,
    tid = const at::TID,
    stack_low = const at::STACK_LOW,
    stack_high = const at::STACK_HIGH,
    room = const RING_RECORDS - RESERVE,
    mask = const RING_RECORDS - 1,
    number = const record::NUMBER,
    arguments = const record::ARGUMENTS,
    address = const record::ADDRESS,
    record_tid = const record::TID,
    callers = const record::CALLERS,
    entered = const record::ENTERED,
    returned = const record::RETURNED,
    result = const record::RESULT,
    raw_bytes = const RAW_BYTES,
    state_bytes = const STATE_BYTES,
    state_parts = const STATE_PARTS,
    in_stub = const action::IN_STUB,
    done = const action::DONE,
    unrecorded = const action::UNRECORDED,
);
