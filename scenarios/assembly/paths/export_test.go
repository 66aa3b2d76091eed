package paths

import (
	"context"
	"fmt"
	"math"
	"strings"

	"sim/engine/packet"
	"sim/engine/static"
	"sim/scenarios/assembly"
)

// EstimateAndSimulate returns the estimated hops and seconds under a router, and
// the statistics of the simulation.
func EstimateAndSimulate(
	ctx context.Context, s assembly.System, router string,
) (hops, seconds float64, stats *packet.Stats, err error) {
	a, err := s.(*routingSystem).decide(ctx, router, 1, math.Inf(1))
	if err != nil {
		return 0, 0, nil, err
	}

	packets, seconds := a.estimateInjection()
	return a.estimateHops(packets, seconds), seconds, a.Stats, nil
}

// Estimates returns all estimates of a system as text. For work of ranks it fails
// unless the estimated bytes equal the bytes that the graph sends. The estimated
// transfers may be at most 5 % more than the graph has.
func Estimates(s assembly.System) (string, error) {
	r := s.(*routingSystem)
	up := 0
	for n := range r.Whole.Nodes {
		if r.Down == nil || !r.Down[n] {
			up++
		}
	}

	var b strings.Builder
	write := func(name string, values ...float64) {
		fmt.Fprintf(&b, " %s=", name)
		for i, v := range values {
			fmt.Fprintf(&b, "%s%.7g", map[bool]string{true: ","}[i > 0], v)
		}
	}

	// There are no paths yet, so the loads are the bounds that follow from the
	// fabric.
	low, high := r.estimateRange(up)
	a := &routingResult{
		system: r, bottleneckLoad: r.loadBound,
		pathLoads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortestHops, MaxHops: 3},
	}
	packets, seconds := a.estimateInjection()
	drain, mayDrop := a.drainTime()
	write("least", low.flows, low.packets, low.hops, low.seconds)
	write("most", high.flows, high.packets, high.hops, high.seconds)
	write("injected", packets, seconds, a.estimateHops(packets, seconds))
	write("latency", a.pathLatency())
	write("wrong", a.errorProbability())
	write("throughput", a.throughput())
	write("mean", r.meanShortestHops(), a.meanHops())
	write("backlog", r.backlog(low), r.backlog(workEstimate{packets: 1e6, hops: 3e6, seconds: 1e-3}))
	if mayDrop {
		write("drain", drain)
	}

	// Compare the size of the work with the bytes and transfers of its graph.
	if w, g := r.s.Workload.Work, r.load.graph; w != nil {
		bytes, transfers, slack := w.Size()
		write("size", bytes, transfers, slack, maxTransferChain(g))
		sentBytes, sentTransfers := 0.0, 0.0
		for i := range g.Tasks {
			if b := g.Tasks[i].Bytes; b > 0 {
				sentBytes, sentTransfers = sentBytes+float64(b), sentTransfers+1
			}
		}
		wrongBytes := math.Abs(bytes-sentBytes) > 1e-9*sentBytes
		if wrongBytes || sentTransfers > transfers || transfers > 1.05*sentTransfers {
			return "", fmt.Errorf("estimates are %g bytes in %g transfers, want %g in %g",
				bytes, transfers, sentBytes, sentTransfers)
		}
	}

	return b.String(), nil
}
