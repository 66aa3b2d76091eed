package packet

import (
	"syscall"
	"unsafe"
)

// adviseHugePages advises the kernel to use huge pages (2 MB) for the records, which
// makes address translation faster. Errors are ignored. The advice covers the whole pages
// within the memory of the records.
func adviseHugePages(all []record) {
	const page = 1 << 12 // bytes per ordinary page
	b := unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), len(all)*int(unsafe.Sizeof(all[0])))
	beforePage := -uintptr(unsafe.Pointer(&b[0])) % page // bytes before the first page boundary
	b = b[beforePage:]
	_ = syscall.Madvise(b[:len(b)/page*page], syscall.MADV_HUGEPAGE)
}
