package pack

import (
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

const (
	// maxExhaustiveGPUs and maxExhaustiveChunks limit the problems that Exhaustive
	// searches. maxExhaustiveGPUs is also the size of pairMatrix; each stored state has six
	// of these matrices.
	maxExhaustiveGPUs   = 5
	maxExhaustiveChunks = 64
	// maxExhaustiveSends limits the chunks that a GPU may send in all slots, because counts
	// are int8.
	maxExhaustiveSends = 120
	// maxExhaustiveSteps limits the transmissions that are tried for one number of
	// topologies: about 0.2 s of one processor. maxExhaustiveTotal limits them for all
	// numbers.
	maxExhaustiveSteps = 4_000_000
	maxExhaustiveTotal = 4 * maxExhaustiveSteps
)

// Exhaustible reports whether Exhaustive can search p: unequal demand with few chunks and
// few GPUs.
func Exhaustible(p *plan.Problem) bool {
	total := int64(0)
	for _, c := range p.Chunks {
		total += int64(c)
	}
	_, uniform := p.Uniform()
	return !uniform && p.GPUs <= maxExhaustiveGPUs && total > 0 && total <= maxExhaustiveChunks
}

// Exhaustive searches all sequences of topologies, and all paths of the chunks on each, for
// plans with fewer slots than the known candidates with at most as many topologies. It
// returns one candidate per number of topologies for which it finds such a plan. It stops a
// number of topologies after maxExhaustiveSteps transmissions, and the search after
// maxExhaustiveTotal. p must be Exhaustible.
func Exhaustive(p *plan.Problem, relay bool, known []plan.Candidate, stop cancellation.Condition) (list []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
	bounder, err := plan.NewBounder(p, stop)
	if err != nil {
		return nil, err
	}
	minSlots := int64(math.MaxInt64) // of all plans so far, which have at most d topologies
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

		// Search for a plan with the bound, then with more and more slots.
		s := &exhaustiveSearch{n: p.GPUs, k: int8(p.Degree), relay: relay, stop: stop}
		for slots := bound; slots < minSlots && slots*int64(p.Degree) <= maxExhaustiveSends && s.steps < maxExhaustiveSteps; slots++ {
			if s.solve(p, d, int(slots)) {
				minSlots = slots
				list = append(list, s.candidate(p))
			}
		}

		// More topologies do not help if the slots meet the bound for any number of topologies, or if
		// there is a topology per slot.
		if steps += s.steps; steps >= maxExhaustiveTotal || minSlots <= bounder.Volume() || int64(d) >= minSlots {
			return list, nil
		}
	}
}

// pairMatrix is a matrix of small numbers, indexed by pairs of GPUs.
type pairMatrix [maxExhaustiveGPUs][maxExhaustiveGPUs]int8

// exhaustiveSearch is a depth-first search for a plan with a given number of topologies and
// of slots. It decides slot by slot, and in a slot GPU by GPU, which chunks each GPU sends.
// The links of a topology follow from the chunks that cross them: a graph in which no GPU
// has more than k links out or in is a union of matchings of k switches.
//
// Chunks at the same GPU with the same destination are identical. Only plans of the
// following kind are searched. If plans exist, one of them has the minimum sum of the slots
// in which chunks are sent. In this plan a link is not idle in a slot while a chunk waits
// for which the link leads to the destination, or which crosses the same link in the next
// slot.
type exhaustiveSearch struct {
	n     int
	k     int8
	relay bool // chunks may rest at intermediate GPUs across reconfigurations
	stop  cancellation.Condition
	steps int // transmissions tried

	failed map[searchState]struct{} // states from which no plan exists
	sends  []transmission           // transmissions of the current partial plan
	phases []planPhase              // phases of the current partial plan
}

// planPhase is a phase of a plan: its number of slots and the links of its topology.
type planPhase struct {
	slots int32
	links pairMatrix
}

// searchState is the state between two slots. The rest of the plan depends on nothing else.
type searchState struct {
	waiting         pairMatrix // chunks by GPU and destination that may rest across a reconfiguration
	transit         pairMatrix // chunks by GPU and destination that may not
	links           pairMatrix // links of the current topology that chunks have crossed
	idle            pairMatrix // the links among these that were idle in the previous slot
	unsentWaiting   pairMatrix // chunks of waiting that could have been sent in the previous slot
	unsentTransit   pairMatrix // chunks of transit that could have been sent in the previous slot
	slotsRemaining  int8
	phasesRemaining int8 // phases after the current one
	isNewTopology   bool // the current topology has had no slot yet
}

// solve searches for a plan and stores it in s.sends and s.phases.
func (s *exhaustiveSearch) solve(p *plan.Problem, topologies, slots int) bool {
	s.failed, s.sends, s.phases = map[searchState]struct{}{}, nil, make([]planPhase, 1)
	state := searchState{slotsRemaining: int8(slots), phasesRemaining: int8(topologies - 1),
		isNewTopology: true}
	for u := range s.n {
		for v := range s.n {
			state.waiting[u][v] = int8(p.Chunks[u*s.n+v])
		}
	}
	return s.searchFrom(&state)
}

// searchFrom reports whether a plan exists from a state.
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

	// minSends and minDeliveries are the chunks that the links of a GPU cannot carry in the slots
	// after this one.
	x := &slotState{before: state, waiting: state.waiting, transit: state.transit, links: state.links}
	for u := range s.n {
		outgoing, incoming := int8(0), int8(0)
		for v := range s.n {
			x.out[u] += state.links[u][v]
			x.in[u] += state.links[v][u]
			outgoing += state.waiting[u][v] + state.transit[u][v]
			incoming += state.waiting[v][u] + state.transit[v][u]
		}
		x.minSends[u], x.minDeliveries[u] = outgoing-s.k*(state.slotsRemaining-1),
			incoming-s.k*(state.slotsRemaining-1)
	}

	// Either the topology has another slot, or the switches reconfigure now.
	const firstGPU, firstOption = 0, 0
	if s.chooseSends(x, firstGPU, firstOption) {
		return true
	}
	if !state.isNewTopology && state.phasesRemaining > 0 && state.transit == (pairMatrix{}) {
		next := searchState{waiting: state.waiting, slotsRemaining: state.slotsRemaining,
			phasesRemaining: state.phasesRemaining - 1, isNewTopology: true}
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

// isFeasible reports whether simple bounds permit a plan from a state. Chunks to be sent
// and received must fit the links of each GPU. Chunks that cannot take one hop need GPUs
// with free capacity to pass through. On the last topology, all chunks must be able to
// reach their destinations in time.
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

	free := 0 // capacity for chunks that pass through
	for u := range s.n {
		if outgoing[u] > maxChunks || incoming[u] > maxChunks {
			return false
		}
		free += int(min(maxChunks-outgoing[u], maxChunks-incoming[u]))
	}

	if state.phasesRemaining > 0 {
		sent, received := 0, 0 // chunks that take two hops, by sender and by receiver
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

	// On the last topology, and for chunks in transit, count hops over existing and
	// possible links, minus one per chunk.
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
			if reached>>v&1 == 0 && (transit[u][v] > 0 ||
				state.phasesRemaining == 0 && state.waiting[u][v] > 0) {
				return false
			}
		}
	}

	return free >= 0
}

// sumWithoutLargest returns the sum of a list without the given number of largest values.
func sumWithoutLargest(list *[maxExhaustiveGPUs]int8, largest int) int {
	slices.Sort(list[:])
	sum := 0
	for _, x := range list[:max(0, len(list)-largest)] {
		sum += int(x)
	}
	return sum
}

// candidate returns the plan that was found as a candidate.
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

	// Assign a chunk to each transmission. chunksAt lists the chunks at a GPU by
	// destination: chunks that wait, and at index + n*n chunks that must not rest at an
	// intermediate GPU. since is the phase in which a chunk arrived there.
	type chunk struct{ src, number, since int32 }
	chunksAt := make([][]chunk, 2*n*n)
	list := func(gpu, destination int32, transit bool) *[]chunk {
		f := int(gpu)*n + int(destination)
		if transit {
			f += n * n
		}
		return &chunksAt[f]
	}

	const atSource = math.MaxInt32 // as since: a chunk at its source does not rest at an intermediate GPU
	for f := range n * n {
		for c := range p.Chunks[f] {
			chunksAt[f] = append(chunksAt[f], chunk{src: int32(f / n), number: c, since: atSource})
		}
	}

	// Go through the transmissions slot by slot. Chunks that arrive in a slot cannot be sent in it.
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
				*to = append(*to, chunk{src: t.Src, number: t.Chunk, since: t.Phase})
			}
		}
	}

	return plan.Candidate{
		Origin: origin, Reconfigurations: phases, Slots: total, Waits: true, Relay: isRelayed,
		Build: func(int64, cancellation.Condition) (*plan.Plan, error) {
			return &plan.Plan{
				Name: origin, GPUs: n, Degree: p.Degree, Relay: isRelayed, Chunks: p.Chunks,
				Topologies: topologies, Slots: slots, Tx: slices.Clone(tx),
			}, nil
		},
	}
}
