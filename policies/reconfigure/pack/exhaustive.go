package pack

import (
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

const (
	// maxExhaustiveGPUs and maxExhaustiveChunks are the largest problems that Exhaustive searches.
	maxExhaustiveGPUs   = 5
	maxExhaustiveChunks = 64
	// maxExhaustiveSends is the most chunks that a GPU may send in all slots, by the range of int8.
	maxExhaustiveSends = 120
	// maxExhaustiveSteps bounds the sends that are tried for one number of topologies, about 0.2 s of one processor, and
	// maxExhaustiveTotal those for all.
	maxExhaustiveSteps = 4_000_000
	maxExhaustiveTotal = 4 * maxExhaustiveSteps
)

// Exhaustible reports whether Exhaustive searches p: unequal demand of few chunks among few GPUs.
func Exhaustible(p *plan.Problem) bool {
	total := int64(0)
	for _, c := range p.Chunks {
		total += int64(c)
	}
	_, uniform := p.Uniform()
	return !uniform && p.GPUs <= maxExhaustiveGPUs && total > 0 && total <= maxExhaustiveChunks
}

// Exhaustive searches all sequences of topologies, and on each all ways of the chunks, for plans of fewer slots than
// those of known candidates with at most as many topologies. It returns one candidate for each number of topologies with
// which it finds one. It gives up a number of topologies after maxExhaustiveSteps, and all after maxExhaustiveTotal sends.
// p must be Exhaustible.
func Exhaustive(p *plan.Problem, relay bool, known []plan.Candidate, stop halt.When) (list []plan.Candidate, err error) {
	defer halt.Caught(&err)
	bounder, err := plan.NewBounder(p, stop)
	if err != nil {
		return nil, err
	}
	minSlots := int64(math.MaxInt64) // slots of plans with at most d topologies
	steps := 0
	for d := 1; ; d++ {
		for i := range known {
			if c := &known[i]; c.Switches == nil && c.Fluid == 0 && c.Reconfigurations == d {
				minSlots = min(minSlots, c.Slots)
			}
		}
		b, err := bounder.At(d)
		if err != nil {
			return nil, err
		}
		bound := b.Forward
		if relay {
			bound = b.Relay
		}
		s := &exhaustiveSearch{n: p.GPUs, k: int8(p.Degree), relay: relay, stop: stop}
		for slots := bound; slots < minSlots && slots*int64(p.Degree) <= maxExhaustiveSends && s.steps < maxExhaustiveSteps; slots++ {
			if s.solve(p, d, int(slots)) {
				minSlots = slots
				list = append(list, s.candidate(p))
			}
		}
		if steps += s.steps; steps >= maxExhaustiveTotal || minSlots <= bounder.Volume() || int64(d) >= minSlots { // more topologies help no more
			return list, nil
		}
	}
}

// pairMatrix is a matrix of small numbers by pairs of GPUs.
type pairMatrix [maxExhaustiveGPUs][maxExhaustiveGPUs]int8

// exhaustiveSearch is a depth-first search for a plan of a number of topologies in a number of slots. It goes slot by slot. In a
// slot it goes GPU by GPU and decides what each sends. Which links a topology has follows from what crosses them: any
// links of which no GPU has more than k out or in are matchings of k switches.
//
// Chunks for the same destination at the same GPU are alike. Of the plans that exist, one has the least sum of the slots
// in which chunks are sent. It does not leave a link idle in a slot while a chunk waits that the link leads to its
// destination, or that crosses the same link in the next slot. Only plans of that kind are searched.
type exhaustiveSearch struct {
	n     int
	k     int8
	relay bool // chunks may rest at GPUs on their way across reconfigurations
	stop  halt.When
	steps int

	failed map[searchState]struct{} // states from which there is no plan
	sends  []transmission           // of the plan so far
	phases []planPhase              // so far
}

// planPhase is a phase of a plan: how many slots it lasts, and the links of its topology.
type planPhase struct {
	slots int32
	links pairMatrix
}

// searchState is what the rest of a plan depends on, between two slots.
type searchState struct {
	waiting         pairMatrix // chunks by GPU and destination, that may stay where they are across a reconfiguration
	transit         pairMatrix // likewise, that may not
	links           pairMatrix // of the current topology, as far as chunks have crossed them
	idle            pairMatrix // of these, those that were idle in the slot before
	unsentWaiting   pairMatrix // chunks of waiting that were not sent in the slot before, though they could have been
	unsentTransit   pairMatrix // likewise of transit
	slotsRemaining  int8       // to go
	phasesRemaining int8       // to come
	isNewTopology   bool       // no slot of the current topology has been
}

// transmission is one transmission, of any chunk for its destination.
type transmission struct {
	plan.Tx
	transit bool // the chunk may not rest where it is sent from
}

// slotState is a slot under way: what the state before it was, and what each GPU has sent.
type slotState struct {
	before                  *searchState
	waiting                 pairMatrix // not sent yet, without what arrives in the slot
	transit                 pairMatrix
	links                   pairMatrix
	used                    pairMatrix              // of links
	out, in                 [maxExhaustiveGPUs]int8 // links by GPU
	arriving                pairMatrix              // by GPU and destination
	sent                    [maxExhaustiveGPUs]int8
	delivered               [maxExhaustiveGPUs]int8
	minSends, minDeliveries [maxExhaustiveGPUs]int8 // sends and deliveries that are needed to end in time
}

// solve searches for a plan, which it leaves in s.sends and s.phases.
func (s *exhaustiveSearch) solve(p *plan.Problem, topologies, slots int) bool {
	s.failed, s.sends, s.phases = map[searchState]struct{}{}, nil, make([]planPhase, 1)
	state := searchState{slotsRemaining: int8(slots), phasesRemaining: int8(topologies - 1), isNewTopology: true}
	for u := range s.n {
		for v := range s.n {
			state.waiting[u][v] = int8(p.Chunks[u*s.n+v])
		}
	}
	return s.searchFrom(&state)
}

// searchFrom reports whether there is a plan from a state on.
func (s *exhaustiveSearch) searchFrom(state *searchState) bool {
	s.stop.Check()
	if state.waiting == (pairMatrix{}) && state.transit == (pairMatrix{}) {
		s.phases[len(s.phases)-1].links = state.links
		return true
	}
	if !s.isFeasible(state) {
		return false
	}
	if _, ok := s.failed[*state]; ok {
		return false
	}
	x := &slotState{before: state, waiting: state.waiting, transit: state.transit, links: state.links}
	for u := range s.n {
		outgoing, incoming := int8(0), int8(0)
		for v := range s.n {
			x.out[u] += state.links[u][v]
			x.in[u] += state.links[v][u]
			outgoing += state.waiting[u][v] + state.transit[u][v]
			incoming += state.waiting[v][u] + state.transit[v][u]
		}
		x.minSends[u], x.minDeliveries[u] = outgoing-s.k*(state.slotsRemaining-1), incoming-s.k*(state.slotsRemaining-1)
	}
	if s.chooseSends(x, 0, 0) {
		return true
	}
	if !state.isNewTopology && state.phasesRemaining > 0 && state.transit == (pairMatrix{}) {
		next := searchState{waiting: state.waiting, slotsRemaining: state.slotsRemaining, phasesRemaining: state.phasesRemaining - 1, isNewTopology: true}
		s.phases[len(s.phases)-1].links = state.links
		s.phases = append(s.phases, planPhase{})
		if s.searchFrom(&next) {
			return true
		}
		s.phases = s.phases[:len(s.phases)-1]
	}
	if s.steps < maxExhaustiveSteps {
		s.failed[*state] = struct{}{}
	}
	return false
}

// isFeasible reports whether a plan from a state on is possible by simple bounds: what GPUs have to send and to receive fits
// their links, chunks that cannot go straight find GPUs to pass through that have room for them, and on the last topology
// all chunks can reach their destinations in time.
func (s *exhaustiveSearch) isFeasible(state *searchState) bool {
	maxChunks := s.k * state.slotsRemaining
	var out, in, outgoing, incoming [maxExhaustiveGPUs]int8
	for u := range s.n {
		for v := range s.n {
			outgoing[u] += state.waiting[u][v] + state.transit[u][v]
			incoming[u] += state.waiting[v][u] + state.transit[v][u]
			out[u] += state.links[u][v]
			in[u] += state.links[v][u]
		}
	}
	free := 0 // for chunks that pass through
	for u := range s.n {
		if outgoing[u] > maxChunks || incoming[u] > maxChunks {
			return false
		}
		free += int(min(maxChunks-outgoing[u], maxChunks-incoming[u]))
	}
	if state.phasesRemaining > 0 {
		sent, received := 0, 0 // chunks that take two hops, by their GPUs and by their destinations
		for u := range s.n {
			var row, column [maxExhaustiveGPUs]int8
			for v := range s.n {
				if state.links[u][v] == 0 {
					row[v] = state.waiting[u][v] + state.transit[u][v]
				}
				if state.links[v][u] == 0 {
					column[v] = state.waiting[v][u] + state.transit[v][u]
				}
			}
			sent += sumWithoutLargest(&row, int(s.k*(state.phasesRemaining+1)-out[u]))
			received += sumWithoutLargest(&column, int(s.k*(state.phasesRemaining+1)-in[u]))
		}
		if max(sent, received) > free {
			return false
		}
		if s.relay || state.transit == (pairMatrix{}) {
			return true
		}
	}
	// Hops on the links that are there or may still be, less one for each chunk.
	for u := range s.n {
		transit := &state.transit
		reached, hops := uint(1)<<u, int8(0)
		for frontier := reached; frontier != 0; {
			hops++
			next := uint(0)
			for v := range s.n {
				if frontier>>v&1 == 0 {
					continue
				}
				for w := range s.n {
					if state.links[v][w] > 0 || out[v] < s.k && in[w] < s.k {
						next |= 1 << w
					}
				}
			}
			frontier = next &^ reached
			reached |= frontier
			for v := range s.n {
				if frontier>>v&1 == 0 {
					continue
				}
				chunks := transit[u][v]
				if state.phasesRemaining == 0 {
					chunks += state.waiting[u][v]
				}
				if chunks > 0 && hops > state.slotsRemaining {
					return false
				}
				free -= int(hops-1) * int(chunks)
			}
		}
		for v := range s.n {
			if reached>>v&1 == 0 && (transit[u][v] > 0 || state.phasesRemaining == 0 && state.waiting[u][v] > 0) {
				return false
			}
		}
	}
	return free >= 0
}

// sumWithoutLargest returns the sum of a list without its so many largest numbers.
func sumWithoutLargest(list *[maxExhaustiveGPUs]int8, largest int) int {
	slices.Sort(list[:])
	sum := 0
	for _, x := range list[:max(0, len(list)-largest)] {
		sum += int(x)
	}
	return sum
}

// chooseSends decides what GPU u sends, from option i on, and what the GPUs after it do; at last it goes on with the next slot.
// Option i is a destination and a neighbour: direct sends come first.
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
	if x.sent[u] < s.k && (direct || x.before.slotsRemaining > 1) {
		transit := x.transit[u][v] > 0
		extends := x.used[u][w] == x.links[u][w]
		if (transit || x.waiting[u][v] > 0) && (!extends || x.out[u] < s.k && x.in[w] < s.k) && !s.isLate(x, u, v, w, transit, extends) {
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
			s.sends = append(s.sends, transmission{plan.Tx{Phase: int32(last), Slot: s.phases[last].slots, From: int32(u), To: int32(w), Dst: int32(v)}, transit})
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

// isLate reports whether the chunk could have crossed the link in the slot before, in which the link was idle.
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

// canComplete reports whether what GPU u sends may be part of a plan: it sends enough to end in time, and no link to the
// destination of a chunk that waits is idle.
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

// endSlot ends a slot and goes on.
func (s *exhaustiveSearch) endSlot(x *slotState) bool {
	for v := range s.n {
		if x.delivered[v] < x.minDeliveries[v] {
			return false
		}
	}
	next := searchState{
		waiting: x.waiting, transit: x.transit, links: x.links, unsentWaiting: x.waiting, unsentTransit: x.transit,
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

// candidate offers the plan that was found.
func (s *exhaustiveSearch) candidate(p *plan.Problem) plan.Candidate {
	const origin = "exhaustive search"
	n := s.n
	phases := len(s.phases)
	topologies, slots, total := make([]scaleup.Topology, phases), make([]int32, phases), int64(0)
	for i, phase := range s.phases {
		slots[i] = phase.slots
		total += int64(phase.slots)
		for u := range n {
			for v := range n {
				for range phase.links[u][v] {
					topologies[i] = append(topologies[i], scaleup.Edge{From: int32(u), To: int32(v)})
				}
			}
		}
	}
	// Which chunk each send moves: by GPU and destination, those that wait, then those that may not rest on their way.
	type chunk struct{ src, number, since int32 } // the phase in which it came to a GPU on its way
	chunksAt := make([][]chunk, 2*n*n)
	list := func(gpu, destination int32, transit bool) *[]chunk {
		f := int(gpu)*n + int(destination)
		if transit {
			f += n * n
		}
		return &chunksAt[f]
	}
	for f := range n * n {
		for c := range p.Chunks[f] {
			chunksAt[f] = append(chunksAt[f], chunk{int32(f / n), c, int32(phases)})
		}
	}
	var tx []plan.Tx
	isRelayed := false
	for i := 0; i < len(s.sends); {
		begin, first := i, s.sends[i]
		for ; i < len(s.sends) && s.sends[i].Phase == first.Phase && s.sends[i].Slot == first.Slot; i++ {
			x := s.sends[i]
			from := list(x.From, x.Dst, x.transit)
			x.Src, x.Chunk = (*from)[0].src, (*from)[0].number
			isRelayed = isRelayed || (*from)[0].since < x.Phase
			*from = (*from)[1:]
			tx = append(tx, x.Tx)
		}
		for _, t := range tx[begin:] {
			if t.To != t.Dst {
				to := list(t.To, t.Dst, !s.relay)
				*to = append(*to, chunk{t.Src, t.Chunk, t.Phase})
			}
		}
	}
	return plan.Candidate{
		Origin: origin, Reconfigurations: phases, Slots: total, Waits: true, Relay: isRelayed,
		Build: func(int64, halt.When) (*plan.Plan, error) {
			return &plan.Plan{
				Name: origin, GPUs: n, Degree: p.Degree, Relay: isRelayed, Chunks: p.Chunks,
				Topologies: topologies, Slots: slots, Tx: slices.Clone(tx),
			}, nil
		},
	}
}
