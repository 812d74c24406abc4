package main

import (
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// hugeHeap is as much of the heap as a busy worker uses (docs/performance.md).
const hugeHeap = 256 << 20

// hugePages asks the kernel to back the beginning of the heap with huge pages as
// it is touched: first touches of 4 KiB pages took a sixth of a catch-up, and more
// where a machine is shared. Nothing is touched here: the runtime reserves the
// addresses, and they are free again at once. It is advice. A kernel that has no
// huge pages, or whose setting is "never", does without
// (docs/decisions/0017-huge-pages.md).
func hugePages() {
	heap := make([]byte, hugeHeap)
	_ = unix.Madvise(heap, unix.MADV_HUGEPAGE) // large allocations begin at a page
	heap = nil
	debug.FreeOSMemory() // also tells the runtime that none of it is in memory
}
