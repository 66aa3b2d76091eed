package topology

import (
	"slices"

	"sim/engine"
	"sim/fabric"
)

// Network returns the network of iteration n of a sequence: its circuits at the start,
// and their changes during the iteration. p defines the bundles, and o the hardware. A
// bundle has the minimum of the circuits that were assigned to it during the preceding
// delay. The error reports a topology that does not fit the ports; circuits that are
// being set up use their ports already.
func (p *Problem) Network(o *fabric.Optical, q *Sequence, runs []Run, n int) (*engine.Network, error) {
	maxCircuits := slices.Clone(q.First)
	checked := map[*int]bool{} // by first element, because rotations repeat topologies
	for _, x := range q.Topologies() {
		if checked[&x[0]] {
			continue
		}
		checked[&x[0]] = true
		if _, err := o.Provision(x); err != nil {
			return nil, err
		}
		for e := range maxCircuits {
			maxCircuits[e] = max(maxCircuits[e], x[e])
		}
	}

	initial, changes := p.activeTimeline(topologyTimeline(q, runs, n), 0)
	net, err := o.Provision(initial)
	if err != nil {
		return nil, err
	}
	net.Changes = changes
	for e, b := range o.Bundles {
		for _, l := range b.Links {
			net.Links[l].Peak = float64(maxCircuits[e]) * o.Rate(e)
		}
	}

	return net, nil
}

// topologyChange is a time at which bundles are assigned other circuits. Added circuits
// carry data after the delay.
type topologyChange struct {
	at       engine.Time
	circuits []int // assigned from then on, indexed by bundle
}

// topologyTimeline returns the changes of iterations 0 to n of a sequence, with times
// relative to the start of iteration n. The first change is long before, because the
// first iteration starts with its topology in place.
func topologyTimeline(q *Sequence, runs []Run, n int) []topologyChange {
	all := []topologyChange{{at: -engine.Never / 4, circuits: q.First}}
	start := engine.Time(0)
	for _, run := range runs[:n] {
		start -= run.Makespan
	}
	for _, run := range runs[:n+1] {
		for i, t := range run.Fired {
			if t < engine.Never && !slices.Equal(q.Steps[i].Circuits, all[len(all)-1].circuits) {
				all = append(all, topologyChange{at: start + t, circuits: q.Steps[i].Circuits})
			}
		}
		start += run.Makespan
	}
	return all
}

// activeTimeline returns the circuits that carry data at time start, indexed by bundle,
// and the later changes of link rates. all lists the assigned topologies; the first one
// was assigned at least a delay before start.
func (p *Problem) activeTimeline(all []topologyChange, start engine.Time) (initial []int, changes []engine.Change) {
	delay := p.Switching.Delay

	// Circuits can change when a topology is assigned, and a delay later.
	times := []engine.Time{start}
	for _, m := range all[1:] {
		for _, t := range []engine.Time{m.at, m.at + delay} {
			if t > start {
				times = append(times, t)
			}
		}
	}

	slices.Sort(times)

	// At each time, a bundle has the minimum of the circuits assigned to it within the
	// last delay.
	from := 0 // first topology that was in use within the last delay
	var previous []int
	for k, t := range slices.Compact(times) {
		for from+1 < len(all) && all[from+1].at <= t-delay {
			from++
		}
		var active []int
		for i := from; i < len(all) && all[i].at <= t; i++ {
			if i > 0 && p.Switching.StopsAll && all[i].at > t-delay {
				active = make([]int, len(all[i].circuits))
			} else if active == nil {
				active = slices.Clone(all[i].circuits)
			}
			for e, n := range all[i].circuits {
				active[e] = min(active[e], n)
			}
		}
		if k == 0 {
			initial, previous = active, active
			continue
		}
		changes = append(changes, p.linkChanges(t, previous, active)...)
		previous = active
	}

	return initial, changes
}

// linkChanges returns the rate changes of links at a time at which the circuits change
// from one topology to another.
func (p *Problem) linkChanges(at engine.Time, from, to []int) (changes []engine.Change) {
	for e, b := range p.Fabric.Bundles {
		if to[e] == from[e] {
			continue
		}
		for _, l := range b.Links {
			changes = append(changes, engine.Change{At: at, Link: l,
				Rate: float64(to[e]) * p.Fabric.Rate(e), Planned: true})
		}
	}
	return changes
}

// Transfers returns the number of transfers of each bundle.
func (p *Problem) Transfers() []int {
	n := make([]int, len(p.Fabric.Bundles))
	for _, e := range p.bundleOfTask() {
		if e >= 0 {
			n[e]++
		}
	}
	return n
}
