package topology

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"sim/engine"
	"sim/engine/flow"
)

// topo seeks the best topology when transfers share fairly (DELTA-Topo).
//
// It splits the bundles in two. Inner bundles carry transfers that others wait
// for; over their circuits it branches and bounds in boxes, as joint does, with
// bounds that hold for any service. The rest (gradient synchronisation) only
// end the iteration: for each choice of inner circuits they are improved one
// by one until no change of one helps. Fair sharing may gain from fewer
// circuits (CONVENTIONS, A), so no upper corner stands for its box: every
// choice of inner circuits whose bound is below the best is visited, until the
// budget ends.
type topo struct{}

func topoDefaults() SearchOptions { return SearchOptions{MaxEvaluations: 20000} }

func (topo) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	s := &topoSearch{p: p, o: o.Topo, ctx: ctx, service: o.service(flow.MaxMin), best: never,
		open: priorityqueue.NewWith(boxOrder), seen: map[string]engine.Time{}}
	s.w, s.bounder = p.player(s.service), p.player(s.service)
	defer p.done(s.w)
	defer p.done(s.bounder)
	s.deadline = time.Now().Add(o.Topo.TimeLimit)
	s.inner = p.inner()
	s.seed()
	s.search()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.circuits == nil {
		return nil, fmt.Errorf("topology: no topology can be played to its end")
	}
	d := &Decision{Service: s.service, Bound: p.joint().bound, BoundModel: AnyService, Stopped: s.stopped}
	limit := grown(s.best, o.PortTolerance)
	d.Circuits, d.Makespan = s.save(s.circuits, limit)
	d.Evaluations = s.evaluations
	return d, nil
}

// inner returns, by bundle, whether some transfer waits for one of its.
func (p *Problem) inner() []bool {
	g := p.Graph
	before := make([]bool, len(g.Tasks)) // a transfer is reachable
	order := g.Order()
	for k := len(order) - 1; k >= 0; k-- {
		for _, e := range g.Out(order[k]) {
			if before[e.To] || g.Tasks[e.To].Kind == engine.Transfer {
				before[order[k]] = true
			}
		}
	}
	onLink := make([]bool, len(p.Fabric.Network.Links))
	for i := range g.Tasks {
		for _, u := range p.Fabric.Routes.Of(int32(i)) {
			if before[i] && int(u.Resource) < len(onLink) {
				onLink[u.Resource] = true
			}
		}
	}
	inner := make([]bool, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		for _, l := range b.Links {
			inner[e] = inner[e] || onLink[l]
		}
	}
	return inner
}

// topoSearch is one search.
type topoSearch struct {
	p          *Problem
	o          SearchOptions
	ctx        context.Context
	service    flow.Service
	w, bounder *player
	inner      []bool
	open       *priorityqueue.Queue
	made       int
	deadline   time.Time

	circuits    []int
	best        engine.Time
	seen        map[string]engine.Time // makespans of topologies played to the end; never where cut off
	evaluations int64
	stopped     string
}

// key names a topology.
func key(x []int) string {
	b := make([]byte, 0, 2*len(x))
	for _, n := range x {
		b = append(b, byte(n), byte(n>>8))
	}
	return string(b)
}

// play returns the makespan of x, never if it is no better than the best.
func (s *topoSearch) play(x []int) engine.Time {
	k := key(x)
	if c, ok := s.seen[k]; ok {
		return c
	}
	s.evaluations++
	c, ok := s.w.play(x, s.best)
	if !ok {
		c = never
	}
	s.seen[k] = c
	if c < s.best {
		s.best, s.circuits = c, append([]int(nil), x...)
	}
	return c
}

// over reports whether the search must end, and says why.
func (s *topoSearch) over() bool {
	switch {
	case s.ctx.Err() != nil:
		s.stopped = "interrupted"
	case s.evaluations >= s.o.MaxEvaluations:
		s.stopped = fmt.Sprintf("after %d evaluations", s.evaluations)
	case s.o.TimeLimit > 0 && time.Now().After(s.deadline):
		s.stopped = fmt.Sprintf("after the time limit of %v", s.o.TimeLimit)
	default:
		return false
	}
	return true
}

// seed starts from what the other allocators choose.
func (s *topoSearch) seed() {
	starts := [][]int{s.p.joint().circuits}
	for _, rule := range []weigher{proportional, squareRoot, halving} {
		starts = append(starts, rule(s.p))
	}
	for _, x := range starts {
		if x == nil {
			continue
		}
		s.play(x)
		y := append([]int(nil), x...)
		s.p.clip(y)
		s.descend(y)
	}
}

// search visits boxes of inner circuits, lowest bound first.
func (s *topoSearch) search() {
	s.push(s.p.ones(), append([]int(nil), s.p.Useful...))
	for !s.open.Empty() && !s.over() {
		v, _ := s.open.Dequeue()
		b := v.(*box)
		if b.bound >= s.best {
			return
		}
		e := s.widestInner(b)
		if e < 0 {
			s.fill(b)
			continue
		}
		mid := (b.lo[e] + b.hi[e]) / 2
		lower := append([]int(nil), b.hi...)
		lower[e] = mid
		upper := append([]int(nil), b.lo...)
		upper[e] = mid + 1
		s.push(append([]int(nil), b.lo...), lower)
		s.push(upper, append([]int(nil), b.hi...))
	}
}

func (s *topoSearch) push(lo, hi []int) {
	if !s.p.tighten(lo, hi) {
		return
	}
	s.evaluations++
	b := &box{lo: lo, hi: hi, bound: s.bounder.bound(hi), id: s.made}
	s.made++
	if b.bound < s.best {
		s.open.Enqueue(b)
	}
}

// widestInner returns the inner bundle with the widest range, -1 if none has
// any.
func (s *topoSearch) widestInner(b *box) int {
	best := -1
	for e, in := range s.inner {
		if in && b.hi[e] > b.lo[e] && (best < 0 || b.hi[e]-b.lo[e] > b.hi[best]-b.lo[best]) {
			best = e
		}
	}
	return best
}

// fill completes a box with one choice of inner circuits: the others get as
// many as fit, and are then changed one at a time.
func (s *topoSearch) fill(b *box) {
	x := append([]int(nil), b.lo...)
	s.p.grow(x, func(e int) float64 {
		if s.inner[e] || x[e] >= b.hi[e] {
			return math.Inf(-1)
		}
		return float64(b.hi[e]) / float64(x[e])
	})
	copyWhere(x, b.lo, s.inner)
	s.p.clip(x)
	s.descendOver(x, func(e int) bool { return !s.inner[e] }, 1)
}

// copyWhere copies from src to dst where mask holds.
func copyWhere(dst, src []int, mask []bool) {
	for i, m := range mask {
		if m {
			dst[i] = src[i]
		}
	}
}

// descend improves x over all bundles.
func (s *topoSearch) descend(x []int) {
	s.descendOver(x, func(int) bool { return true }, 2)
}

// descendOver changes x, by up to step circuits of one bundle (others at its
// pods giving way, or taking what becomes free), for as long as that makes it
// better.
func (s *topoSearch) descendOver(x []int, may func(e int) bool, step int) {
	here := s.play(x)
	for improved := true; improved && !s.over(); {
		improved = false
		for e := range x {
			if !may(e) {
				continue
			}
			for d := -step; d <= step; d++ {
				y := s.moved(x, e, d, may)
				if y == nil {
					continue
				}
				if c := s.play(y); c < here {
					copy(x, y)
					here, improved = c, true
				}
			}
		}
	}
}

// moved returns x with d more circuits of bundle e: where a pod is then
// overrun its largest other bundle gives way, and what becomes free goes to
// the bundles at e's pods that can use it. nil where that is no topology.
func (s *topoSearch) moved(x []int, e, d int, may func(int) bool) []int {
	n := x[e] + d
	if d == 0 || n < 1 || n > s.p.Useful[e] {
		return nil
	}
	y := append([]int(nil), x...)
	y[e] = n
	free := s.p.room(y)
	for pod := range free {
		for free[pod] < 0 {
			give := -1
			for o, b := range s.p.Fabric.Bundles {
				if o != e && may(o) && y[o] > 1 && (int(b.A) == pod || int(b.B) == pod) && (give < 0 || y[o] > y[give]) {
					give = o
				}
			}
			if give < 0 {
				return nil
			}
			y[give]--
			s.p.take(free, give, -1)
		}
	}
	if d < 0 {
		for o := range y {
			for o != e && may(o) && y[o] < s.p.Useful[o] && s.p.fits(free, o) > 0 {
				y[o]++
				s.p.take(free, o, 1)
			}
		}
	}
	return y
}

// save takes away circuits while the makespan keeps the limit, and returns
// what is left with its makespan.
func (s *topoSearch) save(x []int, limit engine.Time) ([]int, engine.Time) {
	x = append([]int(nil), x...)
	kept, _ := s.w.play(x, never)
	s.evaluations++
	for changed := true; changed; {
		changed = false
		for e := range x {
			for x[e] > 1 {
				x[e]--
				s.evaluations++
				c, ok := s.w.play(x, limit+1)
				if !ok {
					x[e]++
					break
				}
				kept, changed = c, true
			}
		}
	}
	return x, kept
}
