package result

import (
	"cmp"
	"math"
	"slices"
)

// Shares splits a simulation's makespan along its critical path. The five parts add up to the makespan.
type Shares struct {
	ComputeS  float64 // work inside pods
	FullRateS float64 // transfers between pods, had each had the full rate of its NICs
	CircuitS  float64 // lost to fewer circuits than flows
	SharingS  float64 // lost to others on the same circuits or NICs
	WaitS     float64 // the rest: nothing on the path was running
}

// maxRounding of the makespan is the largest rest that counts as rounding: a path of a million steps in picoseconds,
// of a second, stays below it.
const maxRounding = 1e-6

// Shares returns where the makespan of p goes.
func (p *Simulation) Shares() Shares {
	var s Shares
	for i := range p.Path {
		s.Add(&p.Path[i])
	}
	s.WaitS = p.MakespanS - s.ComputeS - s.FullRateS - s.CircuitS - s.SharingS
	if math.Abs(s.WaitS) <= maxRounding*p.MakespanS {
		s.ComputeS += s.WaitS // at most a digit nobody prints
		s.WaitS = 0
	}
	return s
}

// Add adds a step of a critical path.
func (s *Shares) Add(t *PathStep) {
	s.ComputeS += t.LagS
	if t.Transfer() {
		s.FullRateS += t.IdealS
	} else {
		s.ComputeS += t.IdealS
	}
	s.CircuitS += t.CircuitS
	s.SharingS += t.SharingS
}

// LostS is what fewer circuits and sharing cost together.
func (s Shares) LostS() float64 { return s.CircuitS + s.SharingS }

// Transfer tells a transfer between pods from work inside one.
func (t *PathStep) Transfer() bool {
	switch t.Kind {
	case "", "compute", "forward", "backward":
		return false
	}
	return true
}

// LinkShares is what the critical path spends on one link.
type LinkShares struct {
	Link      string
	Transfers int
	Shares
}

// ByLink returns what the critical path spends on each link, in order of the time lost there, then of the time spent,
// then by name.
func (p *Simulation) ByLink() []LinkShares {
	var out []LinkShares
	for i := range p.Path {
		t := &p.Path[i]
		if !t.Transfer() {
			continue
		}
		index := slices.IndexFunc(out, func(l LinkShares) bool { return l.Link == t.Link })
		if index < 0 {
			index = len(out)
			out = append(out, LinkShares{Link: t.Link})
		}
		out[index].Transfers++
		out[index].FullRateS += t.IdealS
		out[index].CircuitS += t.CircuitS
		out[index].SharingS += t.SharingS
	}
	slices.SortFunc(out, func(a, b LinkShares) int {
		return cmp.Or(cmp.Compare(b.LostS(), a.LostS()), cmp.Compare(b.FullRateS, a.FullRateS), cmp.Compare(a.Link, b.Link))
	})
	return out
}
