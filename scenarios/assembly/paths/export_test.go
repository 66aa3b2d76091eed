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

// EstimateAndSimulate returns the hops of packets and the seconds that are foreseen under a router, and what came of its packets.
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

// Estimates returns what is estimated of a system before it is simulated, by name. It fails unless the estimated bytes of its
// work are those that its graph sends, and the estimated transfers as many as it has, or up to 5 % more.
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

	least, most := r.estimateRange(up)
	a := &routingResult{system: r, bottleneckLoad: r.loadBound,
		loads: &static.Loads{Weighted: []float64{}, WeightedHops: r.shortestHops, MaxHops: 3}}
	packets, seconds := a.estimateInjection()
	drain, drops := a.drainTime()
	write("least", least.flows, least.packets, least.hops, least.seconds)
	write("most", most.flows, most.packets, most.hops, most.seconds)
	write("injected", packets, seconds, a.estimateHops(packets, seconds))
	write("latency", a.pathLatency())
	write("wrong", a.errorProbability())
	write("throughput", a.throughput())
	write("mean", r.meanShortestHops(), a.meanHops())
	write("backlog", r.backlog(least),
		r.backlog(workEstimate{packets: 1e6, hops: 3e6, seconds: 1e-3}))
	if drops {
		write("drain", drain)
	}
	if w, g := r.s.Workload.Work, r.load.graph; w != nil {
		bytes, transfers, slack := w.Size()
		write("size", bytes, transfers, slack, maxTransferChain(g))
		sent, made := 0.0, 0.0
		for i := range g.Tasks {
			if b := g.Tasks[i].Bytes; b > 0 {
				sent, made = sent+float64(b), made+1
			}
		}
		if math.Abs(bytes-sent) > 1e-9*sent || made > transfers || transfers > 1.05*made {
			return "", fmt.Errorf("estimates are %g bytes in %g transfers, want %g in %g", bytes,
				transfers, sent, made)
		}
	}

	return b.String(), nil
}
