package circulant

import (
	"slices"

	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// epochs is a scheme for switches that reconfigure on their own. Each generator is up once, on one switch, for as many
// slots as it carries hops: an epoch.
type epochs struct {
	scheme          // of one generator a phase; phases without hops are not set up
	on      []int32 // switch by generator
	private bool    // no chunk uses more than one epoch
}

// independent plans with every switch on its own, for any number of epochs in all, dealt out evenly; of more than 128
// GPUs for about as many on each as there are topologies in other plans. Where a switch has one epoch fewer than another
// it may carry more; how much more pays depends on the delay, so there are several. What is no better than a candidate
// of over, or another of its own, at any delay is left out. With a limit of the buffer no chunk uses more than one
// epoch: then each switch has at most one chunk of a source under way.
func (l *planner) independent(over []plan.Candidate) (list []plan.Candidate) {
	limited := l.o.BufferLimit > 0
	if limited && int(l.o.BufferLimit) < l.k {
		return nil
	}
	counts := l.counts()
	most := min(l.n-1, counts[len(counts)-1]*l.k)
	sets, hops := shiftSets(l.n, most, l.o.Stop)
	offer := func(origin string, private bool) {
		for m := l.k; m <= most; m++ {
			if l.n > 128 && (m%l.k > 1 || !slices.Contains(counts, m/l.k)) {
				continue
			}
			for _, lead := range l.leads(hops, m) {
				e := l.deal(sets[m-1], lead, private)
				if e == nil {
					continue
				}
				c := e.candidate(origin)
				better := func(o plan.Candidate) bool { return beats(o, c) }
				if !slices.ContainsFunc(over, better) && !slices.ContainsFunc(list, better) {
					list = slices.DeleteFunc(list, func(o plan.Candidate) bool { return beats(c, o) })
					list = append(list, c)
				}
			}
		}
	}
	offer("circulant, own switches", true)
	if l.o.Relay && !limited {
		for m, set := range generatorSets(l.n, most, l.random("generators", 0), l.o.Stop) {
			sets[m], hops[m] = slices.Collect(slices.Chunk(set, 1)), plan.Total(plan.Reach(l.n, set))
		}
		offer("circulant, own switches, relayed", false)
	}
	return list
}

// leads lists how many slots more a switch with an epoch fewer than others is to carry, of m epochs in all. That is the
// delay in slots; m epochs are the best choice only where one fewer would cost, and one more save, no more hops.
func (l *planner) leads(hops []int64, m int) (list []int64) {
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

// beats reports that a costs no more than b at any delay: it ends no later than some switch of b does.
func beats(a, b plan.Candidate) bool {
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

// deal puts generators, of one phase each, on switches and spreads the chunks such that all switches carry as much, but
// lead slots more for every epoch fewer. With private each chunk uses one epoch only. nil where no such schedule is free
// of idle slots.
func (l *planner) deal(phases [][]int, lead int64, private bool) *epochs {
	m := len(phases)
	words := relayWords(l.n, phases)
	if private {
		words = phaseWords(l.n, phases, int32(l.n/m)+1, true)
	}
	w := collect(l.n, m, words)
	for o := 1; o < l.n; o++ {
		if w.start[o] == w.start[o+1] {
			return nil
		}
	}
	carries, room := make([]int64, l.k), make([]int, l.k)
	for j := range room {
		room[j] = (m + l.k - 1 - j) / l.k
		carries[j] = lead * int64(room[j])
	}
	e := &epochs{on: l.switches(w, carries, room), private: private}
	b := newBalancer(e.bySwitch(w, l.k), l.k, l.chunks, carries)
	b.stop = l.o.Stop
	b.search(l.kicks(), 0, l.random("switches", m))
	e.scheme = scheme{n: l.n, k: 1, chunks: l.chunks, relay: true, phases: phases, ways: w, taken: b.taken}
	e.count()
	if e.crowded(l.k) {
		return nil
	}
	return e
}

// switches deals generators out: the one with most hops, if every chunk went to equal parts by all shortest paths, goes
// to the switch that carries least, with what it is taken to carry beforehand, of those that have room.
func (l *planner) switches(w *ways, carries []int64, room []int) []int32 {
	load, order := w.evenly(), numbers.Below(w.generators)
	slices.SortStableFunc(order, func(a, b int) int { return int(load[b] - load[a]) })
	on := make([]int32, w.generators)
	carries = slices.Clone(carries)
	for j := range carries {
		carries[j] *= evenParts * int64(l.chunks)
	}
	for _, g := range order {
		best := -1
		for j := range room {
			if room[j] > 0 && (best < 0 || carries[j] < carries[best]) {
				best = j
			}
		}
		on[g] = int32(best)
		carries[best] += load[g] * int64(l.chunks)
		room[best]--
	}
	return on
}

// bySwitch is the ways with switches for generators.
func (e *epochs) bySwitch(w *ways, k int) *ways {
	s := &ways{n: w.n, generators: k, start: w.start, first: []int32{0}, hops: w.hops}
	count := make([]int32, k)
	for q := range w.hops {
		for i := w.first[q]; i < w.first[q+1]; i++ {
			count[e.on[w.gen[i]]] += w.count[i]
		}
		for j, c := range count {
			if c > 0 {
				s.gen, s.count = append(s.gen, int32(j)), append(s.count, c)
			}
		}
		clear(count)
		s.first = append(s.first, int32(len(s.gen)))
	}
	return s
}

// crowded reports that some chunk uses several switches and an epoch too short to find each of its chunks a slot in
// which no other switch carries the chunk, whatever the delay. A chunk of h hops in all that collides in an epoch can
// change places with any other in it except in the slots where it is busy itself, h at most, and with any but the chunks
// that the k-2 other switches carry then; so an epoch of more slots than h and (k-2) times the most hops of one chunk in
// it always has a place to change with, and collisions only fall in number.
func (e *epochs) crowded(k int) bool {
	most := make([]int32, len(e.phases)) // hops of one chunk by generator
	for q, c := range e.taken {
		if c > 0 {
			for i := e.ways.first[q]; i < e.ways.first[q+1]; i++ {
				g := e.ways.gen[i]
				most[g] = max(most[g], e.ways.count[i])
			}
		}
	}
	for q, c := range e.taken {
		gen := e.ways.gen[e.ways.first[q]:e.ways.first[q+1]]
		if c == 0 || !slices.ContainsFunc(gen, func(g int32) bool { return e.on[g] != e.on[gen[0]] }) {
			continue
		}
		for _, g := range gen {
			if e.slots[g] <= int64(e.ways.hops[q])+int64(max(0, k-2))*int64(most[g]) {
				return true
			}
		}
	}
	return false
}

// candidate offers the epochs.
func (e *epochs) candidate(origin string) plan.Candidate {
	k := int(slices.Max(e.on)) + 1
	loads := make([]plan.SwitchLoad, k)
	for g, x := range e.slots {
		if x > 0 {
			loads[e.on[g]].Reconfigurations++
			loads[e.on[g]].Slots += x
		}
	}
	c := plan.Candidate{Origin: origin, Waits: true, Relay: !e.private, Switches: loads,
		Build: func(delay int64, stop halt.When) (p *plan.Plan, err error) {
			defer halt.Caught(&err)
			return e.build(origin, k, delay, stop)
		}}
	for _, s := range loads {
		c.Reconfigurations, c.Slots = max(c.Reconfigurations, s.Reconfigurations), max(c.Slots, s.Slots)
	}
	return c
}
