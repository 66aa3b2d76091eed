package topology

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine/flow"
)

// weigher fills the ports by a rule that sees only the traffic matrix.
type weigher func(p *Problem) []int

// baseline is an allocator that sees only the traffic matrix: neither times
// nor how much the NICs can send (docs/model.md, "Baselines").
type baseline struct{ rule weigher }

func (b baseline) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	return p.Judge(ctx, b.rule(p), o.service(flow.MaxMin))
}

// Judge plays a topology that was not searched for, beside the bound that
// holds for all. It fails where x cannot be played to its end, and with ctx's
// error when ctx ends.
func (p *Problem) Judge(ctx context.Context, x []int, s flow.Service) (*Decision, error) {
	w := p.player(ctx, s)
	defer p.done(w)
	d := &Decision{Circuits: x, Service: s, Evaluations: 1}
	var ok bool
	if d.Makespan, ok = w.play(x, never); !ok {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("topology: %v cannot be played to its end", x)
	}
	var err error
	d.Bound, err = p.Bound(ctx)
	d.BoundModel = AnyService
	return d, err
}

// volumes returns the traffic matrix by bundle.
func (p *Problem) volumes() []float64 {
	v := make([]float64, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		v[e] = float64(b.Bytes)
	}
	return v
}

func proportional(p *Problem) []int { return p.share(p.volumes()) }

func squareRoot(p *Problem) []int {
	v := p.volumes()
	for e := range v {
		v[e] = math.Sqrt(v[e])
	}
	return p.share(v)
}

// share gives each bundle the floor of its proportional share of the ports at
// either end, the smaller one, but at least one; takes back the excess where a
// pod overflows, from the largest; and then gives one more circuit where v/x
// is largest for as long as any fits.
func (p *Problem) share(v []float64) []int {
	total := make([]float64, len(p.Fabric.Pods))
	for e, b := range p.Fabric.Bundles {
		total[b.A] += float64(b.Ends) * v[e]
		if !b.Twin {
			total[b.B] += float64(b.Ends) * v[e]
		}
	}
	x := p.ones()
	for e, b := range p.Fabric.Bundles {
		of := func(pod int32) int {
			return int(math.Floor(float64(p.Fabric.Pods[pod].Ports) * v[e] / total[pod]))
		}
		x[e] = max(1, min(of(b.A), of(b.B)))
	}
	p.trim(x)
	p.grow(x, func(e int) float64 { return v[e] / float64(x[e]) })
	return x
}

// Fit makes a topology of x that fits the ports: where a pod is overrun the
// yielding bundles give way, then the largest; where ports are free the
// yielding bundles take them in turn, then the others.
func (p *Problem) Fit(x []int, yielding []int) []int {
	x = append([]int(nil), x...)
	free := p.room(x)
	for _, e := range yielding {
		b := &p.Fabric.Bundles[e]
		for x[e] > 1 && (free[b.A] < 0 || free[b.B] < 0) {
			x[e]--
			p.take(free, e, -1)
		}
	}
	p.trim(x)
	p.fill(x, yielding)
	p.fill(x, p.everyBundle())
	return x
}

// everyBundle returns the numbers of all bundles.
func (p *Problem) everyBundle() []int {
	all := make([]int, len(p.Fabric.Bundles))
	for e := range all {
		all[e] = e
	}
	return all
}

// fill gives free ports to the bundles that can use them, one circuit at a
// time in turn.
func (p *Problem) fill(x []int, bundles []int) {
	free := p.room(x)
	for grew := true; grew; {
		grew = false
		for _, e := range bundles {
			if x[e] < p.Useful[e] && p.fits(free, e) > 0 {
				x[e]++
				p.take(free, e, 1)
				grew = true
			}
		}
	}
}

// trim takes circuits from the largest bundle of each pod that is overrun.
func (p *Problem) trim(x []int) {
	free := p.room(x)
	for pod := range free {
		for free[pod] < 0 {
			largest := -1
			for e, b := range p.Fabric.Bundles {
				if (int(b.A) == pod || int(b.B) == pod) && x[e] > 1 && (largest < 0 || x[e] > x[largest]) {
					largest = e
				}
			}
			if largest < 0 {
				return
			}
			x[largest]--
			p.take(free, largest, -1)
		}
	}
}

// grow adds circuits one by one to the bundle of highest weight, the lowest
// bundle where weights are equal, for as long as any fits.
func (p *Problem) grow(x []int, weight func(e int) float64) {
	free := p.room(x)
	for {
		best := -1
		for e := range x {
			if p.fits(free, e) > 0 && (best < 0 || weight(e) > weight(best)) {
				best = e
			}
		}
		if best < 0 {
			return
		}
		x[best]++
		p.take(free, best, 1)
	}
}

func halving(p *Problem) []int {
	v := p.volumes()
	x := p.ones()
	free := p.room(x)
	for {
		best := -1
		for e := range x {
			if p.fits(free, e) > 0 && (best < 0 || v[e] > v[best]) {
				best = e
			}
		}
		if best < 0 {
			return x
		}
		x[best]++
		p.take(free, best, 1)
		v[best] /= 2
	}
}

// uniform gives every bundle the same number of circuits, then one more to
// each in turn while it fits.
type uniform struct{}

func (uniform) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := p.ones()
	p.grow(x, func(e int) float64 { return -float64(x[e]) })
	return p.Judge(ctx, x, o.service(flow.MaxMin))
}

// fixed takes the user's matrix: circuits by pod and pod of a replica, the
// diagonal to the twin pods of each neighbouring replica. Where the problem
// holds all replicas the matrix serves each of them.
type fixed struct{}

func (fixed) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	x := make([]int, len(p.Fabric.Bundles))
	n := int32(len(o.Fixed))
	if n == 0 || len(p.Fabric.Pods)%int(n) != 0 || slices.ContainsFunc(o.Fixed, func(row []int) bool { return len(row) != int(n) }) {
		return nil, fmt.Errorf("topology: the fixed matrix is not that of the pods of a replica")
	}
	for e, b := range p.Fabric.Bundles {
		i, j := b.A%n, b.B%n
		if x[e] = o.Fixed[i][j]; b.A/n != b.B/n {
			x[e] = min(o.Fixed[i][i], o.Fixed[j][j])
		}
	}
	if !p.Feasible(x) {
		return nil, fmt.Errorf("topology: the fixed circuits leave a pod pair unconnected or overrun a pod's ports (used %v)", p.Fabric.Ports(x))
	}
	return p.Judge(ctx, x, o.service(flow.MaxMin))
}
