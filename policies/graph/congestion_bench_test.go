package graph

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/fabric/scaleup"
)

// demands returns the demands of the paper's evaluation, with mean 1.
func demands(n int, kind string) []float64 {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	d := make([]float64, 0, n*n)
	switch ranks := r.Perm(n * (n - 1)); kind {
	case "zipf":
		sum := 0.0
		for i := range ranks {
			sum += math.Pow(float64(i+1), -0.4)
		}
		for i, x := range ranks {
			if i%n == 0 {
				d = append(d, 0)
			}
			d = append(d, math.Pow(float64(x+1), -0.4)*float64(n*(n-1))/sum)
		}
		d = append(d, 0)
	case "random":
		for i := range n * n {
			d = append(d, 2*r.Float64())
			if i/n == i%n {
				d[i] = 0
			}
		}
	default:
		for i := range n * n {
			d = append(d, 1)
			if i/n == i%n {
				d[i] = 0
			}
		}
	}
	return d
}

// graphs returns the topologies on which all-to-alls run without reconfiguration.
func graphs(n int, kind string, d []float64) scaleup.Topology {
	switch kind {
	case "kautz":
		return scaleup.GeneralizedKautz(n, 2)
	case "circulant":
		m := 1
		for 2*m*m+2*m+1 < n {
			m++
		}
		return scaleup.Circulant(n, m, m+1)
	case "rings":
		r := rand.New(rand.NewPCG(11, uint64(n)))
		var t scaleup.Topology
		for range 2 {
			p := r.Perm(n)
			for i, u := range p {
				t = append(t, scaleup.Edge{From: int32(u), To: int32(p[(i+1)%n])})
			}
		}
		return t
	}
	// Greedy: a ring, and links for the largest demands while ports are free.
	t := scaleup.Circulant(n, 1)
	order := make([]int, n*n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d[j], d[i]) })
	out, in := make([]bool, n), make([]bool, n)
	for _, i := range order {
		if u, v := i/n, i%n; u != v && !out[u] && !in[v] {
			out[u], in[v] = true, true
			t = append(t, scaleup.Edge{From: int32(u), To: int32(v)})
		}
	}
	return t
}

func BenchmarkMinCongestion(b *testing.B) {
	for _, n := range []int{64, 256} {
		for _, graph := range []string{"kautz", "circulant", "rings", "greedy"} {
			for _, demand := range []string{"uniform", "random", "zipf"} {
				b.Run(fmt.Sprintf("n=%d/%s/%s", n, graph, demand), func(b *testing.B) {
					d := demands(n, demand)
					t := graphs(n, graph, d)
					for b.Loop() {
						r, err := optimum(t, n, d, CongestionOptions{})
						if err != nil {
							b.Fatal(err)
						}
						b.ReportMetric(float64(r.Iterations), "steps")
						b.ReportMetric(1e3*(r.Load/r.Bound-1), "gap-permille")
					}
				})
			}
		}
	}
}
