package packet

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// barrier synchronises goroutines: each waits until all have arrived.
//
// Waking a sleeping goroutine takes some tenths of a millisecond. A waiting goroutine
// therefore first spins, then yields its processor a few times, and sleeps only after
// that.
//
// If each goroutine has a processor, spinning is faster than sleeping, and a goroutine
// that sleeps delays the others at the next barrier. If a goroutine can run only while
// another one sleeps, spinning is useless. Each goroutine adapts its number of spins to
// the duration of its previous waits.
type barrier struct {
	spinStates             []spinState   // indexed by goroutine
	numWaiting, generation atomic.Uint32 // goroutines that have arrived, and completed barriers
	mu                     sync.Mutex
	cond                   sync.Cond // signals a new generation
}

// spinState adapts the spinning of one goroutine.
type spinState struct {
	spins    int       // number of spins before it sleeps
	released time.Time // when it passed the barrier last
	_        [96]byte  // padding against false sharing, including the adjacent line that is prefetched
}

// Limits of spinState.spins. An iteration takes a fraction of a nanosecond.
const (
	// minSpins iterations take some microseconds. They cover small differences between
	// the work of the goroutines, and cost little if the goroutine then sleeps.
	minSpins = 1 << 14
	// maxSpins iterations take some tenths of a millisecond, as long as waking a
	// goroutine. Beyond that, sleeping is no slower.
	maxSpins = 1 << 18
	// maxYields is the number of times that a goroutine yields its processor before it
	// sleeps. Each yield lets another goroutine arrive that shares the processor.
	maxYields = 16
)

// newBarrier returns a barrier for the given number of goroutines.
func newBarrier(workers int) *barrier {
	b := &barrier{spinStates: make([]spinState, workers)}
	for i := range b.spinStates {
		b.spinStates[i] = spinState{spins: maxSpins, released: time.Now()}
	}
	b.cond.L = &b.mu
	return b
}

// wait blocks until all goroutines have called it. worker is the index of the caller.
func (b *barrier) wait(worker int) {
	w := &b.spinStates[worker]
	generation, arrival := b.generation.Load(), time.Now()

	// The last goroutine to arrive releases the others by a new generation.
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

	// Sleep, and adapt the number of spins to the time that the others needed.
	b.mu.Lock()
	for b.generation.Load() == generation {
		b.cond.Wait()
	}
	b.mu.Unlock()
	w.released = time.Now()
	if waited := w.released.Sub(arrival); waited < worked/2 { // the others had slightly more work
		w.spins = min(2*w.spins, maxSpins)
	} else { // the others had not started yet
		w.spins = max(w.spins/2, minSpins)
	}
}

// spin polls the generation the given number of times, then yields maxYields times. It
// reports whether all goroutines have arrived.
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
