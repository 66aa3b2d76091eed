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
	waiters    []waiter
	came, turn atomic.Uint32
	mu         sync.Mutex
	wake       sync.Cond
}

// waiter is what a goroutine knows of its waits.
type waiter struct {
	spins int       // how often it looks
	since time.Time // when it was last let go
	_     [96]byte  // a line of the cache, and the one that is fetched with it
}

const (
	leastSpins = 1 << 14 // some microseconds
	mostSpins  = 1 << 18 // some tenths of a millisecond
	// yields is how often a processor is left to others before sleep.
	yields = 16
)

func newBarrier(all int) *barrier {
	b := &barrier{waiters: make([]waiter, all)}
	for i := range b.waiters {
		b.waiters[i] = waiter{spins: mostSpins, since: time.Now()}
	}
	b.wake.L = &b.mu
	return b
}

// wait waits until all have come. Each says who it is.
func (b *barrier) wait(who int) {
	w := &b.waiters[who]
	turn, came := b.turn.Load(), time.Now()
	if int(b.came.Add(1)) == len(b.waiters) {
		b.came.Store(0)
		b.mu.Lock()
		b.turn.Add(1)
		b.mu.Unlock()
		b.wake.Broadcast()
		w.since = came
		return
	}
	worked := came.Sub(w.since)
	if b.look(turn, w.spins) {
		w.since = time.Now()
		return
	}
	b.mu.Lock()
	for b.turn.Load() == turn {
		b.wake.Wait()
	}
	b.mu.Unlock()
	w.since = time.Now()
	if waited := w.since.Sub(came); waited < worked/2 { // the others had a little more to do
		w.spins = min(2*w.spins, mostSpins)
	} else { // they had not begun
		w.spins = max(w.spins/2, leastSpins)
	}
}

// look looks so often whether all have come, and reports whether they have.
func (b *barrier) look(turn uint32, spins int) bool {
	for range spins {
		if b.turn.Load() != turn {
			return true
		}
	}
	for range yields {
		runtime.Gosched()
		if b.turn.Load() != turn {
			return true
		}
	}
	return false
}
