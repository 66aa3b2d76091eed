package result

import "slices"

// Plan is a Schedule prepared to be shown. It goes in rounds: slots of whole chunks, or steps whose messages have
// lengths of their own.
type Plan struct {
	*Schedule `json:"-"`

	Steps   bool       `json:"steps"` // rounds are steps
	Sets    []PlanSet  `json:"sets"`  // topologies, in the order in which they are set up
	Parts   []PlanPart `json:"parts"` // indexed by phase
	Rounds  int        `json:"rounds"`
	MaxHops int        `json:"max_hops"` // of a chunk; 0 if transmissions are not kept
	EndS    float64    `json:"end_s"`

	Bytes    int64 `json:"-"` // of the longest messages of all steps
	MaxBytes int64 `json:"-"` // of a step
}

// PlanSet is a topology that a plan sets up.
type PlanSet struct {
	Links   [][2]int `json:"links"`             // in order of (from, to)
	Offsets []int    `json:"offsets,omitempty"` // of a circulant of at most maxOffsets
	Left    int      `json:"left,omitempty"`    // links that are too many to list
	Rounds  int      `json:"rounds"`            // on it
}

// PlanPart is a phase of a plan.
type PlanPart struct {
	Set    int     `json:"set"`    // index into Plan.Sets
	Before int     `json:"before"` // rounds before it
	FromS  float64 `json:"from_s"` // when its first round begins
	Busy   int     `json:"-"`      // links that carry a chunk, summed over slots
	// Hops says which hop of its chunk a transmission is, from 1. Indexed as SchedulePhase.Sent.
	Hops []int `json:"hops,omitempty"`
}

// maxOffsets is how many offsets a circulant has at most that is told by them.
const maxOffsets = 4

// Plan prepares a schedule whose parts fit together.
func (s *Schedule) Plan() *Plan {
	p := &Plan{Schedule: s, Steps: s.InSteps()}
	type place struct{ src, dst, chunk, gpu int }
	at := map[place]int{} // hops of a chunk to a GPU: it may leave its source several times, as parts of an all-gather do
	for i := range s.Phases {
		ph := &s.Phases[i]
		if !ph.Reused || i == 0 {
			p.Sets = append(p.Sets, s.setUp(ph))
		}
		if !ph.Reused && !s.Intervals {
			p.EndS += s.DelayS
		}
		steps, bytes, timeS := ph.Totals()
		for _, r := range ph.Steps {
			p.MaxBytes = max(p.MaxBytes, r.Bytes)
		}
		part := PlanPart{Set: len(p.Sets) - 1, Before: p.Rounds, FromS: p.EndS}
		for _, t := range ph.Sent {
			hop := at[place{t[3], t[4], t[5], t[1]}] + 1
			at[place{t[3], t[4], t[5], t[2]}] = hop
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
		p.Sets[part.Set].Rounds += n
		p.Parts, p.Rounds = append(p.Parts, part), p.Rounds+n
		p.Bytes, p.EndS = p.Bytes+bytes, p.EndS+timeS+float64(ph.Slots)*s.SlotS
	}
	return p
}

// setUp is the topology of a phase: its links, or if they are left out those of its circulant, unless they are too many.
func (s *Schedule) setUp(ph *SchedulePhase) PlanSet {
	const maxLinks = 1 << 16 // of a circulant, that are written out
	set := PlanSet{Links: slices.Clone(ph.Edges)}
	if len(set.Links) == 0 && s.GPUs*len(ph.Offsets) <= maxLinks {
		for u := range s.GPUs {
			for _, o := range ph.Offsets {
				set.Links = append(set.Links, [2]int{u, (u + o) % s.GPUs})
			}
		}
	}
	if len(set.Links) == 0 {
		set.Links, set.Left = [][2]int{}, ph.Links
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
		var own []int
		for _, l := range links[g*k : (g+1)*k] {
			if l[0] != g {
				return nil
			}
			own = append(own, (l[1]-g+n)%n)
		}
		slices.Sort(own)
		if g == 0 {
			first = own
		}
		if !slices.Equal(first, own) {
			return nil
		}
	}
	return first
}
