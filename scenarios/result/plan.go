package result

import "slices"

// Plan is a Schedule prepared to be shown. It goes in rounds: slots of whole chunks, or steps whose messages have
// lengths of their own.
type Plan struct {
	*Schedule `json:"-"`

	Steps      bool           `json:"steps"` // rounds are steps
	Topologies []PlanTopology `json:"sets"`  // topologies, in the order in which they are set up
	Parts      []PlanPhase    `json:"parts"` // indexed by phase
	Rounds     int            `json:"rounds"`
	MaxHops    int            `json:"max_hops"` // of a chunk; 0 if transmissions are not kept
	EndS       float64        `json:"end_s"`

	Bytes    int64 `json:"-"` // of the longest messages of all steps
	MaxBytes int64 `json:"-"` // of a step
}

// PlanTopology is a topology that a plan sets up.
type PlanTopology struct {
	Links    [][2]int `json:"links"`             // in order of (from, to)
	Offsets  []int    `json:"offsets,omitempty"` // of a circulant of at most maxOffsets
	Unlisted int      `json:"left,omitempty"`    // links that are too many to list
	Rounds   int      `json:"rounds"`            // on it
}

// PlanPhase is a phase of a plan.
type PlanPhase struct {
	Topology   int     `json:"set"`    // index into Plan.Sets
	FirstRound int     `json:"before"` // rounds before it
	FromS      float64 `json:"from_s"` // when its first round begins
	Busy       int     `json:"-"`      // links that carry a chunk, summed over slots
	// Hops says which hop of its chunk a transmission is, from 1. Indexed as SchedulePhase.Sent.
	Hops []int `json:"hops,omitempty"`
}

// maxOffsets is how many offsets a circulant has at most that is told by them.
const maxOffsets = 4

// Plan prepares a schedule whose parts fit together.
func (s *Schedule) Plan() *Plan {
	p := &Plan{Schedule: s, Steps: s.InSteps()}
	type place struct{ src, dst, chunk, gpu int }
	hopsTo := map[place]int{} // hops of a chunk to a GPU: it may leave its source several times, as parts of an all-gather do
	for i := range s.Phases {
		ph := &s.Phases[i]
		if !ph.Reused || i == 0 {
			p.Topologies = append(p.Topologies, s.topologyOf(ph))
		}
		if !ph.Reused && !s.Intervals {
			p.EndS += s.DelayS
		}
		steps, bytes, timeS := ph.Totals()
		for _, r := range ph.Steps {
			p.MaxBytes = max(p.MaxBytes, r.Bytes)
		}
		part := PlanPhase{Topology: len(p.Topologies) - 1, FirstRound: p.Rounds, FromS: p.EndS}
		for _, t := range ph.Sent {
			hop := hopsTo[place{t[3], t[4], t[5], t[1]}] + 1
			hopsTo[place{t[3], t[4], t[5], t[2]}] = hop
			part.Hops = append(part.Hops, hop)
			p.MaxHops = max(p.MaxHops, hop)
		}
		for _, busy := range ph.Busy {
			part.Busy += busy
		}
		n := ph.Slots
		if p.Steps {
			n = steps
		}
		p.Topologies[part.Topology].Rounds += n
		p.Parts, p.Rounds = append(p.Parts, part), p.Rounds+n
		p.Bytes, p.EndS = p.Bytes+bytes, p.EndS+timeS+float64(ph.Slots)*s.SlotS
	}
	return p
}

// topologyOf is the topology of a phase: its links, or if they are left out those of its circulant, unless they are too many.
func (s *Schedule) topologyOf(ph *SchedulePhase) PlanTopology {
	const maxLinks = 1 << 16 // of a circulant, that are written out
	set := PlanTopology{Links: slices.Clone(ph.Edges)}
	if len(set.Links) == 0 && s.GPUs*len(ph.Offsets) <= maxLinks {
		for u := range s.GPUs {
			for _, o := range ph.Offsets {
				set.Links = append(set.Links, [2]int{u, (u + o) % s.GPUs})
			}
		}
	}
	if len(set.Links) == 0 {
		set.Links, set.Unlisted = [][2]int{}, ph.Links
	}
	slices.SortFunc(set.Links, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	if set.Offsets = offsetsOf(set.Links, s.GPUs); set.Offsets == nil && len(ph.Offsets) <= maxOffsets {
		set.Offsets = ph.Offsets
	}
	return set
}

// offsetsOf are what every GPU's links add to its number, mod n, in a circulant of few of them; nil in another topology.
func offsetsOf(links [][2]int, n int) []int {
	k := len(links) / n
	if k == 0 || k > maxOffsets || len(links) != k*n {
		return nil
	}
	var first []int
	for g := range n {
		var offsets []int
		for _, l := range links[g*k : (g+1)*k] {
			if l[0] != g {
				return nil
			}
			offsets = append(offsets, (l[1]-g+n)%n)
		}
		slices.Sort(offsets)
		if g == 0 {
			first = offsets
		}
		if !slices.Equal(first, offsets) {
			return nil
		}
	}
	return first
}
