package topology_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sim/engine/units"
	"sim/policies/topology"
	"sim/workloads/training"
)

// TestConcurrencyOfPipelines: Alg. 2 alone allows 104 circuits to a pipeline transfer of 8 flows (docs/model.md); with
// the NIC cap it allows 8.
func TestConcurrencyOfPipelines(t *testing.T) {
	p := setting{"deepseek-671b", 400e9, 4096}.job(t).problem
	if got, want := p.Concurrency(p.Upper())[:3], []int{104, 72, 40}; !slices.Equal(got, want) {
		t.Errorf("Alg. 2 as printed finds %v, want %v", got, want)
	}
	if got, want := p.MostUseful(p.Upper())[:3], []int{8, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("with the NIC cap %v, want %v", got, want)
	}
}

// unreduced is a workload with a task for every GPU's flow and nothing merged.
func unreduced(t testing.TB, microbatches int) *topology.Problem {
	t.Helper()
	s, perPod := spec(t, "deepseek-671b", 4096)
	s.Microbatches = microbatches
	it, err := training.Build(s, training.Extent{PerGPU: true})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := it.Place(training.Layout{
		GPUsPerPod: perPod, Ports: []int{perPod}, PortRate: []units.Rate{400e9}, NICRate: []units.Rate{400e9}, PodMap: make([][]int, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := pods.Connect(it.Graph)
	if err != nil {
		t.Fatal(err)
	}
	p, err := topology.NewProblem(it.Graph, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkSearchSpace prunes the search space (Algs. 1, 2 and 4): of reduced graphs from 64 to 2048 micro-batches, as
// printed and with the NIC cap, and of unreduced ones.
func BenchmarkSearchSpace(b *testing.B) {
	run := func(name string, p *topology.Problem, f func()) {
		b.Run(fmt.Sprintf("%s/tasks=%d", name, len(p.Graph.Tasks)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	for _, n := range []int{64, 512, 2048} {
		s, perPod := spec(b, "deepseek-671b", 4096)
		s.Microbatches = n
		p := prepare(b, s, perPod, 400e9).problem
		upper := p.Upper()
		run("capped", p, func() { p.MostUseful(upper) })
		run("printed", p, func() { p.Concurrency(upper) })
		run("windows", p, func() {
			if _, err := p.Windows(context.Background(), topology.WindowOptions{Margin: topology.AnchorMargin}); err != nil {
				b.Fatal(err)
			}
		})
	}
	for _, n := range []int{128, 512} {
		p := unreduced(b, n)
		upper := p.Upper()
		run("unreduced-capped", p, func() { p.MostUseful(upper) })
		run("unreduced-printed", p, func() { p.Concurrency(upper) })
	}
}
