package result

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSharesAddUp: the parts of any path add up to the makespan.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Float64Range(0, 10)
		p := Simulation{}
		at := 0.0
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			s := PathStep{
				Kind: rapid.SampledFrom([]string{"compute", "forward", "pp-forward", "dp"}).Draw(t, "kind"),
				Link: rapid.SampledFrom([]string{"pod 0 to pod 1", "pod 1 to DP peer"}).Draw(t, "link"),
				LagS: part.Draw(t, "lag"), IdealS: part.Draw(t, "ideal"), CircuitS: part.Draw(t, "circuit"), SharingS: part.Draw(t, "sharing"),
			}
			s.StartS = at + s.LagS
			s.EndS = s.StartS + s.IdealS + s.CircuitS + s.SharingS
			at = s.EndS
			p.Path = append(p.Path, s)
		}
		p.MakespanS = at + rapid.SampledFrom([]float64{0, 1e-12, 3}).Draw(t, "rest")
		s := p.Shares()
		if sum := s.ComputeS + s.FullRateS + s.LostS() + s.WaitS; math.Abs(sum-p.MakespanS) > 1e-9*p.MakespanS {
			t.Errorf("the parts add up to %g, want %g: %+v", sum, p.MakespanS, s)
		}
		var onLinks Shares
		for _, l := range p.ByLink() {
			onLinks.FullRateS += l.FullRateS
		}
		if math.Abs(onLinks.FullRateS-s.FullRateS) > 1e-9*(1+s.FullRateS) {
			t.Errorf("the links carry %g of the transfers' %g", onLinks.FullRateS, s.FullRateS)
		}
	})
}

func TestShares(t *testing.T) {
	p := sampleSimulation("a", 3.25)
	want := Shares{ComputeS: 2, FullRateS: 0.75, CircuitS: 0.25, SharingS: 0.25}
	if got := p.Shares(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if links := p.ByLink(); len(links) != 2 || links[0].Link != "pod 0 to pod 1" || links[0].LostS() != 0.5 {
		t.Errorf("by link: %+v", links)
	}
}

// TestFindPair: a pair is found by its link name in either direction, and by the legacy
// name for DP peers.
func TestFindPair(t *testing.T) {
	top := &Topology{Pods: []PodPorts{{Name: "pod 0"}, {Name: "pod 1"}}, Pairs: []Pair{{A: 0, B: 1}, {A: 1, B: 1, DP: true}}}
	for link, want := range map[string]*Pair{
		"pod 0 to pod 1": &top.Pairs[0], "pod 1 to pod 0": &top.Pairs[0],
		"pod 1 to DP peer": &top.Pairs[1], "pod 1 to its twin": &top.Pairs[1], "pod 0 to DP peer": nil, "": nil,
	} {
		if got := top.FindPair(link); got != want {
			t.Errorf("%q is %v, want %v", link, got, want)
		}
	}
}
