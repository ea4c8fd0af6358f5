/* arch_x86_64.S: switching between flows of control. See arch.h for the contract.
 *
 * Frame of a suspended flow, from its stack pointer up:
 *   mxcsr (4), x87 control word (4), r15, r14, r13, r12, rbx, rbp, return address */
	.section .text.hot, "ax", @progbits
	.p2align 6

	.globl	hd_arch_switch
	.hidden	hd_arch_switch
	.type	hd_arch_switch, @function
hd_arch_switch:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movl	(%rsp), %eax
	movzwl	4(%rsp), %edx
	movq	%rsp, (%rdi)
	movq	(%rsi), %rsp
	jmp	.Lload
	.cfi_endproc
	.size	hd_arch_switch, .-hd_arch_switch

	.globl	hd_arch_jump
	.hidden	hd_arch_jump
	.type	hd_arch_jump, @function
hd_arch_jump:
	.cfi_startproc
	movq	%rdi, %rsi
	movq	(%rsi), %rsp
	.cfi_def_cfa %rsp, 64
	stmxcsr	-8(%rsp)		/* no data is below the stack pointer */
	fnstcw	-4(%rsp)
	movl	-8(%rsp), %eax
	movzwl	-4(%rsp), %edx
.Lload:
	movq	8(%rsi), %rdi
	cmpb	$0, hd_arch_fsgsbase(%rip)
	je	.Lslow_tp
	wrfsbase %rdi
.Lmodes:
	cmpl	(%rsp), %eax
	jne	.Lload_modes
	cmpw	4(%rsp), %dx
	jne	.Lload_modes
.Lpop:
	addq	$8, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
.Lload_modes:
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	jmp	.Lpop
.Lslow_tp:
	movl	%eax, %r8d
	movl	%edx, %r9d
	movq	%rdi, %rsi
	movl	$0x1002, %edi		/* ARCH_SET_FS */
	movl	$158, %eax		/* arch_prctl */
	syscall
	movl	%r8d, %eax
	movl	%r9d, %edx
	jmp	.Lmodes
	.cfi_endproc
	.size	hd_arch_jump, .-hd_arch_jump

	/* First code of a prepared flow: r12 = entry, r13 = argument. The undefined return address
	 * ends every backtrace and every forced unwinding here. */
	.globl	hd_arch_entry
	.hidden	hd_arch_entry
	.type	hd_arch_entry, @function
hd_arch_entry:
	.cfi_startproc
	.cfi_undefined %rip
	movq	%r13, %rdi
	xorl	%ebp, %ebp
	callq	*%r12
	ud2
	.cfi_endproc
	.size	hd_arch_entry, .-hd_arch_entry

	/* Hooks at which a loop may wait by reading: before anything of ours runs, the caller's registers and
	 * stack pointer go to hot.regs and hot.sp (the first words of struct hd_hot), for spin.c to compare.
	 * The C side of NAME is hd_in_NAME. */
	.macro	ENTRY name to skip=8
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	leaq	\skip(%rsp), %rax
	movq	%rax, hot(%rip)
	movq	%rbx, hot+8(%rip)
	movq	%rbp, hot+16(%rip)
	movq	%r12, hot+24(%rip)
	movq	%r13, hot+32(%rip)
	movq	%r14, hot+40(%rip)
	movq	%r15, hot+48(%rip)
	.ifb	\to
	jmp	hd_in_\name
	.else
	jmp	\to
	.endif
	.cfi_endproc
	.size	\name, .-\name
	.endm

	.irp	bits, 8, 16, 32, 64, 128
	ENTRY	__tsan_atomic\bits\()_load
	ENTRY	__tsan_atomic\bits\()_compare_exchange_strong
	ENTRY	__tsan_atomic\bits\()_compare_exchange_weak
	ENTRY	__tsan_atomic\bits\()_compare_exchange_val
	.endr
	.irp	bits, 8, 16, 32, 64
	ENTRY	__tsan_atomic\bits\()_exchange
	ENTRY	__tsan_atomic\bits\()_fetch_and
	ENTRY	__tsan_atomic\bits\()_fetch_or
	ENTRY	__tsan_atomic\bits\()_fetch_add
	ENTRY	__tsan_atomic\bits\()_fetch_sub
	ENTRY	__tsan_atomic\bits\()_fetch_xor
	.endr
	.irp	size, 1, 2, 4, 8, 16
	ENTRY	__tsan_volatile_read\size
	.endr
	.irp	size, 2, 4, 8, 16
	ENTRY	__tsan_unaligned_volatile_read\size
	.endr
	.irp	size, 1, 2, 4, 8, 16
	ENTRY	__atomic_load_\size
	ENTRY	__atomic_compare_exchange_\size
	.endr
	ENTRY	__atomic_load
	ENTRY	__atomic_compare_exchange
	ENTRY	__heddle_asm_read
	ENTRY	__heddle_asm_atomic
	ENTRY	pthread_mutex_lock
	ENTRY	pthread_mutex_trylock
	ENTRY	pthread_rwlock_rdlock
	ENTRY	pthread_rwlock_wrlock
	ENTRY	pthread_rwlock_tryrdlock
	ENTRY	pthread_rwlock_trywrlock
	ENTRY	pthread_spin_lock
	ENTRY	pthread_spin_trylock
	ENTRY	sem_trywait
	ENTRY	sem_getvalue
	ENTRY	mtx_lock
	ENTRY	mtx_trylock
	ENTRY	pthread_testcancel
	ENTRY	sigpending
	ENTRY	sigaction
	ENTRY	pthread_tryjoin_np
	ENTRY	getenv
	ENTRY	secure_getenv
	ENTRY	setlocale
	ENTRY	pthread_getname_np
	ENTRY	aio_error
	ENTRY	aio_error64
	ENTRY	ftrylockfile
	ENTRY	feof
	ENTRY	ferror
	ENTRY	fwide
	ENTRY	ftell
	ENTRY	ftello
	ENTRY	ftello64
	ENTRY	fgetpos
	ENTRY	fgetpos64
	ENTRY	pthread_mutex_timedlock
	ENTRY	pthread_mutex_clocklock
	ENTRY	pthread_rwlock_timedrdlock
	ENTRY	pthread_rwlock_timedwrlock
	ENTRY	pthread_rwlock_clockrdlock
	ENTRY	pthread_rwlock_clockwrlock
	ENTRY	sem_timedwait
	ENTRY	sem_clockwait
	ENTRY	mtx_timedlock
	ENTRY	hd_rt_atomic_begin
	ENTRY	__VERIFIER_atomic_begin

	/* The same for a hook that is not such a place, when its read may be that of a waiting loop. */
	.hidden	hd_arch_watched_read
	ENTRY	hd_arch_watched_read, hd__watched_read
	.hidden	hd_arch_watched_read_here
	ENTRY	hd_arch_watched_read_here, hd__watched_read, 0

	/* Functions of libstdc++ (wrap/cxx.def): hd__cxx_call, with the number, the first two arguments and the place of
	 * the call, returns the original, which continues with the caller's registers and stack. */
#define HD_CXX(how, number, name, version) CXX number, name, version
	.macro	CXX number name version
	.globl	hd_rt_cxx\number
	.type	hd_rt_cxx\number, @function
	.symver	hd_rt_cxx\number, \name\()@\version, remove
hd_rt_cxx\number:
	.cfi_startproc
	movl	$\number, %r11d
	jmp	.Lcxx
	.cfi_endproc
	.size	hd_rt_cxx\number, .-hd_rt_cxx\number
	.endm
#include "runtime/wrap/cxx.def"
#undef HD_CXX
.Lcxx:
	.cfi_startproc
	.irp	reg, rdi, rsi, rdx, rcx, r8, r9
	pushq	%\reg
	.cfi_adjust_cfa_offset 8
	.endr
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movups	%xmm0, (%rsp)		/* no function has more than one floating-point argument */
	movq	%rsi, %rdx
	movq	%rdi, %rsi
	movl	%r11d, %edi
	movq	72(%rsp), %rcx
	callq	hd__cxx_call
	movups	(%rsp), %xmm0
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	.irp	reg, r9, r8, rcx, rdx, rsi, rdi
	popq	%\reg
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	*%rax
	.cfi_endproc

	.globl	hd_arch_scrub
	.hidden	hd_arch_scrub
	.type	hd_arch_scrub, @function
hd_arch_scrub:
	leaq	-2048(%rsp), %rdi
	movl	$256, %ecx
	xorl	%eax, %eax
	rep	stosq
	/* Functions with variable arguments store the registers of all arguments. */
	xorl	%edi, %edi
	xorl	%esi, %esi
	xorl	%edx, %edx
	xorl	%r8d, %r8d
	xorl	%r9d, %r9d
	ret
	.size	hd_arch_scrub, .-hd_arch_scrub

	.globl	hd_arch_scrub_to
	.hidden	hd_arch_scrub_to
	.type	hd_arch_scrub_to, @function
hd_arch_scrub_to:
	movq	%rdi, %r8
	leaq	-2048(%rsp), %rdi
	movl	$256, %ecx
	xorl	%eax, %eax
	rep	stosq
	jmp	*%r8
	.size	hd_arch_scrub_to, .-hd_arch_scrub_to

	.globl	hd_arch_leave
	.hidden	hd_arch_leave
	.type	hd_arch_leave, @function
hd_arch_leave:
	movq	%rdi, %r8
	leaq	-2048(%rsp), %rdi
	movl	$256, %ecx
	xorl	%eax, %eax
	rep	stosq
	movq	%r8, %rax
	ret
	.size	hd_arch_leave, .-hd_arch_leave

	.globl	hd_arch_park
	.hidden	hd_arch_park
	.type	hd_arch_park, @function
hd_arch_park:
	movq	%rdi, %r12
	movq	%rsi, (%rdi)		/* stores are not reordered with each other: a release */
	xorl	%r10d, %r10d
	movl	$1, %edx
	movl	$1, %esi		/* FUTEX_WAKE */
	movl	$202, %eax		/* futex */
	syscall
1:	movq	%r12, %rdi
	movl	(%rdi), %edx		/* it keeps this value */
	xorl	%r10d, %r10d
	xorl	%esi, %esi		/* FUTEX_WAIT */
	movl	$202, %eax
	syscall
	jmp	1b
	.size	hd_arch_park, .-hd_arch_park

	/* rdi = address, esi = bytes, rdx = where to put them */
	.globl	hd_arch_peek
	.hidden	hd_arch_peek
	.type	hd_arch_peek, @function
	.globl	hd_arch_peek_at
	.hidden	hd_arch_peek_at
	.globl	hd_arch_peek_failed
	.hidden	hd_arch_peek_failed
hd_arch_peek:
	.cfi_startproc
	xorl	%eax, %eax
	movl	%esi, %ecx
1:	shlq	$8, %rax
	decl	%ecx
hd_arch_peek_at:
	movb	(%rdi,%rcx), %al
	testl	%ecx, %ecx
	jnz	1b
	movq	%rax, (%rdx)
	movl	$1, %eax
	ret
hd_arch_peek_failed:
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	hd_arch_peek, .-hd_arch_peek

	/* rdi = a copy of an interrupted context, with the stack below it; rsi = function. Calls it with the copy, then
	 * continues the context. To an unwinder it is a signal frame: the registers of the caller are in the context. */
	.globl	hd_arch_continue_beside
	.hidden	hd_arch_continue_beside
	.type	hd_arch_continue_beside, @function
	.macro	SAVED reg at		/* in uc_mcontext.gregs: DW_CFA_expression, DW_OP_breg7 */
	.cfi_escape 0x10, \reg, 3, 0x77, (\at & 0x7f) | 0x80, (\at >> 7) & 0x7f
	.endm
hd_arch_continue_beside:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* CFA: the stack pointer at 160 */
	SAVED	8 40
	SAVED	9 48
	SAVED	10 56
	SAVED	11 64
	SAVED	12 72
	SAVED	13 80
	SAVED	14 88
	SAVED	15 96
	SAVED	5 104
	SAVED	4 112
	SAVED	6 120
	SAVED	3 128
	SAVED	1 136
	SAVED	0 144
	SAVED	2 152
	SAVED	7 160
	SAVED	16 168
	movq	%rdi, %rsp
	xorl	%ebp, %ebp
	callq	*%rsi
	movl	$15, %eax		/* rt_sigreturn */
	syscall
	ud2
	.cfi_endproc
	.size	hd_arch_continue_beside, .-hd_arch_continue_beside

	.globl	hd_arch_sigreturn
	.hidden	hd_arch_sigreturn
	.type	hd_arch_sigreturn, @function
hd_arch_sigreturn:
	movl	$15, %eax		/* rt_sigreturn */
	syscall
	ud2
	.size	hd_arch_sigreturn, .-hd_arch_sigreturn

	/* For RTLD_NEXT the original must see the caller's return address. */
	.globl	dlsym
	.type	dlsym, @function
dlsym:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rsi
	callq	hd_in_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmpq	*real_dlsym(%rip)
	.cfi_endproc
	.size	dlsym, .-dlsym

	.section .note.GNU-stack,"",@progbits
