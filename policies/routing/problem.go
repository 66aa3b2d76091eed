package routing

import (
	"context"
	"errors"
	"math"

	"sim/engine"
	"sim/fabric/torus"
)

// ErrUnserved is wrapped by the errors of routers that cannot serve a fabric.
var ErrUnserved = errors.New("routing: this router cannot serve the fabric")

// Problem is a network and the flows to route over it.
type Problem struct {
	// Network has all nodes and links. Links that must not be used have rate 0.
	Network *engine.Network
	// Torus describes Network, whose links are numbered like Torus.Links; nil for other graphs.
	Torus *torus.Torus
	// Down marks nodes that neither send nor receive, indexed by node; nil if all nodes do.
	Down []bool
	// Flows are routed. Demand weights them, indexed by flow; nil means one unit each.
	Flows  []engine.Flow
	Demand []float64
	// Rate is the reference rate for loads divided by rates, used if the rates of live links
	// differ. A unit of demand on a link of half the reference rate counts 2. 0 means the highest
	// rate. It has no effect if all rates are equal.
	Rate float64
	// Graph holds transfers with dependencies; nil means that all Flows start together. Its
	// transfers run between the ends of flows, and Demand is their sum.
	Graph *engine.Graph
	// Pinned is the fixed link of a transfer of Graph, indexed by task; -1 if the transfer takes
	// the path of the flow with its ends. Tasks beyond the end of Pinned take paths. Flows and
	// Demand exclude pinned transfers.
	Pinned []int32
}

// pinned returns the fixed link of a task of Graph; -1 if the task takes the path of a flow.
func (p *Problem) pinned(task int) int32 {
	if task < len(p.Pinned) {
		return p.Pinned[task]
	}
	return -1
}

// Decision holds the paths that a router chose for the flows of a problem.
type Decision struct {
	Paths *engine.Paths // indexed by flow through Paths.Class
	// Bound is a lower bound on the maximum link load, in units of demand; 0 if the router has
	// none. It holds for all paths that a router of this kind may choose. BoundModel describes
	// these paths.
	Bound      float64
	BoundModel string
	// BoundSplit is the bound for paths that may split the flow of a pair; 0 if the router has
	// none, or if Bound itself allows splitting.
	BoundSplit float64
	// MakespanBound and MakespanBoundSplit are lower bounds on the end of Problem.Graph in the
	// fluid model, for any paths: with one path per pair, and with split pairs. 0 if the router
	// has none.
	MakespanBound, MakespanBoundSplit engine.Time
	// Metrics and Labels describe the choice, for example the load that paths without regard to
	// deadlock would reach.
	Metrics map[string]float64
	Labels  map[string]string
}

// Router chooses paths for all flows of a problem. Its error wraps ErrUnserved if it cannot serve
// the fabric, and names pairs that it cannot join. Equal problems and seeds give equal decisions.
type Router interface {
	Route(ctx context.Context, p *Problem, o Options) (*Decision, error)
}

// Uniform reports whether the problem is uniform all-to-all: one unit from every node to every
// other node, in order.
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

// Symmetry is a group of translations of a torus that leave a problem unchanged. Flows that are
// translations of each other form a class and share a path.
type Symmetry struct {
	Torus   *torus.Torus
	Sources []int32 // the lowest node of each orbit
	Orbit   []int32 // index in Sources, indexed by node
	Shift   []int32 // translation from the source of its orbit to the node, indexed by node
}

// Values of the parameter every of Problem.Symmetry.
const (
	anyTranslation  = 1
	evenTranslation = 2 // preserves the parity of coordinates, by which breakTie decides
)

// Symmetry returns the translations that map live links to live links. In each dimension these
// are the multiples of its smallest period, which is rounded up to a multiple of every. For
// example, a tie-breaking rule by even and odd coordinates has period 2. A translation is given
// as the node to which it maps node 0.
//
// Only the identity remains if the nodes are not identical, the problem is not Uniform, or link
// rates differ. The result is nil for graphs that are not tori.
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

// newSymmetry returns the orbits of the nodes under a group of translations.
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

// translations returns the group that is generated by the smallest preserving translation of each
// dimension.
func (p *Problem) translations(every int) []int32 {
	t := p.Torus
	degree, link := t.Ports()

	// preserves reports whether the translation maps live links to live links.
	preserves := func(h int32) bool {
		for a := range int32(t.Nodes()) {
			b := t.Plus(a, h)
			for k := range degree {
				la := link[int(a)*degree+k]
				lb := link[int(b)*degree+k]
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

// generatedGroup returns all sums of the generators. The identity is first.
func generatedGroup(t *torus.Torus, generators []int32) []int32 {
	group := []int32{0}
	contained := make([]bool, t.Nodes())
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

// Classes returns the number of classes of node pairs.
func (s *Symmetry) Classes() int { return len(s.Sources) * s.Torus.Nodes() }

// Class returns the class of a flow.
func (s *Symmetry) Class(f engine.Flow) int32 {
	dst := f.Dst
	if h := s.Shift[f.Src]; h != 0 {
		dst = s.Torus.Subtract(dst, h)
	}
	return s.Orbit[f.Src]*int32(s.Torus.Nodes()) + dst
}

// Flow returns the representative of a class, whose source is in Sources.
func (s *Symmetry) Flow(class int32) engine.Flow {
	n := int32(s.Torus.Nodes())
	return engine.Flow{Src: s.Sources[class/n], Dst: class % n}
}
