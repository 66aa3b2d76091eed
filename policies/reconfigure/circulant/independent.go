package circulant

import (
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// epochSchedule is a schedule for switches that reconfigure independently. Each generator
// is active once, on one switch, for as many slots as it carries hops. This time is an
// epoch.
type epochSchedule struct {
	// sourceSchedule has the paths of chunks (paths, pathChunks) and the slots of each phase. Each
	// phase has one generator, so generator g is phase g. Phases without hops are not set up.
	sourceSchedule
	switchOf    []int32 // switch of each generator, indexed by generator
	singleEpoch bool    // no chunk uses several epochs
}

// maxGPUsForAllEpochs limits the GPUs for which independentPlans plans every total number of
// epochs. For more GPUs, each plan takes longer, and there would be more of them.
const maxGPUsForAllEpochs = 128

// independentPlans returns plans with independent switches, for all total numbers of
// epochs, which are dealt evenly to the switches. For more than maxGPUsForAllEpochs GPUs, each
// switch has about as many epochs as other plans have topologies.
//
// A switch with one epoch fewer than another one may carry more. How much more is best
// depends on the delay, so there are several plans; see loadLeads. A plan is left out if a
// candidate of over, or another plan, costs no more at any delay. With a buffer limit, each
// chunk uses one epoch only. Then each switch has at most one chunk of a source in transit.
func (l *allToAllPlanner) independentPlans(over []plan.Candidate) (list []plan.Candidate) {
	limited := l.options.BufferLimit > 0
	if limited && int(l.options.BufferLimit) < l.k {
		return nil
	}
	counts := l.counts()
	maxEpochs := min(l.n-1, counts[len(counts)-1]*l.k)
	sets, hops := shiftSets(l.n, maxEpochs, l.options.Stop)

	// offer adds the plans on the sets of generators that are not dominated.
	const oneEpochPerChunk, severalEpochs = true, false
	offer := func(origin string, singleEpoch bool) {
		for m := l.k; m <= maxEpochs; m++ {
			if l.n > maxGPUsForAllEpochs && (m%l.k > 1 || !slices.Contains(counts, m/l.k)) {
				continue
			}
			for _, lead := range l.loadLeads(hops, m) {
				e := l.scheduleEpochs(sets[m-1], lead, singleEpoch)
				if e == nil {
					continue
				}
				c := e.candidate(origin)
				better := func(o plan.Candidate) bool { return dominates(o, c) }
				if !slices.ContainsFunc(over, better) && !slices.ContainsFunc(list,
					better) {
					list = slices.DeleteFunc(list, func(o plan.Candidate) bool {
						return dominates(c, o)
					})
					list = append(list, c)
				}
			}
		}
	}

	offer("circulant, own switches", oneEpochPerChunk)
	if l.options.Relay && !limited {
		random := l.random("generators", anyPhases)
		for i, set := range generatorSets(l.n, maxEpochs, random, l.options.Stop) {
			const generatorsPerPhase = 1
			sets[i] = slices.Collect(slices.Chunk(set, generatorsPerPhase))
			hops[i] = plan.TotalHops(plan.Reach(l.n, set))
		}
		offer("circulant, own switches, relayed", severalEpochs)
	}

	return list
}

// loadLeads returns numbers of additional slots that a switch carries if it has one epoch
// fewer than others, for m epochs in total. hops[m-1] is the total hops with m epochs. The ideal
// number is the delay in slots. m epochs are best only for delays between the hops that one more
// epoch would save and the hops that the last of the m epochs saves. The result covers this range
// with nine values at equal distances.
func (l *allToAllPlanner) loadLeads(hops []int64, m int) (list []int64) {
	if m%l.k == 0 {
		return []int64{0}
	}
	low, high := int64(0), hops[m-2]-hops[m-1]
	if m < len(hops) {
		low = min(high, hops[m-1]-hops[m])
	}
	const steps = 8
	for i := range int64(steps + 1) {
		list = append(list, (low+(high-low)*i/steps)*int64(l.chunks))
	}
	return slices.Compact(list)
}

// dominates reports whether a costs no more than b at any delay: for each switch of a, some
// switch of b has no fewer reconfigurations and slots.
func dominates(a, b plan.Candidate) bool {
	works := func(c plan.Candidate) []plan.SwitchLoad {
		if c.Switches != nil {
			return c.Switches
		}
		return []plan.SwitchLoad{{Reconfigurations: c.Reconfigurations, Slots: c.Slots}}
	}

	for _, x := range works(a) {
		if !slices.ContainsFunc(works(b), func(y plan.SwitchLoad) bool {
			return x.Reconfigurations <= y.Reconfigurations && x.Slots <= y.Slots
		}) {
			return false
		}
	}

	return true
}

// scheduleEpochs assigns the phases, of one generator each, to switches, and the chunks to
// paths. All switches carry equal loads, but a switch carries lead slots more for each epoch
// that it has fewer than another one. With singleEpoch, each chunk uses one epoch. It returns
// nil if no such schedule without idle slots is certain to exist.
func (l *allToAllPlanner) scheduleEpochs(phases [][]int, lead int64, singleEpoch bool) *epochSchedule {
	m := len(phases)
	paths := relayPaths(l.n, phases)
	if singleEpoch {
		paths = singleGeneratorPaths(l.n, phases, int32(l.n/m)+1)
	}
	w := newPathTable(l.n, m, paths)
	for o := 1; o < l.n; o++ {
		if w.start[o] == w.start[o+1] {
			return nil
		}
	}

	// Deal the m epochs to the switches. Switches with more epochs start with a load of lead per
	// epoch, so that the others carry more.
	initialLoad := make([]int64, l.k)
	freeEpochs := make([]int, l.k)
	for j := range freeEpochs {
		freeEpochs[j] = (m + l.k - 1 - j) / l.k
		initialLoad[j] = lead * int64(freeEpochs[j])
	}
	e := &epochSchedule{
		switchOf:    l.assignSwitches(w, initialLoad, freeEpochs),
		singleEpoch: singleEpoch,
	}

	// Balance the load of switches, as if they were the generators of a single phase.
	b := newLoadBalancer(e.bySwitch(w, l.k), l.k, l.chunks, initialLoad)
	b.stop = l.options.Stop
	const minSlots = 0 // no bound at which the search may end
	b.search(l.numPerturbations(), minSlots, l.random("switches", m))
	e.sourceSchedule = sourceSchedule{
		n:          l.n,
		k:          1,
		chunks:     l.chunks,
		relay:      true,
		phases:     phases,
		paths:      w,
		pathChunks: b.pathChunks,
	}

	e.setSlots()
	if e.mayCollide(l.k) {
		return nil
	}
	return e
}

// assignSwitches assigns generators to switches in decreasing order of load, if each chunk
// is split equally among its shortest paths. A generator goes to the switch with the lowest
// load that has a free epoch. load is the initial load of each switch.
func (l *allToAllPlanner) assignSwitches(w *pathTable, load []int64, freeEpochs []int) []int32 {
	hops := w.equalSplitLoads()
	order := numbers.Below(w.generators)
	slices.SortStableFunc(order, func(a, b int) int { return int(hops[b] - hops[a]) })
	switchOf := make([]int32, w.generators)
	load = slices.Clone(load)
	for j := range load {
		load[j] *= loadParts * int64(l.chunks)
	}

	for _, g := range order {
		best := -1
		for j := range freeEpochs {
			if freeEpochs[j] > 0 && (best < 0 || load[j] < load[best]) {
				best = j
			}
		}
		switchOf[g] = int32(best)
		load[best] += hops[g] * int64(l.chunks)
		freeEpochs[best]--
	}

	return switchOf
}

// bySwitch returns the path table with switches in place of generators.
func (e *epochSchedule) bySwitch(w *pathTable, k int) *pathTable {
	s := &pathTable{
		n:          w.n,
		generators: k,
		start:      w.start,
		pathStart:  []int32{0},
		hops:       w.hops,
	}

	// Add up the hops of each path by switch.
	count := make([]int32, k)
	for q := range w.hops {
		for i := w.pathStart[q]; i < w.pathStart[q+1]; i++ {
			count[e.switchOf[w.gen[i]]] += w.count[i]
		}
		for j, c := range count {
			if c > 0 {
				s.gen = append(s.gen, int32(j))
				s.count = append(s.count, c)
			}
		}

		clear(count)
		s.pathStart = append(s.pathStart, int32(len(s.gen)))
	}

	return s
}

// mayCollide reports whether a chunk uses several switches and an epoch that may be too
// short to avoid collisions, at any delay. A collision is a slot in which two switches
// carry the same chunk.
//
// Consider a chunk of h hops in total with a collision in an epoch. It can exchange its
// slot with any other slot of the epoch, with two exceptions: slots in which the chunk
// itself is busy, at most h; and slots of chunks that the k-2 other switches carry in the
// colliding slot. If the epoch has more slots than h plus (k-2) times the largest number of
// hops of one chunk in it, an exchange always exists. Each exchange reduces the number of
// collisions.
func (e *epochSchedule) mayCollide(k int) bool {
	maxChunkHops := make([]int32, len(e.phases)) // hops of one chunk, indexed by generator
	for q, c := range e.pathChunks {
		if c > 0 {
			for i := e.paths.pathStart[q]; i < e.paths.pathStart[q+1]; i++ {
				g := e.paths.gen[i]
				maxChunkHops[g] = max(maxChunkHops[g], e.paths.count[i])
			}
		}
	}

	for q, c := range e.pathChunks {
		gen := e.paths.gen[e.paths.pathStart[q]:e.paths.pathStart[q+1]]
		if c == 0 || !slices.ContainsFunc(gen, func(g int32) bool {
			return e.switchOf[g] != e.switchOf[gen[0]]
		}) {
			continue
		}
		for _, g := range gen {
			otherSwitches := int64(max(0, k-2))
			if e.slots[g] <= int64(e.paths.hops[q])+otherSwitches*int64(maxChunkHops[g]) {
				return true
			}
		}
	}

	return false
}

// candidate returns the schedule as a candidate, which writes the plan for a delay when it
// is built.
func (e *epochSchedule) candidate(origin string) plan.Candidate {
	k := int(slices.Max(e.switchOf)) + 1
	loads := make([]plan.SwitchLoad, k)
	for g, x := range e.slots {
		if x > 0 {
			loads[e.switchOf[g]].Reconfigurations++
			loads[e.switchOf[g]].Slots += x
		}
	}

	c := plan.Candidate{
		Origin:   origin,
		Waits:    true,
		Relay:    !e.singleEpoch,
		Switches: loads,
		Build: func(delay int64, stop cancellation.Condition) (p *plan.Plan, err error) {
			defer cancellation.Recover(&err)
			return e.build(origin, k, delay, stop)
		},
	}

	for _, s := range loads {
		c.Reconfigurations = max(c.Reconfigurations, s.Reconfigurations)
		c.Slots = max(c.Slots, s.Slots)
	}
	return c
}
