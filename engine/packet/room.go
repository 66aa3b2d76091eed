package packet

import (
	"math/bits"
	"unsafe"

	"sim/engine"
)

// keep puts a packet that was put on a link last with those that stay on it beyond the window.
func (k *worker) keep(l *partLink, r moving, end engine.Time) {
	if int(l.tail-l.head) == len(l.room) {
		k.grow(l)
	}
	at := l.tail & uint64(len(l.room)-1)
	l.room[at] = r
	if k.late {
		l.ends[at] = end
	}
	l.tail++
}

// room is where packets on a link are, in rings of one power of two.
type room struct {
	moving []moving
	ends   []engine.Time // if links have latencies
}

// grow gives a link twice the room.
func (k *worker) grow(l *partLink) {
	class := max(3, bits.Len(uint(len(l.room))))
	var now room
	if kept := k.rooms[class]; len(kept) > 0 {
		now, k.rooms[class] = kept[len(kept)-1], kept[:len(kept)-1]
	} else {
		now.moving = make([]moving, 1<<class)
		if k.late {
			now.ends = make([]engine.Time, 1<<class)
		}
		k.grown += now.bytes()
	}
	unroll(now.moving, l.room, l.head)
	unroll(now.ends, l.ends, l.head)
	if old := (room{l.room, l.ends}); class <= keptClass && l.room != nil {
		k.rooms[class-1] = append(k.rooms[class-1], old)
	} else {
		k.grown -= old.bytes()
	}
	l.room, l.ends = now.moving, now.ends
}

func (r room) bytes() int64 {
	return int64(len(r.moving))*int64(unsafe.Sizeof(moving{})) + int64(len(r.ends))*int64(unsafe.Sizeof(engine.Time(0)))
}

// keptClass is the logarithm of the least room that is not used again.
const keptClass = 10

// unroll copies a full ring into a larger one, both of powers of two.
func unroll[T any](to, ring []T, head uint64) {
	for i := range uint64(len(ring)) {
		to[(head+i)&uint64(len(to)-1)] = ring[(head+i)&uint64(len(ring)-1)]
	}
}
