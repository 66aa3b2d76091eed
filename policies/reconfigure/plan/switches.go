package plan

import (
	"fmt"
	"slices"

	"sim/fabric/scaleup"
)

// SwitchEdges returns the edges of switch s in phase i, sorted.
func (p *Plan) SwitchEdges(phase int, s int32) scaleup.Topology {
	var list scaleup.Topology
	for e, on := range p.Switches[phase] {
		if on == s {
			list = append(list, p.Topologies[phase][e])
		}
	}
	return list.Sorted()
}

// SwitchSetups lists, for a plan with independent switches, each time that a switch comes
// up with new links, ordered by phase and then by switch.
func (p *Plan) SwitchSetups() []SwitchSetup {
	var list []SwitchSetup
	last := make([]scaleup.Topology, p.Degree)
	downFrom := make([]int32, p.Degree) // first phase of the current down time, indexed by switch
	for i := range p.Topologies {
		for s := range int32(p.Degree) {
			edges := p.SwitchEdges(i, s)
			if len(edges) == 0 {
				continue
			}
			if !slices.Equal(edges, last[s]) {
				list = append(list, SwitchSetup{Switch: s, Phase: int32(i), DownFrom: downFrom[s]})
			}
			last[s], downFrom[s] = edges, int32(i)+1
		}
	}

	return list
}

// SwitchSetup is a switch that comes up with new links at the start of phase Phase. It is
// down from the start of phase DownFrom; the two are equal if it is not down.
type SwitchSetup struct{ Switch, Phase, DownFrom int32 }

// checkSwitches fails if Switches do not match the topologies, or if a switch changes
// without being down long enough.
func (p *Plan) checkSwitches() error {
	switch {
	case p.DelaySlots < 0:
		return fmt.Errorf("%w: switches down for %d slots; want at least 0", ErrBroken,
			p.DelaySlots)
	case p.Switches == nil && p.DelaySlots > 0:
		return fmt.Errorf("%w: switches down for %d slots, but the plan has no switches", ErrBroken,
			p.DelaySlots)
	case p.Switches == nil:
		return nil
	case len(p.Switches) != len(p.Topologies):
		return fmt.Errorf("%w: switches of %d topologies, want %d", ErrBroken, len(p.Switches),
			len(p.Topologies))
	}

	k := int32(p.Degree)

	// A switch has one outgoing and one incoming port per GPU. out[u*k+s] and in[u*k+s] are the last
	// use of the port of GPU u on switch s: the phase + 1, and the index of the edge.
	type use struct{ phase, edge int32 }
	out := make([]use, p.GPUs*p.Degree)
	in := make([]use, p.GPUs*p.Degree)
	for i, t := range p.Topologies {
		if len(p.Switches[i]) != len(t) {
			return fmt.Errorf("%w: topology %d: switches of %d edges, want %d", ErrBroken, i,
				len(p.Switches[i]), len(t))
		}
		for e, s := range p.Switches[i] {
			if s < 0 || s >= k {
				return fmt.Errorf("%w: topology %d: edge %d->%d is on switch %d of %d", ErrBroken, i,
					t[e].From, t[e].To, s, k)
			}
			current := use{phase: int32(i) + 1, edge: int32(e)}
			for _, end := range []*use{&out[t[e].From*k+s], &in[t[e].To*k+s]} {
				if end.phase == current.phase {
					f := t[end.edge]
					return fmt.Errorf("%w: topology %d: edges %d->%d and %d->%d share a GPU's port on switch %d", ErrBroken, i, f.From, f.To, t[e].From, t[e].To, s)
				}
				*end = current
			}
		}
	}

	start := make([]int64, len(p.Slots)+1)
	for i, s := range p.Slots {
		start[i+1] = start[i] + int64(s)
	}
	for _, l := range p.SwitchSetups() {
		if down := start[l.Phase] - start[l.DownFrom]; down < int64(p.DelaySlots) {
			return fmt.Errorf("%w: switch %d has new links in phase %d after it was down for %d slots; want at least %d", ErrBroken, l.Switch, l.Phase, down, p.DelaySlots)
		}
	}
	return nil
}
