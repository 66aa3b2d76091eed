package pack

import (
	"sim/policies/reconfigure/plan"
)

// transmission sends any one of the identical chunks for its destination.
type transmission struct {
	plan.Tx
	transit bool // the chunk may not rest at the sender
}

// slotState is a slot for which transmissions are being chosen: the state before it, and
// the effects of the transmissions so far.
type slotState struct {
	before *searchState // state before the slot

	// Indexed by pairs of GPUs. waiting, transit and links are as in searchState.
	waiting, transit pairMatrix // chunks not sent yet, without chunks that arrive in the slot
	links            pairMatrix // links of the topology
	used             pairMatrix // links that are used in the slot
	arriving         pairMatrix // chunks by GPU and destination

	// Indexed by GPU.
	out, in                 [maxExhaustiveGPUs]int8 // numbers of links
	sent, delivered         [maxExhaustiveGPUs]int8 // chunks in the slot
	minSends, minDeliveries [maxExhaustiveGPUs]int8 // the minimum of these to finish in time
}

// chooseSends tries all transmissions of GPU u starting at option i, and then the
// transmissions of the GPUs after it. After the last GPU it ends the slot. It reports whether
// a plan was found.
//
// Option i sends a chunk for destination v = i/n mod n to neighbour w = i mod n. Options below
// n*n are direct (v = w), and the other options relay (v != w).
func (s *exhaustiveSearch) chooseSends(x *slotState, u, i int) bool {
	if u == s.n {
		return s.endSlot(x)
	}
	if i == 2*s.n*s.n {
		return s.canComplete(x, u) && s.chooseSends(x, u+1, 0)
	}
	v, w := i/s.n%s.n, i%s.n
	direct := i < s.n*s.n
	if u == v || u == w || direct != (v == w) {
		return s.chooseSends(x, u, i+1)
	}
	if s.steps++; s.steps > maxExhaustiveSteps {
		return false
	}

	// Send a chunk by this option, if possible, and continue with the same option. If this finds no
	// plan, take the transmission back.
	if x.sent[u] < s.k && (direct || x.before.slotsRemaining > 1) {
		transit := x.transit[u][v] > 0
		extends := x.used[u][w] == x.links[u][w] // the topology needs another link from u to w
		if (transit || x.waiting[u][v] > 0) && (!extends || x.out[u] < s.k && x.in[w] < s.k) &&
			!s.isLate(x, u, v, w, transit, extends) {
			from := &x.waiting
			if transit {
				from = &x.transit
			}
			from[u][v]--
			x.used[u][w]++
			x.sent[u]++
			if extends {
				x.links[u][w]++
				x.out[u]++
				x.in[w]++
			}
			if direct {
				x.delivered[v]++
			} else {
				x.arriving[w][v]++
			}
			last := len(s.phases) - 1
			s.sends = append(s.sends, transmission{Tx: plan.Tx{Phase: int32(last), Slot: s.phases[last].slots,
				From: int32(u), To: int32(w), Dst: int32(v)}, transit: transit})
			if s.chooseSends(x, u, i) {
				return true
			}
			s.sends = s.sends[:len(s.sends)-1]
			if direct {
				x.delivered[v]--
			} else {
				x.arriving[w][v]--
			}
			if extends {
				x.links[u][w]--
				x.out[u]--
				x.in[w]--
			}
			x.sent[u]--
			x.used[u][w]--
			from[u][v]++
		}
	}

	return s.chooseSends(x, u, i+1)
}

// isLate reports whether the chunk could have crossed the link in the previous slot, in
// which the link was idle.
func (s *exhaustiveSearch) isLate(x *slotState, u, v, w int, transit, extends bool) bool {
	b := x.before
	if b.isNewTopology || !extends && b.idle[u][w] == 0 {
		return false
	}
	if transit {
		return b.unsentTransit[u][v] > 0
	}
	return b.unsentWaiting[u][v] > 0
}

// canComplete reports whether the transmissions of GPU u may be part of a plan: it sends
// enough to finish in time, and no link is idle that leads to the destination of a waiting
// chunk.
func (s *exhaustiveSearch) canComplete(x *slotState, u int) bool {
	if x.sent[u] < x.minSends[u] {
		return false
	}
	for v := range s.n {
		if x.used[u][v] < x.links[u][v] && x.waiting[u][v]+x.transit[u][v] > 0 {
			return false
		}
	}
	return true
}

// endSlot ends a slot and continues the search with the next one.
func (s *exhaustiveSearch) endSlot(x *slotState) bool {
	for v := range s.n {
		if x.delivered[v] < x.minDeliveries[v] {
			return false
		}
	}
	next := searchState{
		waiting: x.waiting, transit: x.transit, links: x.links, unsentWaiting: x.waiting,
		unsentTransit:  x.transit,
		slotsRemaining: x.before.slotsRemaining - 1, phasesRemaining: x.before.phasesRemaining,
	}
	for u := range s.n {
		for v := range s.n {
			next.idle[u][v] = x.links[u][v] - x.used[u][v]
			if s.relay {
				next.waiting[u][v] += x.arriving[u][v]
			} else {
				next.transit[u][v] += x.arriving[u][v]
			}
		}
	}

	last := len(s.phases) - 1
	s.phases[last].slots++
	if s.searchFrom(&next) {
		return true
	}
	s.phases = s.phases[:last+1]
	s.phases[last].slots--
	return false
}
