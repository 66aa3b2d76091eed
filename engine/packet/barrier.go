package packet

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// barrier is where goroutines wait until all of them have come. Being woken takes tenths of a millisecond, so they look whether
// all have come, then let others have the processor for a moment, before they sleep.
type barrier struct {
	all, spins int // how many there are, and how often each looks
	came, turn atomic.Uint32
	mu         sync.Mutex
	wake       sync.Cond
}

func newBarrier(all, spins int) *barrier {
	b := &barrier{all: all, spins: spins}
	b.wake.L = &b.mu
	return b
}

// yields is how often a processor is left to others before sleep.
const yields = 16

func (b *barrier) wait() {
	turn := b.turn.Load()
	if int(b.came.Add(1)) == b.all {
		b.came.Store(0)
		b.mu.Lock()
		b.turn.Add(1)
		b.mu.Unlock()
		b.wake.Broadcast()
		return
	}
	for range b.spins {
		if b.turn.Load() != turn {
			return
		}
	}
	for range yields {
		runtime.Gosched()
		if b.turn.Load() != turn {
			return
		}
	}
	b.mu.Lock()
	for b.turn.Load() == turn {
		b.wake.Wait()
	}
	b.mu.Unlock()
}
