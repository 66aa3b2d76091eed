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
	fewest := int64(math.MaxInt64) // slots of plans with at most d topologies
	steps := 0
	for d := 1; ; d++ {
		for i := range known {
			if c := &known[i]; c.Switches == nil && c.Fluid == 0 && c.Reconfigurations == d {
				fewest = min(fewest, c.Slots)
			}
		}
		b, err := bounder.At(d)
		if err != nil {
			return nil, err
		}
		least := b.Forward
		if relay {
			least = b.Relay
		}
		s := &exhaustive{n: p.GPUs, k: int8(p.Degree), relay: relay, stop: stop}
		for slots := least; slots < fewest && slots*int64(p.Degree) <= maxExhaustiveSends && s.steps < maxExhaustiveSteps; slots++ {
			if s.solve(p, d, int(slots)) {
				fewest = slots
				list = append(list, s.candidate(p))
			}
		}
		if steps += s.steps; steps >= maxExhaustiveTotal || fewest <= bounder.Volume() || int64(d) >= fewest { // more topologies help no more
			return list, nil
		}
	}
}

// pairs is a matrix of small numbers by pairs of GPUs.
type pairs [maxExhaustiveGPUs][maxExhaustiveGPUs]int8

// exhaustive is a depth-first search for a plan of a number of topologies in a number of slots. It goes slot by slot. In a
// slot it goes GPU by GPU and decides what each sends. Which links a topology has follows from what crosses them: any
// links of which no GPU has more than k out or in are matchings of k switches.
//
// Chunks for the same destination at the same GPU are alike. Of the plans that exist, one has the least sum of the slots
// in which chunks are sent. It does not leave a link idle in a slot while a chunk waits that the link leads to its
// destination, or that crosses the same link in the next slot. Only plans of that kind are searched.
type exhaustive struct {
	n     int
	k     int8
	relay bool // chunks may rest at GPUs on their way across reconfigurations
	stop  halt.When
	steps int

	failed map[searchState]struct{} // states from which there is no plan
	sends  []send                   // of the plan so far
	phases []stay                   // so far
}

// stay is a phase of a plan: how many slots it lasts, and the links of its topology.
type stay struct {
	slots int32
	links pairs
}

// searchState is what the rest of a plan depends on, between two slots.
type searchState struct {
	waiting pairs // chunks by GPU and destination, that may stay where they are across a reconfiguration
	transit pairs // likewise, that may not
	links   pairs // of the current topology, as far as chunks have crossed them
	idle    pairs // of these, those that were idle in the slot before
	left    pairs // chunks of waiting that were not sent in the slot before, though they could have been
	moving  pairs // likewise of transit
	slots   int8  // to go
	phases  int8  // to come
	fresh   bool  // no slot of the current topology has been
}

// send is one transmission, of any chunk for its destination.
type send struct {
	plan.Tx
	transit bool // the chunk may not rest where it is sent from
}

// slot is a slot under way: what the state before it was, and what each GPU has sent.
type slot struct {
	before       *searchState
	waiting      pairs // not sent yet, without what arrives in the slot
	transit      pairs
	links        pairs
	used         pairs                   // of links
	out, in      [maxExhaustiveGPUs]int8 // links by GPU
	arrives      pairs                   // by GPU and destination
	sent         [maxExhaustiveGPUs]int8
	delivered    [maxExhaustiveGPUs]int8
	must, expect [maxExhaustiveGPUs]int8 // sends and deliveries that are needed to end in time
}

// solve searches for a plan, which it leaves in s.sends and s.phases.
func (s *exhaustive) solve(p *plan.Problem, topologies, slots int) bool {
	s.failed, s.sends, s.phases = map[searchState]struct{}{}, nil, make([]stay, 1)
	at := searchState{slots: int8(slots), phases: int8(topologies - 1), fresh: true}
	for u := range s.n {
		for v := range s.n {
			at.waiting[u][v] = int8(p.Chunks[u*s.n+v])
		}
	}
	return s.search(&at)
}

// search reports whether there is a plan from a state on.
func (s *exhaustive) search(at *searchState) bool {
	s.stop.Check()
	if at.waiting == (pairs{}) && at.transit == (pairs{}) {
		s.phases[len(s.phases)-1].links = at.links
		return true
	}
	if !s.may(at) {
		return false
	}
	if _, ok := s.failed[*at]; ok {
		return false
	}
	x := &slot{before: at, waiting: at.waiting, transit: at.transit, links: at.links}
	for u := range s.n {
		outgoing, incoming := int8(0), int8(0)
		for v := range s.n {
			x.out[u] += at.links[u][v]
			x.in[u] += at.links[v][u]
			outgoing += at.waiting[u][v] + at.transit[u][v]
			incoming += at.waiting[v][u] + at.transit[v][u]
		}
		x.must[u], x.expect[u] = outgoing-s.k*(at.slots-1), incoming-s.k*(at.slots-1)
	}
	if s.choose(x, 0, 0) {
		return true
	}
	if !at.fresh && at.phases > 0 && at.transit == (pairs{}) {
		next := searchState{waiting: at.waiting, slots: at.slots, phases: at.phases - 1, fresh: true}
		s.phases[len(s.phases)-1].links = at.links
		s.phases = append(s.phases, stay{})
		if s.search(&next) {
			return true
		}
		s.phases = s.phases[:len(s.phases)-1]
	}
	if s.steps < maxExhaustiveSteps {
		s.failed[*at] = struct{}{}
	}
	return false
}

// may reports whether a plan from a state on is possible by simple bounds: what GPUs have to send and to receive fits
// their links, chunks that cannot go straight find GPUs to pass through that have room for them, and on the last topology
// all chunks can reach their destinations in time.
func (s *exhaustive) may(at *searchState) bool {
	most := s.k * at.slots
	var out, in, outgoing, incoming [maxExhaustiveGPUs]int8
	for u := range s.n {
		for v := range s.n {
			outgoing[u] += at.waiting[u][v] + at.transit[u][v]
			incoming[u] += at.waiting[v][u] + at.transit[v][u]
			out[u] += at.links[u][v]
			in[u] += at.links[v][u]
		}
	}
	room := 0 // for chunks that pass through
	for u := range s.n {
		if outgoing[u] > most || incoming[u] > most {
			return false
		}
		room += int(min(most-outgoing[u], most-incoming[u]))
	}
	if at.phases > 0 {
		sent, received := 0, 0 // chunks that take two hops, by their GPUs and by their destinations
		for u := range s.n {
			var row, column [maxExhaustiveGPUs]int8
			for v := range s.n {
				if at.links[u][v] == 0 {
					row[v] = at.waiting[u][v] + at.transit[u][v]
				}
				if at.links[v][u] == 0 {
					column[v] = at.waiting[v][u] + at.transit[v][u]
				}
			}
			sent += beyond(&row, int(s.k*(at.phases+1)-out[u]))
			received += beyond(&column, int(s.k*(at.phases+1)-in[u]))
		}
		if max(sent, received) > room {
			return false
		}
		if s.relay || at.transit == (pairs{}) {
			return true
		}
	}
	// Hops on the links that are there or may still be, less one for each chunk.
	for u := range s.n {
		need := &at.transit
		reached, far := uint(1)<<u, int8(0)
		for edge := reached; edge != 0; {
			far++
			next := uint(0)
			for v := range s.n {
				if edge>>v&1 == 0 {
					continue
				}
				for w := range s.n {
					if at.links[v][w] > 0 || out[v] < s.k && in[w] < s.k {
						next |= 1 << w
					}
				}
			}
			edge = next &^ reached
			reached |= edge
			for v := range s.n {
				if edge>>v&1 == 0 {
					continue
				}
				chunks := need[u][v]
				if at.phases == 0 {
					chunks += at.waiting[u][v]
				}
				if chunks > 0 && far > at.slots {
					return false
				}
				room -= int(far-1) * int(chunks)
			}
		}
		for v := range s.n {
			if reached>>v&1 == 0 && (need[u][v] > 0 || at.phases == 0 && at.waiting[u][v] > 0) {
				return false
			}
		}
	}
	return room >= 0
}

// beyond returns the sum of a list without its so many largest numbers.
func beyond(list *[maxExhaustiveGPUs]int8, largest int) int {
	slices.Sort(list[:])
	sum := 0
	for _, x := range list[:max(0, len(list)-largest)] {
		sum += int(x)
	}
	return sum
}

// choose decides what GPU u sends, from option i on, and what the GPUs after it do; at last it goes on with the next slot.
// Option i is a destination and a neighbour: direct sends come first.
func (s *exhaustive) choose(x *slot, u, i int) bool {
	if u == s.n {
		return s.end(x)
	}
	if i == 2*s.n*s.n {
		return s.complete(x, u) && s.choose(x, u+1, 0)
	}
	v, w := i/s.n%s.n, i%s.n
	direct := i < s.n*s.n
	if u == v || u == w || direct != (v == w) {
		return s.choose(x, u, i+1)
	}
	if s.steps++; s.steps > maxExhaustiveSteps {
		return false
	}
	if x.sent[u] < s.k && (direct || x.before.slots > 1) {
		transit := x.transit[u][v] > 0
		extends := x.used[u][w] == x.links[u][w]
		if (transit || x.waiting[u][v] > 0) && (!extends || x.out[u] < s.k && x.in[w] < s.k) && !s.late(x, u, v, w, transit, extends) {
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
				x.arrives[w][v]++
			}
			last := len(s.phases) - 1
			s.sends = append(s.sends, send{plan.Tx{Phase: int32(last), Slot: s.phases[last].slots, From: int32(u), To: int32(w), Dst: int32(v)}, transit})
			if s.choose(x, u, i) {
				return true
			}
			s.sends = s.sends[:len(s.sends)-1]
			if direct {
				x.delivered[v]--
			} else {
				x.arrives[w][v]--
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
	return s.choose(x, u, i+1)
}

// late reports whether the chunk could have crossed the link in the slot before, in which the link was idle.
func (s *exhaustive) late(x *slot, u, v, w int, transit, extends bool) bool {
	b := x.before
	if b.fresh || !extends && b.idle[u][w] == 0 {
		return false
	}
	if transit {
		return b.moving[u][v] > 0
	}
	return b.left[u][v] > 0
}

// complete reports whether what GPU u sends may be part of a plan: it sends enough to end in time, and no link to the
// destination of a chunk that waits is idle.
func (s *exhaustive) complete(x *slot, u int) bool {
	if x.sent[u] < x.must[u] {
		return false
	}
	for v := range s.n {
		if x.used[u][v] < x.links[u][v] && x.waiting[u][v]+x.transit[u][v] > 0 {
			return false
		}
	}
	return true
}

// end ends a slot and goes on.
func (s *exhaustive) end(x *slot) bool {
	for v := range s.n {
		if x.delivered[v] < x.expect[v] {
			return false
		}
	}
	next := searchState{
		waiting: x.waiting, transit: x.transit, links: x.links, left: x.waiting, moving: x.transit,
		slots: x.before.slots - 1, phases: x.before.phases,
	}
	for u := range s.n {
		for v := range s.n {
			next.idle[u][v] = x.links[u][v] - x.used[u][v]
			if s.relay {
				next.waiting[u][v] += x.arrives[u][v]
			} else {
				next.transit[u][v] += x.arrives[u][v]
			}
		}
	}
	last := len(s.phases) - 1
	s.phases[last].slots++
	if s.search(&next) {
		return true
	}
	s.phases = s.phases[:last+1]
	s.phases[last].slots--
	return false
}

// candidate offers the plan that was found.
func (s *exhaustive) candidate(p *plan.Problem) plan.Candidate {
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
	at := make([][]chunk, 2*n*n)
	list := func(gpu, destination int32, transit bool) *[]chunk {
		f := int(gpu)*n + int(destination)
		if transit {
			f += n * n
		}
		return &at[f]
	}
	for f := range n * n {
		for c := range p.Chunks[f] {
			at[f] = append(at[f], chunk{int32(f / n), c, int32(phases)})
		}
	}
	var tx []plan.Tx
	rests := false
	for i := 0; i < len(s.sends); {
		begin, first := i, s.sends[i]
		for ; i < len(s.sends) && s.sends[i].Phase == first.Phase && s.sends[i].Slot == first.Slot; i++ {
			x := s.sends[i]
			from := list(x.From, x.Dst, x.transit)
			x.Src, x.Chunk = (*from)[0].src, (*from)[0].number
			rests = rests || (*from)[0].since < x.Phase
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
		Origin: origin, Reconfigurations: phases, Slots: total, Waits: true, Relay: rests,
		Build: func(int64, halt.When) (*plan.Plan, error) {
			return &plan.Plan{
				Name: origin, GPUs: n, Degree: p.Degree, Relay: rests, Chunks: p.Chunks,
				Topologies: topologies, Slots: slots, Tx: slices.Clone(tx),
			}, nil
		},
	}
}
