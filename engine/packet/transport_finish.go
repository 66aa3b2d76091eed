package packet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/csr"
)

// This file ends a run under a transport.

// finish completes the statistics. It returns a *Deadlock if packets wait and no event is left.
func (t *transportState) finish() error {
	s := &t.z.stats
	s.Links = make([]LinkStats, len(t.links))
	for i := range t.links {
		v := &t.links[i]
		for k := v.flight.head; k >= 0; k = t.packets[k].next {
			if t.packets[k].size&(isTrimmed|isFeedback) == 0 {
				s.countedInFlight++
			}
		}
		for k := v.data.head; k >= 0; k = t.packets[k].next {
			s.countedInFlight++
		}
		s.Links[i] = v.stats
		s.Hops += v.stats.Packets
	}
	s.Transport = &t.stats
	if err := s.Check(); err != nil {
		return err
	}
	if t.numPackets > 0 && t.calendar.isEmpty() {
		return t.deadlockError()
	}
	return nil
}

// deadlockError names a cycle of paused links, or the links before which packets wait.
func (t *transportState) deadlockError() error {
	type wait struct{ from, to int32 } // packets that came over link from wait for link to, which is paused
	var waits []wait
	var names []string
	waiting := int64(0)
	for i := range t.links {
		v := &t.links[i]
		count := 0
		for k := v.data.head; k >= 0; k = t.packets[k].next {
			count++
			if in := t.packets[k].ingress; in >= 0 && v.isPaused && t.links[in].isPaused {
				waits = append(waits, wait{in, int32(i)})
			}
		}
		if waiting += int64(count); count > 0 {
			names = append(names, fmt.Sprintf("%d before %s", count, t.z.network.ResourceName(int32(i))))
		}
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	first, waits := csr.Sort(slices.Compact(waits), len(t.links), func(w wait) int32 { return w.from })
	to := make([]int32, len(waits))
	for i, w := range waits {
		to[i] = w.to
	}
	d := &Deadlock{At: t.z.stats.End, Waiting: waiting}
	for _, link := range (adjacencyLists{first, to}).findCycle() {
		d.Cycle = append(d.Cycle, Channel{Link: link})
	}
	if len(d.Cycle) > 0 {
		d.text = fmt.Sprintf("packet: deadlock of pauses at %v with %d packets in the network: %s", d.At, waiting, d.Cycle.Names(t.z.network))
		return d
	}
	if len(names) > maxNamedQueues {
		names = append(names[:maxNamedQueues], fmt.Sprintf("others before %d more links", len(names)-maxNamedQueues))
	}
	d.text = fmt.Sprintf("packet: nothing can proceed at %v with %d packets in the network: %s", d.At, waiting, strings.Join(names, ", "))
	return d
}
