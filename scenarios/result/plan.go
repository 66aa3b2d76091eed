// This file prepares the plan of a collective, a Schedule, for figures and web pages.

package result

import "slices"

// Plan is a Schedule prepared for display. A round is a slot, in which each link carries
// one chunk, or a step, whose messages have different sizes.
type Plan struct {
	*Schedule `json:"-"`

	Steps      bool           `json:"steps"` // rounds are steps, not slots
	Topologies []PlanTopology `json:"sets"`  // topologies, in the order of their setup
	Parts      []PlanPhase    `json:"parts"` // indexed by phase
	Rounds     int            `json:"rounds"`
	MaxHops    int            `json:"max_hops"` // largest number of hops of a chunk; 0 if transmissions are not stored
	EndS       float64        `json:"end_s"`    // completion time of the plan

	Bytes    int64 `json:"-"` // sum over all steps of the bytes of their longest message
	MaxBytes int64 `json:"-"` // bytes of the longest message
}

// PlanTopology is a topology that a plan sets up.
type PlanTopology struct {
	Links    [][2]int `json:"links"`             // pairs (from, to), sorted
	Offsets  []int    `json:"offsets,omitempty"` // offsets of a circulant with at most maxOffsets of them
	Unlisted int      `json:"left,omitempty"`    // number of links if they are too many to list
	Rounds   int      `json:"rounds"`            // number of rounds with this topology
}

// PlanPhase is a phase of a plan.
type PlanPhase struct {
	Topology   int     `json:"set"`    // index into Plan.Topologies
	FirstRound int     `json:"before"` // number of rounds before the phase
	FromS      float64 `json:"from_s"` // start of its first round
	Busy       int     `json:"-"`      // busy links, summed over slots
	// Hops are the hop numbers of transmissions within the paths of their chunks, from 1.
	// Indexed like SchedulePhase.Sent.
	Hops []int `json:"hops,omitempty"`
}

// maxOffsets is the largest number of offsets by which a circulant is described. Figures
// list the offsets in one line; they show other topologies without a description.
const maxOffsets = 4

// Plan prepares a schedule, which must pass its check.
func (s *Schedule) Plan() *Plan {
	p := &Plan{Schedule: s, Steps: s.InSteps()}

	// place identifies a chunk, by source, destination and number, at a GPU.
	type place struct{ src, dst, chunk, gpu int }
	// hopsTo is the number of hops of a chunk from its source to a GPU. A chunk of an
	// all-gather leaves its source several times.
	hopsTo := map[place]int{}
	for i := range s.Phases {
		ph := &s.Phases[i]

		// A phase sets up a topology unless it reuses the one of the phase before.
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

		// A transmission takes its chunk one hop further than the chunk's last transmission to
		// the sending GPU.
		for _, t := range ph.Sent {
			from, to, src, dst, chunk := t[1], t[2], t[3], t[4], t[5] // t[0] is the slot
			hop := hopsTo[place{src, dst, chunk, from}] + 1
			hopsTo[place{src, dst, chunk, to}] = hop
			part.Hops = append(part.Hops, hop)
			p.MaxHops = max(p.MaxHops, hop)
		}
		for _, busy := range ph.Busy {
			part.Busy += busy
		}

		// A plan counts slots or steps as its rounds, never both.
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

// topologyOf returns the topology of a phase: its links, or the links of its circulant
// unless they are too many.
func (s *Schedule) topologyOf(ph *SchedulePhase) PlanTopology {
	// maxLinks is the largest circulant whose links are listed. A list takes up to 1 MB of a
	// web page; links of larger topologies are only counted.
	const maxLinks = 1 << 16
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

// offsetsOf returns the offsets of a circulant: GPU u has links to u+offset mod n. It
// returns nil for other topologies and for more than maxOffsets offsets.
func offsetsOf(links [][2]int, n int) []int {
	// In a circulant each GPU has k links. links are sorted by source, so the links of GPU g are
	// entries g*k to (g+1)*k-1.
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
