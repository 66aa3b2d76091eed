package packet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/internal/csr"
)

// Deadlock is the error of a run whose events ran out while packets wait.
type Deadlock struct {
	At      engine.Time
	Waiting int64 // packets
	// Cycle is channels of which each holds, in its buffer, a packet that waits for room on the next, and the last one
	// that waits for the first. It is empty where packets wait for something else, such as a link that is down.
	Cycle Cycle
	text  string
}

// Error names the cycle, or else what packets wait for.
func (d *Deadlock) Error() string { return d.text }

// stuck says why packets wait. All that moves has moved.
func (z *sim) stuck() error {
	d := &Deadlock{At: z.s.End, Waiting: z.s.inFlight}
	type wait struct{ from, to int32 } // channels
	var waits []wait
	var before []string
	links := 0
	for i := range z.servers {
		l := &z.servers[i]
		if l.waiting == 0 {
			continue
		}
		if links++; links <= 3 {
			why := ""
			if l.state&down != 0 {
				why = ", which is down"
			}
			before = append(before, fmt.Sprintf("%d before %s%s", l.waiting, z.n.ResourceName(int32(i)), why))
		}
		if l.state&down != 0 || !z.credit {
			continue
		}
		for q := range int32(l.ring) {
			to := l.channel + wrap(q, int32(l.channels))
			z.chunks.each(&z.queues[l.queue+q].fifo, func(r *record) {
				if r.hold >= 0 {
					waits = append(waits, wait{r.hold, to})
				}
			})
		}
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	first, waits := csr.Sort(slices.Compact(waits), len(z.room), func(w wait) int32 { return w.from })
	to := make([]int32, len(waits))
	for i, w := range waits {
		to[i] = w.to
	}
	for _, c := range cycleOf(first, to) {
		d.Cycle = append(d.Cycle, Channel{z.linkOf[c], c - z.servers[z.linkOf[c]].channel})
	}
	if len(d.Cycle) > 0 {
		d.text = fmt.Sprintf("packet: deadlock at %v with %d packets in the network: %s", d.At, d.Waiting, d.Cycle.Names(z.n))
		return d
	}
	if links > 3 {
		before = append(before, fmt.Sprintf("others before %d more links", links-3))
	}
	d.text = fmt.Sprintf("packet: nothing can proceed at %v with %d packets in the network: %s", d.At, d.Waiting, strings.Join(before, ", "))
	return d
}
