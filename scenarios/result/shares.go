// This file splits the time of a run along its critical path, by cause of loss and by
// link.

package result

import (
	"cmp"
	"math"
	"slices"
)

// Shares splits a makespan along its critical path. The five parts, in seconds, add up to
// the makespan.
type Shares struct {
	ComputeS  float64 // work inside pods
	FullRateS float64 // transfers between pods at the full rate of their NICs
	CircuitS  float64 // loss by fewer circuits than flows
	SharingS  float64 // loss by sharing circuits or NICs
	WaitS     float64 // rest: no task of the path was running
}

// maxRounding is the largest rest, as a fraction of the makespan, that counts as a
// rounding error. A path of a million steps with times in picoseconds stays below it.
const maxRounding = 1e-6

// Shares splits the makespan of p.
func (p *Simulation) Shares() Shares {
	var s Shares
	for i := range p.Path {
		s.Add(&p.Path[i])
	}
	s.WaitS = p.MakespanS - s.ComputeS - s.FullRateS - s.CircuitS - s.SharingS
	if math.Abs(s.WaitS) <= maxRounding*p.MakespanS {
		s.ComputeS += s.WaitS // below the printed precision
		s.WaitS = 0
	}
	return s
}

// Add adds a step of a critical path to the shares.
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

// LostS returns the loss by fewer circuits and by sharing.
func (s Shares) LostS() float64 { return s.CircuitS + s.SharingS }

// Transfer reports whether the step is a transfer between pods, rather than work inside
// one.
func (t *PathStep) Transfer() bool {
	switch t.Kind {
	case "", "compute", "forward", "backward":
		return false
	}
	return true
}

// LinkShares is the time of the critical path on one link.
type LinkShares struct {
	Link      string
	Transfers int
	Shares
}

// ByLink returns the time of the critical path on each link. It is sorted by lost time,
// then by full-rate time, both descending, then by name.
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
