package routing

import (
	"context"
	"errors"
	"math"

	"sim/engine"
	"sim/fabric/torus"
)

// ErrUnserved is wrapped where a router cannot serve a fabric.
var ErrUnserved = errors.New("routing: this router cannot serve the fabric")

// Problem is what is to be routed, and over what.
type Problem struct {
	// Network has every node; links that may not be taken have no rate.
	Network *engine.Network
	// Torus describes Network, whose links are numbered as Torus.Links has them; nil where it is another graph.
	Torus *torus.Torus
	// Down are nodes that send and receive nothing; nil is none.
	Down []bool
	// Flows are what is to be led. Demand weighs them; nil is one unit each.
	Flows  []engine.Flow
	Demand []float64
	// Rate is what loads over rates are relative to where live links have unequal rates: a unit of demand on a link of
	// half of it counts 2. 0 is the greatest of them. Where rates are equal they do not matter.
	Rate float64
	// Graph is the transfers that are led where some wait for others; nil is all of Flows at once. Its transfers are
	// between the ends of flows, of which Demand is the sum.
	Graph *engine.Graph
	// Pinned is the link that a transfer of Graph takes under every choice, indexed by task; -1 if the transfer takes the
	// path of the flow with its ends. Tasks behind the end of Pinned take paths. Flows and Demand leave out pinned
	// transfers.
	Pinned []int32
}

// pinned returns the link that a task of Graph takes under every choice; -1 if it takes the path of a flow.
func (p *Problem) pinned(task int) int32 {
	if task < len(p.Pinned) {
		return p.Pinned[task]
	}
	return -1
}

// Decision is how a router leads the flows of a problem.
type Decision struct {
	Paths *engine.Paths // by flow; see engine.Paths on classes
	// Bound is a lower bound on the load of the most loaded link, in units of demand, of whatever paths a router of its
	// kind may choose; 0 where it knows none. BoundModel says in which model it holds.
	Bound      float64
	BoundModel string
	// BoundSplit is Bound for paths that may spread the flow of a pair over several; 0 where the router knows none, or
	// Bound is one.
	BoundSplit float64
	// MakespanBound and LeastSplit are lower bounds on when Problem.Graph ends as fluid, on any paths, one a pair and with
	// pairs that spread; 0 where the router knows none.
	MakespanBound, MakespanBoundSplit engine.Time
	// Metrics and Labels are what else the router tells of its choice, such as the load that an unconstrained choice
	// would reach.
	Metrics map[string]float64
	Labels  map[string]string
}

// Router chooses paths for all flows of a problem. It fails, with ErrUnserved, where it cannot serve the fabric, and
// names pairs that it cannot join. The same problem and seed give the same decision.
type Router interface {
	Route(ctx context.Context, p *Problem, o Options) (*Decision, error)
}

// Uniform reports whether the problem is one unit from every node to every other.
func (p *Problem) Uniform() bool {
	n := int(p.Network.Nodes)
	if p.Demand != nil || p.Down != nil || p.Graph != nil || len(p.Flows) != n*(n-1) {
		return false
	}
	k := 0
	for s := range int32(n) {
		for d := range int32(n) {
			if s == d {
				continue
			}
			if p.Flows[k] != (engine.Flow{Src: s, Dst: d}) {
				return false
			}
			k++
		}
	}
	return true
}

// hasWholeDemand reports whether all demands are whole numbers.
func (p *Problem) hasWholeDemand() bool {
	for i, w := range p.Demand {
		if w != math.Trunc(w) && p.Flows[i].Src != p.Flows[i].Dst {
			return false
		}
	}
	return true
}

// Symmetry is a group of translations of a torus under which a problem stays what it is. Flows that translations take
// into each other are of one class and share paths.
type Symmetry struct {
	Torus   *torus.Torus
	Sources []int32 // one node of each orbit, the lowest
	Orbit   []int32 // by node: its place in Sources
	Shift   []int32 // by node: the translation that takes its orbit's source to it
}

// Symmetry returns the translations that map links that are up to links that are up: multiples of the least period of
// each dimension, which every rounds up to a multiple of it. (An even/odd rule of ties has period 2.) There is only the
// trivial one where nodes are not identical, the problem is not Uniform or rates of links differ; nil for other graphs
// than tori.
func (p *Problem) Symmetry(every int) *Symmetry {
	if p.Torus == nil {
		return nil
	}
	group := []int32{0}
	if p.Torus.Symmetric() && p.Uniform() && !p.RatesDiffer() {
		group = p.translations(every)
	}
	return newSymmetry(p.Torus, group)
}

// newSymmetry returns the orbits of nodes under a group of translations.
func newSymmetry(t *torus.Torus, group []int32) *Symmetry {
	n := t.Nodes()
	s := &Symmetry{Torus: t, Orbit: make([]int32, n), Shift: make([]int32, n)}
	for i := range s.Orbit {
		s.Orbit[i] = -1
	}
	for a := range int32(n) {
		if s.Orbit[a] >= 0 {
			continue
		}
		for _, shift := range group {
			b := a
			if shift != 0 {
				b = t.Plus(a, shift)
			}
			s.Orbit[b], s.Shift[b] = int32(len(s.Sources)), shift
		}
		s.Sources = append(s.Sources, a)
	}
	return s
}

// translations returns the group that the periods of the dimensions generate.
func (p *Problem) translations(every int) []int32 {
	t := p.Torus
	degree, link := t.Ports()
	preserves := func(h int32) bool {
		for a := range int32(t.Nodes()) {
			b := t.Plus(a, h)
			for k := range degree {
				la, lb := link[int(a)*degree+k], link[int(b)*degree+k]
				if (p.Network.Links[la].Rate > 0) != (p.Network.Links[lb].Rate > 0) {
					return false
				}
			}
		}
		return true
	}
	var generators []int32
	for d, size := range t.Dims {
		for period := every; period < size; period += every {
			coords := make([]int, len(t.Dims))
			coords[d] = period
			if h := t.Node(coords...); size%period == 0 && preserves(h) {
				generators = append(generators, h)
				break
			}
		}
	}
	return generatedGroup(t, generators)
}

// generatedGroup returns the translations that some generate, the one by nothing first.
func generatedGroup(t *torus.Torus, generators []int32) []int32 {
	group, contained := []int32{0}, make([]bool, t.Nodes())
	contained[0] = true
	for i := 0; i < len(group); i++ {
		for _, g := range generators {
			if h := t.Plus(group[i], g); !contained[h] {
				contained[h] = true
				group = append(group, h)
			}
		}
	}
	return group
}

// Classes returns the number of classes of pairs of nodes.
func (s *Symmetry) Classes() int { return len(s.Sources) * s.Torus.Nodes() }

// Class returns the class of a flow.
func (s *Symmetry) Class(f engine.Flow) int32 {
	dst := f.Dst
	if h := s.Shift[f.Src]; h != 0 {
		dst = s.Torus.Subtract(dst, h)
	}
	return s.Orbit[f.Src]*int32(s.Torus.Nodes()) + dst
}

// Flow returns the flow of a class that begins at one of Sources.
func (s *Symmetry) Flow(class int32) engine.Flow {
	n := int32(s.Torus.Nodes())
	return engine.Flow{Src: s.Sources[class/n], Dst: class % n}
}
