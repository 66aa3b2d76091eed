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

// matrixRule fills the ports by a rule that sees only the traffic matrix.
type matrixRule func(p *Problem) []int

// matrixRules are the rules that searches begin with.
var matrixRules = []matrixRule{proportional, squareRoot, iterativeHalving}

// baselineAllocator is an allocator that sees only the traffic matrix: neither times nor how much the NICs can send
// (docs/model.md, "Baselines").
type baselineAllocator struct{ rule matrixRule }

func (b baselineAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.Judge(ctx, b.rule(p), o.serviceOr(flow.MaxMin))
}

// Judge simulates a topology that was not searched for, beside the bound that holds for all. It fails where x cannot be
// simulated to its end, and with ctx's error when ctx ends.
func (p *Problem) Judge(ctx context.Context, x []int, s flow.Service) (*Decision, error) {
	d, err := p.evaluateBest(ctx, x, []flow.Service{s})
	if err != nil {
		return nil, err
	}
	d.Bound, err = p.Bound(ctx)
	d.BoundModel = AnyService
	return d, err
}

// Guess returns the shortest makespan on circuits that simple rules allocate, under fair sharing: what problems may be
// compared by before circuits are chosen for them.
func (p *Problem) Guess(ctx context.Context) engine.Time {
	w, best := p.acquire(ctx, flow.MaxMin), never
	defer p.release(w)
	for _, rule := range matrixRules {
		if c, ok := w.simulate(rule(p), best); ok {
			best = c
		}
	}
	return best
}

// Least returns a lower bound on the makespan of every topology: that of as many circuits of each bundle as fit beside
// one of all others.
func (p *Problem) Least(ctx context.Context) engine.Time {
	w := p.acquire(ctx, flow.LevelPriority)
	defer p.release(w)
	return w.bound(p.Useful)
}

// volumes returns the traffic matrix by bundle.
func (p *Problem) volumes() []float64 {
	v := make([]float64, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		v[e] = float64(b.Bytes)
	}
	return v
}

func proportional(p *Problem) []int { return p.allocateByShare(p.volumes()) }

func squareRoot(p *Problem) []int {
	v := p.volumes()
	for e := range v {
		v[e] = math.Sqrt(v[e])
	}
	return p.allocateByShare(v)
}

// allocateByShare gives each bundle the floor of its proportional share of the ports at either end, the smaller one, but at least
// one; takes back the excess where a pod overflows, from the largest; and then gives one more circuit where v/x is
// largest for as long as any fits.
func (p *Problem) allocateByShare(v []float64) []int {
	total := make([]float64, len(p.Fabric.Pods))
	for e, b := range p.Fabric.Bundles {
		total[b.A] += float64(b.Ends) * v[e]
		if !b.Peer {
			total[b.B] += float64(b.Ends) * v[e]
		}
	}
	x := p.ones()
	for e, b := range p.Fabric.Bundles {
		proportion := func(pod int32) int {
			return int(math.Floor(float64(p.Fabric.Pods[pod].Ports) * v[e] / total[pod]))
		}
		x[e] = max(1, min(proportion(b.A), proportion(b.B)))
	}
	p.reduceToFit(x)
	p.addByWeight(x, func(e int) float64 { return v[e] / float64(x[e]) })
	return x
}

// Fit makes a topology of x that fits the ports: where a pod is overrun the yielding bundles give way, then the
// largest; where ports are free the yielding bundles take them in turn, then the others.
func (p *Problem) Fit(x []int, yielding []int) []int {
	x = p.Shrink(x, yielding)
	p.fillFreePorts(x, yielding)
	p.fillFreePorts(x, numbers.Below(len(x)))
	return x
}

// Shrink is Fit that leaves free ports free.
func (p *Problem) Shrink(x []int, yielding []int) []int {
	x = append([]int(nil), x...)
	free := p.freePorts(x)
	for _, e := range yielding {
		b := &p.Fabric.Bundles[e]
		for x[e] > 1 && (free[b.A] < 0 || free[b.B] < 0) {
			x[e]--
			p.allocate(free, e, -1)
		}
	}
	p.reduceToFit(x)
	return x
}

func iterativeHalving(p *Problem) []int {
	v, x := p.volumes(), p.ones()
	p.addByWeight(x, func(e int) float64 { return math.Ldexp(v[e], 1-x[e]) })
	return x
}

// uniformAllocator gives every bundle the same number of circuits, then one more to each in turn while it fits.
type uniformAllocator struct{}

func (uniformAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := p.ones()
	p.addByWeight(x, func(e int) float64 { return 1 / float64(x[e]) })
	return p.Judge(ctx, x, o.serviceOr(flow.MaxMin))
}

// fixedAllocator takes the user's matrix: circuits by pod and pod of a replica, the diagonal to the DP peers of each
// neighbouring replica. Where the problem holds all replicas the matrix serves each of them.
type fixedAllocator struct{}

func (fixedAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := make([]int, len(p.Fabric.Bundles))
	n := int32(len(o.Fixed.Circuits))
	if n == 0 || len(p.Fabric.Pods)%int(n) != 0 || slices.ContainsFunc(o.Fixed.Circuits, func(row []int) bool { return len(row) != int(n) }) {
		return nil, fmt.Errorf("topology: the fixed matrix is not that of the pods of a replica")
	}
	for e, b := range p.Fabric.Bundles {
		i, j := b.A%n, b.B%n
		if x[e] = o.Fixed.Circuits[i][j]; b.A/n != b.B/n {
			x[e] = min(o.Fixed.Circuits[i][i], o.Fixed.Circuits[j][j])
		}
	}
	if !p.Feasible(x) {
		return nil, fmt.Errorf("topology: the fixed circuits leave a pod pair unconnected or overrun a pod's ports (used %v)", p.Fabric.Ports(x))
	}
	return p.Judge(ctx, x, o.serviceOr(flow.MaxMin))
}
