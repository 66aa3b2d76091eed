#include "textflag.h"

// func prefetch(p unsafe.Pointer)
TEXT ·prefetch(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PLDL1KEEP
	RET

// func prefetchForWrite(p unsafe.Pointer, bytes uintptr)
TEXT ·prefetchForWrite(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD bytes+8(FP), R1
	ADD  R0, R1, R1
next:
	PRFM (R0), PSTL1KEEP
	ADD  $64, R0, R0
	CMP  R1, R0
	BLT  next
	RET
