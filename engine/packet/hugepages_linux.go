package packet

import (
	"syscall"
	"unsafe"
)

// adviseHugePages asks for memory in pages of megabytes, which makes addresses quicker to look up, where the system has such.
func adviseHugePages(all []record) {
	const page = 1 << 12
	b := unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), len(all)*int(unsafe.Sizeof(all[0])))
	b = b[-uintptr(unsafe.Pointer(&b[0]))%page:]
	_ = syscall.Madvise(b[:len(b)/page*page], syscall.MADV_HUGEPAGE) // it is but advice
}
