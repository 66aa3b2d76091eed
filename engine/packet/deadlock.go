package packet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/internal/csr"
)

// Deadlock is the error of a run in which packets are queued although no event is left.
type Deadlock struct {
	At      engine.Time
	Waiting int64 // packets queued or in flight
	// Cycle is a cycle of channels: the buffer of each channel holds a packet that waits
	// for space on the next channel. It is empty if packets wait for something else, such
	// as a link that is down.
	Cycle Cycle
	text  string
}

// Error names the cycle, or the links at which packets are queued.
func (d *Deadlock) Error() string { return d.text }

// maxNamedQueues is the number of links that the error message names. Others are counted.
const maxNamedQueues = 3

// deadlockError explains why packets are queued although no event is left. It searches
// the wait-for graph of channels for a cycle.
func (z *sim) deadlockError() error {
	d := &Deadlock{At: z.stats.End, Waiting: z.stats.countedInFlight}

	// Collect the arcs of the wait-for graph, and the links at which packets are queued.
	type wait struct{ from, to int32 } // a packet in the buffer of channel from waits for channel to
	var waits []wait
	var queuesText []string

	numBlocked := 0
	for i := range z.queued {
		l := &z.queued[i]
		if l.numWaiting == 0 {
			continue
		}
		if numBlocked++; numBlocked <= maxNamedQueues {
			why := ""
			if l.state&stateDown != 0 {
				why = ", which is down"
			}
			queuesText = append(queuesText, fmt.Sprintf("%d before %s%s", l.numWaiting, z.network.ResourceName(int32(i)), why))
		}
		if l.state&stateDown != 0 || !z.usesCredits {
			continue
		}
		for q := range int32(l.numQueues) { // through traffic per channel, then host traffic per channel
			to := l.firstChannel + wrap(q, int32(l.numChannels))
			z.records.each(&z.queues[l.firstQueue+q].recordQueue, func(r *record) {
				if r.origin >= 0 {
					waits = append(waits, wait{r.origin, to})
				}
			})
		}
	}

	// Search for a cycle. Without one, name the links.
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	firstWait, waits := csr.Sort(slices.Compact(waits), len(z.freeBytes), func(w wait) int32 { return w.from })
	to := make([]int32, len(waits))
	for i, w := range waits {
		to[i] = w.to
	}

	for _, c := range (adjacencyLists{firstWait, to}).findCycle() {
		d.Cycle = append(d.Cycle, Channel{z.channelLink[c], c - z.queued[z.channelLink[c]].firstChannel})
	}
	if len(d.Cycle) > 0 {
		d.text = fmt.Sprintf("packet: deadlock at %v with %d packets in the network: %s", d.At, d.Waiting, d.Cycle.Names(z.network))
		return d
	}

	if numBlocked > maxNamedQueues {
		queuesText = append(queuesText, fmt.Sprintf("others before %d more links", numBlocked-maxNamedQueues))
	}
	d.text = fmt.Sprintf("packet: nothing can proceed at %v with %d packets in the network: %s", d.At, d.Waiting, strings.Join(queuesText, ", "))
	return d
}
