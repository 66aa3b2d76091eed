package topology

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/numbers"
)

// This file has the simple allocators of Table (policy.go). A topology is a number of circuits
// for each bundle: x[e] circuits join the two pods of bundle e. Fabric.Bundles lists the bundles.

// matrixRule computes a topology from the traffic matrix alone.
type matrixRule func(p *Problem) []int

// matrixRules are the rules whose topologies are starting points of the searches.
var matrixRules = []matrixRule{proportional, squareRoot, iterativeHalving}

// baselineAllocator is an allocator that considers only the traffic matrix, neither times
// nor the rates of NICs (docs/model.md, "Baselines").
type baselineAllocator struct{ rule matrixRule }

func (b baselineAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.Evaluate(ctx, b.rule(p), o.serviceOr(flow.MaxMin))
}

// Evaluate simulates topology x under a service and adds the shared bound, which holds for
// all topologies. It fails if x cannot be simulated to its end, or with the error of ctx
// if ctx is cancelled.
func (p *Problem) Evaluate(ctx context.Context, x []int, s flow.Service) (*Decision, error) {
	d, err := p.evaluateBest(ctx, x, []flow.Service{s})
	if err != nil {
		return nil, err
	}
	d.Bound, err = p.Bound(ctx)
	d.BoundModel = AnyService
	return d, err
}

// EstimateMakespan returns the shortest makespan of the matrixRules topologies under fair sharing.
// It is a cheap estimate for comparing problems before circuits are chosen.
func (p *Problem) EstimateMakespan(ctx context.Context) engine.Time {
	w := p.acquire(ctx, flow.MaxMin) // a simulator of topologies
	defer p.release(w)
	best := never
	for _, rule := range matrixRules {
		if c, ok := w.simulate(rule(p), best); ok {
			best = c
		}
	}
	return best
}

// QuickBound returns a cheap lower bound on the makespan of every topology. It is the bound of
// the topology Useful, in which each bundle has as many circuits as fit if every other bundle has
// one circuit. No topology has more circuits in any bundle, and more circuits never increase the
// bound.
func (p *Problem) QuickBound(ctx context.Context) engine.Time {
	w := p.acquire(ctx, flow.LevelPriority)
	defer p.release(w)
	return w.bound(p.Useful)
}

// volumes returns the traffic matrix in bytes, indexed by bundle, both directions
// together.
func (p *Problem) volumes() []float64 {
	v := make([]float64, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		v[e] = float64(b.Bytes)
	}
	return v
}

// proportional is the rule of prop-alloc.
func proportional(p *Problem) []int { return p.allocateByShare(p.volumes()) }

// squareRoot is the rule of sqrt-alloc.
func squareRoot(p *Problem) []int {
	v := p.volumes()
	for e := range v {
		v[e] = math.Sqrt(v[e])
	}
	return p.allocateByShare(v)
}

// allocateByShare allocates circuits in proportion to v in three steps. First, each
// bundle gets the floor of its share of the ports, by the end with the smaller share, but
// at least one circuit. Second, while a pod uses too many ports, its largest bundle loses
// a circuit. Third, while a circuit fits, the bundle with the largest v/x gets one more.
func (p *Problem) allocateByShare(v []float64) []int {
	// The volume at each pod: a bundle to DP peer pods counts once.
	total := make([]float64, len(p.Fabric.Pods))
	for e, b := range p.Fabric.Bundles {
		total[b.A] += float64(b.Ends) * v[e]
		if !b.Peer {
			total[b.B] += float64(b.Ends) * v[e]
		}
	}

	// The floor of the proportional share, by the end with the smaller share.
	x := p.ones()
	for e, b := range p.Fabric.Bundles {
		proportion := func(pod int32) int {
			return int(math.Floor(float64(p.Fabric.Pods[pod].Ports) * v[e] / total[pod]))
		}
		x[e] = max(1, min(proportion(b.A), proportion(b.B)))
	}

	// Remove circuits from pods with too many, then use free ports.
	p.reduceToFit(x)
	p.addByWeight(x, func(e int) float64 { return v[e] / float64(x[e]) })
	return x
}

// Fit returns a topology derived from x that fits the ports. If a pod uses too many
// ports, the bundles listed in yielding lose circuits first, then the largest bundles. Free ports
// go to the yielding bundles in turn, then to the others.
func (p *Problem) Fit(x []int, yielding []int) []int {
	x = p.Shrink(x, yielding)
	p.fillFreePorts(x, yielding)
	p.fillFreePorts(x, numbers.Below(len(x)))
	return x
}

// Shrink is Fit without the allocation of free ports.
func (p *Problem) Shrink(x []int, yielding []int) []int {
	x = append([]int(nil), x...)
	free := p.freePorts(x)
	for _, e := range yielding {
		b := &p.Fabric.Bundles[e]
		for x[e] > 1 && (free[b.A] < 0 || free[b.B] < 0) {
			x[e]--
			p.allocate(free, e, -1) // returns the ports of one circuit
		}
	}
	p.reduceToFit(x)
	return x
}

// iterativeHalving is the rule of iter-halve: each circuit goes to the bundle with the
// largest weight, and halves its weight. Weights start as volumes, so a bundle with x circuits
// has the weight volume * 2^(1-x).
func iterativeHalving(p *Problem) []int {
	v, x := p.volumes(), p.ones()
	p.addByWeight(x, func(e int) float64 { return math.Ldexp(v[e], 1-x[e]) })
	return x
}

// uniformAllocator gives every bundle the same number of circuits, and the remaining
// ports to the bundles in turn.
type uniformAllocator struct{}

func (uniformAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := p.ones()
	p.addByWeight(x, func(e int) float64 { return 1 / float64(x[e]) })
	return p.Evaluate(ctx, x, o.serviceOr(flow.MaxMin))
}

// fixedAllocator uses the matrix of FixedOptions. If the problem contains all replicas,
// the matrix applies to each of them.
type fixedAllocator struct{}

func (fixedAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := make([]int, len(p.Fabric.Bundles))
	n := int32(len(o.Fixed.Circuits))
	if n == 0 || len(p.Fabric.Pods)%int(n) != 0 || slices.ContainsFunc(o.Fixed.Circuits, func(row []int) bool { return len(row) != int(n) }) {
		return nil, fmt.Errorf("topology: policy.fixed.circuits needs one row and one column per pod of a replica")
	}

	// Pod k of replica r has number r*n + k. A bundle between two replicas joins DP peer pods, whose
	// number of circuits is on the diagonal.
	for e, b := range p.Fabric.Bundles {
		i, j := b.A%n, b.B%n
		if x[e] = o.Fixed.Circuits[i][j]; b.A/n != b.B/n {
			x[e] = min(o.Fixed.Circuits[i][i], o.Fixed.Circuits[j][j])
		}
	}

	if !p.Feasible(x) {
		return nil, fmt.Errorf("topology: the fixed circuits leave a pod pair unconnected or overrun a pod's ports (used %v)", p.Fabric.Ports(x))
	}
	return p.Evaluate(ctx, x, o.serviceOr(flow.MaxMin))
}
