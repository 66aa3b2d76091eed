package packet

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// barrier is where goroutines wait until all of them have come. Being woken takes tenths of a millisecond, so they look whether
// all have come, then let others have the processor for a moment, before they sleep.
//
// Where each has a processor, looking on takes less time than sleep, after which one comes late to the next barrier and
// has others wait; where one of them can run only when another sleeps, looking is in vain. So each learns from how long it had
// to wait for how long to look.
type barrier struct {
	spinStates             []spinState
	numWaiting, generation atomic.Uint32
	mu                     sync.Mutex
	cond                   sync.Cond
}

// spinState is what a goroutine knows of its waits.
type spinState struct {
	spins    int       // how often it looks
	released time.Time // when it was last let go
	_        [96]byte  // a line of the cache, and the one that is fetched with it
}

const (
	minSpins = 1 << 14 // some microseconds
	maxSpins = 1 << 18 // some tenths of a millisecond
	// maxYields is how often a processor is left to others before sleep.
	maxYields = 16
)

func newBarrier(workers int) *barrier {
	b := &barrier{spinStates: make([]spinState, workers)}
	for i := range b.spinStates {
		b.spinStates[i] = spinState{spins: maxSpins, released: time.Now()}
	}
	b.cond.L = &b.mu
	return b
}

// wait waits until all have come. Each says who it is.
func (b *barrier) wait(worker int) {
	w := &b.spinStates[worker]
	generation, arrival := b.generation.Load(), time.Now()
	if int(b.numWaiting.Add(1)) == len(b.spinStates) {
		b.numWaiting.Store(0)
		b.mu.Lock()
		b.generation.Add(1)
		b.mu.Unlock()
		b.cond.Broadcast()
		w.released = arrival
		return
	}
	worked := arrival.Sub(w.released)
	if b.spin(generation, w.spins) {
		w.released = time.Now()
		return
	}
	b.mu.Lock()
	for b.generation.Load() == generation {
		b.cond.Wait()
	}
	b.mu.Unlock()
	w.released = time.Now()
	if waited := w.released.Sub(arrival); waited < worked/2 { // the others had a little more to do
		w.spins = min(2*w.spins, maxSpins)
	} else { // they had not begun
		w.spins = max(w.spins/2, minSpins)
	}
}

// spin looks so often whether all have come, and reports whether they have.
func (b *barrier) spin(generation uint32, spins int) bool {
	for range spins {
		if b.generation.Load() != generation {
			return true
		}
	}
	for range maxYields {
		runtime.Gosched()
		if b.generation.Load() != generation {
			return true
		}
	}
	return false
}
