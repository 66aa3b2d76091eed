package topology_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric"
	"sim/policies/topology"
)

// linear is a linear program: the least x[0] with rows.x <= rhs (or = where
// equal says so) and x >= 0.
type linear struct {
	rows  [][]float64
	rhs   []float64
	equal []bool
	n     int
}

// add appends a row; terms are variable, coefficient, variable, coefficient...
func (p *linear) add(equal bool, rhs float64, row []float64) {
	p.rows, p.rhs, p.equal = append(p.rows, row), append(p.rhs, rhs), append(p.equal, equal)
}

// solve is the two-phase simplex method on a dense tableau, by Bland's rule
// where the largest coefficient makes no progress. It returns false where
// nothing is feasible.
func (p *linear) solve() (float64, []float64, bool) {
	const zero = 1e-10
	m := len(p.rows)
	artificial := p.n + m // then one artificial variable a row, used or not
	width := artificial + m + 1
	tab := make([][]float64, m)
	basis := make([]int, m)
	for i, row := range p.rows {
		tab[i] = make([]float64, width)
		sign := 1.0
		if p.rhs[i] < 0 {
			sign = -1
		}
		for k, a := range row {
			tab[i][k] = sign * a
		}
		tab[i][width-1] = sign * p.rhs[i]
		if !p.equal[i] {
			tab[i][p.n+i] = sign
		}
		if basis[i] = p.n + i; p.equal[i] || sign < 0 {
			basis[i] = artificial + i
			tab[i][artificial+i] = 1
		}
	}
	run := func(cost []float64, columns int) bool {
		reduced := slices.Clone(cost)
		for i, b := range basis {
			if c := cost[b]; c != 0 {
				for k := range reduced {
					reduced[k] -= c * tab[i][k]
				}
			}
		}
		still := 0
		for range 20_000 {
			in := -1
			for k := range columns {
				if reduced[k] < -zero && (in < 0 || still < 20 && reduced[k] < reduced[in]) {
					in = k
				}
			}
			if in < 0 {
				return true
			}
			out, least := -1, math.Inf(1)
			for i := range tab {
				if a := tab[i][in]; a > zero {
					r := tab[i][width-1] / a
					if r < least-zero || r < least+zero && basis[i] < basis[out] {
						out, least = i, min(least, r)
					}
				}
			}
			if out < 0 {
				panic("unbounded")
			}
			if still++; least > zero {
				still = 0
			}
			basis[out] = in
			scale := 1 / tab[out][in]
			for k := range tab[out] {
				tab[out][k] *= scale
			}
			eliminate := func(row []float64) {
				if f := row[in]; f != 0 {
					for k, a := range tab[out] {
						row[k] -= f * a
					}
				}
			}
			for i := range tab {
				if i != out {
					eliminate(tab[i])
				}
			}
			eliminate(reduced)
		}
		panic("the simplex method does not end")
	}
	cost := make([]float64, width)
	for k := artificial; k < width-1; k++ {
		cost[k] = 1
	}
	run(cost, artificial)
	for i, b := range basis {
		if b >= artificial && tab[i][width-1] > 1e-7 {
			return 0, nil, false
		}
	}
	clear(cost)
	cost[0] = 1
	for i, b := range basis { // artificial variables that stayed at zero must not rise
		if b >= artificial {
			if k := slices.IndexFunc(tab[i][:artificial], func(a float64) bool { return math.Abs(a) > 1e-7 }); k >= 0 {
				scale := 1 / tab[i][k]
				for c := range tab[i] {
					tab[i][c] *= scale
				}
				for o := range tab {
					if f := tab[o][k]; o != i && f != 0 {
						for c := range tab[o] {
							tab[o][c] -= f * tab[i][c]
						}
					}
				}
				basis[i] = k
			}
		}
	}
	run(cost, artificial)
	x := make([]float64, p.n)
	for i, b := range basis {
		if b < p.n {
			x[b] = tab[i][width-1]
		}
	}
	return x[0], x, true
}

// gonum solves p with gonum's simplex method.
func (p *linear) gonum() (float64, error) {
	m := len(p.rows)
	width := p.n + m
	a := mat.NewDense(m, width, nil)
	for i, row := range p.rows {
		for k, v := range row {
			a.Set(i, k, v)
		}
		if !p.equal[i] {
			a.Set(i, p.n+i, 1)
		}
	}
	var used []int // columns that are not empty, as gonum wants
	for k := range width {
		if mat.Max(a.ColView(k)) != 0 || mat.Min(a.ColView(k)) != 0 {
			used = append(used, k)
		}
	}
	b := mat.NewDense(m, len(used), nil)
	for c, k := range used {
		for i := range m {
			b.Set(i, c, a.At(i, k))
		}
	}
	cost := make([]float64, len(used))
	cost[0] = 1
	value, _, err := lp.Simplex(cost, b, p.rhs, 1e-10, nil)
	return value, err
}

// puzzle is a small problem as the exact search sees it: transfers with what
// precedes them. Times are in milliseconds, capacity and volume in circuits.
type puzzle struct {
	work    []float64   // circuit-milliseconds
	release []float64   // from the start
	before  [][]float64 // lag by predecessor, NaN for none
	tail    []float64   // from the end to the sink
	use     [][]float64 // by resource and transfer: its weight
	cap     []float64   // of resources

	full, span []float64 // fastest duration; that and the longest way behind it
	order      []event
	best       float64
	programs   int
	sample     func(*linear, float64, bool)
}

// event is the start or the end of a transfer.
type event struct {
	task int
	end  bool
}

// optimum returns the least makespan of any way of sharing, by branch and bound
// over the orders of starts and ends: for a given order the best rates are a
// linear program, for the beginning of one it is relaxed by fastest paths and
// by loads. It ends with false after most programs.
func (z *puzzle) optimum(best float64, most int) (float64, bool) {
	n := len(z.work)
	z.full, z.span = make([]float64, n), make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		for r, c := range z.cap {
			z.full[i] = max(z.full[i], z.work[i]*z.use[r][i]/c)
		}
		after := z.tail[i]
		for j := i + 1; j < n; j++ {
			if lag := z.before[j][i]; !math.IsNaN(lag) {
				after = max(after, lag+z.span[j])
			}
		}
		z.span[i] = z.full[i] + after
	}
	z.best, z.programs, z.order = best, 0, z.order[:0]
	return z.best0(most)
}

func (z *puzzle) best0(most int) (float64, bool) {
	z.branch(most)
	return z.best, z.programs < most
}

// accuracy of optima in milliseconds: far above the simplex method's, far below
// differences that mean anything.
const accuracy = 1e-6

func (z *puzzle) branch(most int) {
	type child struct {
		e     event
		bound float64
	}
	var children []child
	for i := range z.work {
		started, ended := z.placed(i)
		if ended >= 0 {
			continue
		}
		e := event{i, started >= 0}
		if !e.end && slices.ContainsFunc(seqOf(len(z.work)), func(j int) bool {
			_, done := z.placed(j)
			return !math.IsNaN(z.before[i][j]) && done < 0
		}) {
			continue
		}
		if z.programs++; z.programs >= most {
			return
		}
		z.order = append(z.order, e)
		p := z.program()
		value, _, ok := p.solve()
		if z.sample != nil {
			z.sample(p, value, ok)
		}
		z.order = z.order[:len(z.order)-1]
		if ok && value < z.best-accuracy {
			children = append(children, child{e, value})
		}
	}
	slices.SortStableFunc(children, func(a, b child) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		}
		return 0
	})
	for _, c := range children {
		if c.bound >= z.best-accuracy {
			continue
		}
		z.order = append(z.order, c.e)
		if len(z.order) == 2*len(z.work) {
			z.best = c.bound
		} else {
			z.branch(most)
		}
		z.order = z.order[:len(z.order)-1]
	}
}

func seqOf(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// placed returns the places of i's start and end in the order, -1 where open.
func (z *puzzle) placed(i int) (start, end int) {
	return slices.Index(z.order, event{i, false}), slices.Index(z.order, event{i, true})
}

// program is the linear program of the order so far. Variable 0 is the
// makespan, 1+k the time between events k-1 and k, and then for each transfer
// and such interval the work done.
func (z *puzzle) program() *linear {
	n, m := len(z.work), len(z.order)
	p := &linear{n: 1 + m + n*m}
	done := func(i, k int) int { return 1 + m + i*m + k }
	row := func() []float64 { return make([]float64, p.n) }
	// minus adds -f times the time of event k
	time := func(r []float64, k int, f float64) []float64 {
		for l := 0; l <= k; l++ {
			r[1+l] += f
		}
		return r
	}
	active := func(i, k int) bool {
		s, e := z.placed(i)
		return s >= 0 && k > s && (e < 0 || k <= e)
	}
	for r, c := range z.cap {
		for k := range m {
			load, any := row(), false
			for i := range n {
				if z.use[r][i] > 0 && active(i, k) {
					load[done(i, k)], any = z.use[r][i], true
				}
			}
			if any {
				load[1+k] = -c
				p.add(false, 0, load)
			}
		}
	}
	for i := range n {
		s, e := z.placed(i)
		if s < 0 {
			p.add(false, -z.release[i]-z.span[i], atMost(row(), 0, -1))
			last := row()
			if m > 0 {
				time(last, m-1, 1)
			}
			p.add(false, -z.span[i], atMost(last, 0, -1))
			continue
		}
		p.add(false, -z.release[i], time(row(), s, -1))
		for j, lag := range z.before[i] {
			if _, end := z.placed(j); !math.IsNaN(lag) {
				p.add(false, -lag, time(time(row(), s, -1), end, 1))
			}
		}
		moved := row()
		for k := range m {
			if active(i, k) {
				moved[done(i, k)] = 1
			}
		}
		behind := z.span[i] - z.full[i]
		if e >= 0 {
			p.add(true, z.work[i], moved)
			p.add(false, -behind, atMost(time(row(), e, 1), 0, -1))
			continue
		}
		p.add(false, z.work[i], moved)
		rest := time(row(), m-1, 1)
		for k := range m {
			if active(i, k) {
				rest[done(i, k)] = -z.full[i] / z.work[i]
			}
		}
		p.add(false, -z.span[i], atMost(rest, 0, -1))
	}
	for r, c := range z.cap { // what is left for r, then the shortest way to the end
		left, shortest, work := row(), math.Inf(1), 0.0
		if m > 0 {
			time(left, m-1, 1)
		}
		for i := range n {
			if _, e := z.placed(i); e >= 0 || z.use[r][i] == 0 {
				continue
			}
			shortest = min(shortest, z.span[i]-z.full[i])
			work += z.work[i] * z.use[r][i] / c
			for k := range m {
				if active(i, k) {
					left[done(i, k)] -= z.use[r][i] / c
				}
			}
		}
		if work > 0 {
			p.add(false, -work-shortest, atMost(left, 0, -1))
		}
	}
	return p
}

func atMost(row []float64, k int, f float64) []float64 {
	row[k] += f
	return row
}

// millisecond is the unit of puzzles; circuit moves one unit of work in it.
const (
	millisecond = engine.Millisecond
	circuit     = 100e9
	unit        = 12_500_000 // bytes
)

// transfer is one of a small problem.
type transfer struct {
	from, to      int // nodes
	units         int
	release, tail int // in half milliseconds
	after         map[int]int
}

// tiny is a small problem: nodes by pod, ports by pod.
type tiny struct {
	ports     []int
	nodes     []fabric.Node
	nics      []float64 // in circuits
	transfers []transfer
}

func drawTiny(rng *rand.Rand, most int) tiny {
	var d tiny
	for range 2 + rng.IntN(2) {
		d.ports = append(d.ports, 2+rng.IntN(4))
	}
	for pod := range d.ports {
		for range 1 + rng.IntN(2) {
			node := fabric.Node{Pod: int32(pod), GPUs: int32(1 + rng.IntN(3))}
			if k := len(d.nodes); k > 0 && d.nodes[k-1].Pod == node.Pod && rng.IntN(2) == 0 {
				node.NICs = d.nodes[k-1].NICs // other GPUs of the same hosts
			} else {
				node.NICs = []int32{int32(len(d.nics))}
				d.nics = append(d.nics, []float64{1, 1, 0.5, 2}[rng.IntN(4)])
			}
			d.nodes = append(d.nodes, node)
		}
	}
	for i := range 2 + rng.IntN(most-1) {
		k := transfer{units: 1 + rng.IntN(5), tail: rng.IntN(6), after: map[int]int{}}
		for d.nodes[k.from].Pod == d.nodes[k.to].Pod {
			k.from, k.to = rng.IntN(len(d.nodes)), rng.IntN(len(d.nodes))
		}
		if rng.IntN(2) > 0 {
			k.release = rng.IntN(6)
		}
		for j := range i {
			if rng.IntN(4) == 0 {
				k.after[j] = rng.IntN(3)
			}
		}
		d.transfers = append(d.transfers, k)
	}
	return d
}

// graph returns the problem as a graph on pods: a source, the transfers in
// their order, and a sink.
func (d tiny) graph(t testing.TB) parts {
	t.Helper()
	p := parts{&engine.Graph{}, &fabric.Pods{Nodes: d.nodes, Copies: 1}}
	for i, n := range d.ports {
		p.pods.Pods = append(p.pods.Pods, fabric.Pod{Name: fmt.Sprint("pod ", i), Ports: n, Rate: circuit})
	}
	for i, r := range d.nics {
		p.pods.NICs = append(p.pods.NICs, fabric.NIC{Name: fmt.Sprint("NIC ", i), Rate: units.Rate(r * circuit)})
	}
	p.graph.AddTask(engine.Task{})
	sink := int32(len(d.transfers) + 1)
	half := millisecond / 2
	for i, k := range d.transfers {
		p.graph.AddTask(engine.Task{
			Kind: engine.Transfer, Src: int32(k.from), Dst: int32(k.to), Bytes: int64(k.units) * unit,
			Flows: min(d.nodes[k.from].GPUs, d.nodes[k.to].GPUs),
		})
		p.graph.AddEdge(0, int32(i+1), engine.Time(k.release)*half)
		p.graph.AddEdge(int32(i+1), sink, engine.Time(k.tail)*half)
		for j, lag := range k.after {
			p.graph.AddEdge(int32(j+1), int32(i+1), engine.Time(lag)*half)
		}
	}
	p.graph.AddTask(engine.Task{})
	if err := p.graph.Freeze(); err != nil {
		t.Fatal(err)
	}
	return p
}

// puzzle returns the problem under circuits by pair of pods, built anew from
// the description: it shares nothing with fabric and engine.
func (d tiny) puzzle(circuits map[[2]int32]int) *puzzle {
	z := &puzzle{}
	n := len(d.transfers)
	use := map[string]int{}
	at := func(name string, capacity float64) []float64 {
		k, ok := use[name]
		if !ok {
			k = len(z.cap)
			use[name] = k
			z.cap, z.use = append(z.cap, capacity), append(z.use, make([]float64, n))
		}
		return z.use[k]
	}
	for i, k := range d.transfers {
		z.work = append(z.work, float64(k.units))
		z.release = append(z.release, float64(k.release)/2)
		z.tail = append(z.tail, float64(k.tail)/2)
		before := make([]float64, n)
		for j := range before {
			before[j] = math.NaN()
			if lag, ok := k.after[j]; ok {
				before[j] = float64(lag) / 2
			}
		}
		z.before = append(z.before, before)
		from, to := d.nodes[k.from], d.nodes[k.to]
		pair := [2]int32{min(from.Pod, to.Pod), max(from.Pod, to.Pod)}
		at(fmt.Sprint("link ", from.Pod, to.Pod), float64(circuits[pair]))[i] += 1
		for _, c := range from.NICs {
			at(fmt.Sprint("out ", c), d.nics[c])[i] += 1 / float64(from.GPUs)
		}
		for _, c := range to.NICs {
			at(fmt.Sprint("in ", c), d.nics[c])[i] += 1 / float64(to.GPUs)
		}
	}
	return z
}

// optimum returns the least makespan over all topologies in milliseconds.
func (d tiny) optimum(p *topology.Problem, most int, sample func(*linear, float64, bool)) (float64, bool) {
	best := math.Inf(1)
	all := true
	var try func(x []int, e int)
	try = func(x []int, e int) {
		if e == len(x) {
			for k := range x { // a topology with room to spare is not the best
				x[k]++
				more := p.Feasible(x)
				x[k]--
				if more {
					return
				}
			}
			circuits := map[[2]int32]int{}
			for k, b := range p.Fabric.Bundles {
				circuits[[2]int32{b.A, b.B}] = x[k]
			}
			z := d.puzzle(circuits)
			z.sample = sample
			value, ok := z.optimum(best, most)
			best, all = value, all && ok
			return
		}
		for x[e] = 1; p.Feasible(x); x[e]++ {
			try(x, e+1)
		}
		x[e] = 1
	}
	x := make([]int, len(p.Fabric.Bundles))
	for e := range x {
		x[e] = 1
	}
	try(x, 0)
	return best, all
}

// TestJointIsExact: on small random problems the joint optimum lies between its
// bound and its value, and where these meet it is the optimum of an exhaustive
// search that knows nothing of levels, bounds or this package.
func TestJointIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	certified, optimal, open, skipped := 0, 0, 0, 0
	most := 4 // transfers
	if *more {
		most = 6
	}
	for n := range times(300) {
		d := drawTiny(rng, most)
		g := d.graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil {
			continue // too few ports
		}
		c := choose(t, &job{problem: p}, "delta-joint", budgets())
		best, ok := d.optimum(p, 3000, nil)
		if !ok {
			skipped++
			continue
		}
		value, bound := c.Makespan.Seconds()*1e3, c.Bound.Seconds()*1e3
		if best > value+2*accuracy || best < bound-2*accuracy {
			t.Errorf("case %d %+v: optimum %.9g ms, delta-joint %.9g, bound %.9g", n, d, best, value, bound)
		}
		gap, _ := c.Gap()
		switch {
		case gap < 1e-6:
			certified++
		case value < best+2*accuracy:
			optimal++
		default:
			open++
			t.Logf("case %d %+v: optimum %.9g ms, delta-joint %.9g, bound %.9g", n, d, best, value, bound)
		}
	}
	t.Logf("%d certified, %d optimal without proof, %d not optimal, %d skipped", certified, optimal, open, skipped)
}
