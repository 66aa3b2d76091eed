package plots

import (
	"fmt"
	"math"
	"slices"

	"sim/scenarios/result"
)

// torusCase is a synthetic torus with dimensions, the shift in other dimensions per
// wrap-around link, and a failed OCS: the links in x at one position of the faces of 4x4x4
// cubes.
type torusCase struct {
	dims   []int
	shift  map[int][]int
	mesh   bool // no wrap-around links
	fault  bool
	drain  bool
	random uint64 // seed for ties between paths
}

var (
	twistedFault = torusCase{dims: []int{4, 4, 8}, shift: map[int][]int{0: {0, 0, 4}, 1: {0, 0, 4}}, fault: true}
	cubeFault    = torusCase{dims: []int{8, 8, 8}, fault: true, drain: true}
)

func (a *torusCase) node(at []int) int {
	n := 0
	for i, k := range a.dims {
		n = n*k + at[i]
	}
	return n
}

func (a *torusCase) at(node int) []int {
	out := make([]int, len(a.dims))
	for i := len(a.dims) - 1; i >= 0; i-- {
		out[i] = node % a.dims[i]
		node /= a.dims[i]
	}
	return out
}

// torus returns the link loads of an all-to-all on shortest paths, one path per pair.
func (a *torusCase) torus() *result.Torus {
	l := &result.Torus{Dims: a.dims, Unit: "messages"}
	nodes := 1
	for _, n := range a.dims {
		nodes *= n
	}
	out := make([][]int, nodes)
	for n := range nodes {
		for d, k := range a.dims {
			for _, up := range []bool{true, false} {
				to := a.at(n)
				step := -1
				if up {
					step = 1
				}
				to[d] += step
				wrap := to[d] < 0 || to[d] >= k
				if k == 1 || wrap && a.mesh {
					continue
				}
				to[d] = (to[d] + k) % k
				if wrap && a.shift[d] != nil {
					for e, s := range a.shift[d] {
						to[e] = ((to[e]+step*s)%a.dims[e] + a.dims[e]) % a.dims[e]
					}
				}
				link := result.TorusLink{From: n, To: a.node(to), Dim: d, Up: up, Wrap: wrap}
				at := a.at(n)
				leaves := up && at[0]%4 == 3 || !up && at[0]%4 == 0
				if a.fault && d == 0 && leaves && at[1]%4 == 1 && (len(at) < 3 || at[2]%4 == 2) {
					link.State = "down"
				}
				if a.drain && d == 2 && at[0] == 6 && at[1] == 6 {
					link.State = "drained"
				}
				out[n] = append(out[n], len(l.Links))
				l.Links = append(l.Links, link)
			}
		}
	}
	usual, now := a.routes(l, out, nodes, true), a.routes(l, out, nodes, false)
	for pair := range now {
		for _, i := range now[pair] {
			l.Links[i].Load++
		}
	}
	if !a.fault {
		return l
	}
	var hit []int
	for pair, path := range usual {
		if slices.ContainsFunc(path, func(i int) bool { return l.Links[i].State == "down" }) {
			hit = append(hit, pair)
		}
	}
	slices.SortStableFunc(hit, func(p, q int) int { return len(usual[p]) - len(usual[q]) })
	for _, pair := range []int{hit[0], hit[len(hit)/2], hit[len(hit)-1]} {
		for _, path := range []struct {
			links []int
			usual bool
		}{{usual[pair], true}, {now[pair], false}} {
			l.Routes = append(l.Routes, result.TorusRoute{Src: pair / nodes, Dst: pair % nodes, Links: path.links, FaultFree: path.usual})
		}
	}
	return l
}

// routes returns shortest paths, indexed by pair. If whole is set, failed links are used.
func (a *torusCase) routes(l *result.Torus, out [][]int, nodes int, whole bool) [][]int {
	routes := make([][]int, nodes*nodes)
	for s := range nodes {
		from := make([]int, nodes) // link by which a node is reached
		for i := range from {
			from[i] = -1
		}
		seen, queue := make([]bool, nodes), []int{s}
		seen[s] = true
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			for k := range out[n] {
				i := out[n][(k+s+int(a.random))%len(out[n])]
				if t := &l.Links[i]; !seen[t.To] && (whole || t.State == "") {
					seen[t.To], from[t.To] = true, i
					queue = append(queue, t.To)
				}
			}
		}
		for t := range nodes {
			var path []int
			for n := t; n != s && from[n] >= 0; n = l.Links[from[n]].From {
				path = append(path, from[n])
			}
			slices.Reverse(path)
			routes[s*nodes+t] = path
		}
	}
	return routes
}

// someDelay returns a delay distribution similar to a gamma distribution, with a tail.
func someDelay(mean, tail float64) *result.Delay {
	d := &result.Delay{MeanS: mean, P50S: mean * 0.8, P99S: mean * tail, MaxS: mean * tail * 3}
	for i := range 120 {
		from, to := mean*math.Pow(10, float64(i-60)/40), mean*math.Pow(10, float64(i-59)/40)
		if from >= d.MaxS {
			break
		}
		x := from / mean
		n := 1e5 * x * x * math.Exp(-2*x)
		if tail > 20 {
			n += 300 / (1 + x)
		}
		d.Bins = append(d.Bins, result.DelayBin{FromS: from, ToS: to, Packets: int64(n)})
	}
	return d
}

// torusRun returns a run of several routers on a torus.
func torusRun(a torusCase, policies ...string) (*result.Document, *result.Detail) {
	doc := &result.Document{Scenario: "torus", Reference: map[string]float64{}}
	d := &result.Detail{Title: fmt.Sprintf("All to all on a torus of %v, 50 GB/s links", a.dims)}
	for i, name := range policies {
		b := a
		b.random = uint64(i)
		p := result.Simulation{Policy: name, MakespanS: 0.01, Torus: b.torus(), Delay: someDelay(2e-5*(1+0.3*float64(i)), []float64{4, 60}[i%2])}
		d.Policies = append(d.Policies, p)
		maxLoad := 0.0
		for _, l := range p.Torus.Links {
			maxLoad = max(maxLoad, l.Load)
		}
		doc.Rows = append(doc.Rows, result.Row{Policy: name, Metrics: map[string]float64{
			"max_link_load": maxLoad, "bound_max_link_load": math.Ceil(maxLoad * 0.8), "all_to_all_bytes_per_s": 50e9 * 127 / maxLoad, "makespan_s": 0.01,
		}})
	}
	return doc, d
}

func init() {
	torus := func(a torusCase, policies ...string) makeRun {
		return func() (*result.Document, *result.Detail) { return torusRun(a, policies...) }
	}
	runs["twisted"] = torus(twistedFault, "dor", "wild-first", "route-optimised")
	runs["eight"] = torus(cubeFault, "wild-first")
	runs["four"] = torus(torusCase{dims: []int{4, 4, 4}}, "dor")
	runs["flat"] = torus(torusCase{dims: []int{6, 8}, fault: true}, "shortest")
	runs["line"] = torus(torusCase{dims: []int{16}, mesh: true}, "shortest")
	runs["hyper"] = torus(torusCase{dims: []int{2, 2, 2, 2}}, "ecmp")
}
