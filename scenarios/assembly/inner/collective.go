// This file simulates calls other than all-to-alls in tiers of links, by collective
// algorithms.

package inner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/policies/collective"
	"sim/policies/routing"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// collectiveKinds are the calls that collective algorithms expand to transfers.
var collectiveKinds = map[training.CallKind]collective.Kind{
	training.AllReduce:     collective.AllReduce,
	training.ReduceScatter: collective.ReduceScatter,
	training.AllGather:     collective.AllGather,
}

// simulateCollective computes the time of a call that is not an all-to-all. All
// groups of a stage in the first domain of the joining tier call at the same time.
// Of several algorithms, the fastest is used.
func (m *Machine) simulateCollective(
	ctx context.Context, groups [][]int32, c training.Call, z *callResult,
) error {
	t := m.JoiningTier(c)
	if t < 0 {
		return fmt.Errorf("no tier of links joins the %d GPUs of a group", len(groups[0]))
	}

	outsideFirstDomain := func(g []int32) bool {
		return int(slices.Max(g)) >= m.networks.Machine[t].GPUs
	}
	simulated := slices.DeleteFunc(slices.Clone(groups), outsideFirstDomain)
	shortest := engine.Never
	var unserved error // why the last unsuitable algorithm does not serve the call
	for _, row := range collective.Table {
		if name := m.tiers[t].Collective; name != collective.BestName && name != row.Name {
			continue
		}

		schedules, err := m.expandCalls(ctx, row, c, simulated, t)
		if errors.Is(err, collective.ErrUnserved) {
			unserved = err
			continue
		}
		if err != nil {
			return err
		}
		end, bytes, err := m.simulate(ctx, schedules, t)
		if err != nil {
			return err
		}

		if end < shortest {
			shortest, z.times[t], z.method = end, end, row.Name
			for i := range bytes {
				z.bytes[i] = bytes[i] * float64(len(groups)) / float64(len(simulated))
			}
		}
	}

	if z.method == "" {
		return unserved
	}
	return nil
}

// expandCalls returns the transfers of an algorithm for the calls of some groups
// in a domain of tier t.
func (m *Machine) expandCalls(
	ctx context.Context, row collective.Row, c training.Call, groups [][]int32, t int,
) (all []*collective.Schedule, err error) {
	network := m.networks.Direct(m.networks.Domain(t))

	for _, group := range groups {
		call := collective.Call{Kind: collectiveKinds[c.Kind], Group: group, Bytes: c.Bytes}
		p := &collective.Problem{Call: call, Network: network}
		if torus := m.networks.Systems[t].Torus; torus != nil && t == 0 {
			p.Torus = torus
		}

		// GPUs of one domain of the next inner tier are close to each other.
		if t > 0 {
			for _, gpu := range group {
				p.Domain = append(p.Domain, int(gpu)/m.networks.Machine[t-1].GPUs)
			}
		}

		// Hierarchical algorithms use p.Domain; in the innermost tier, which has no
		// smaller domains, each rank is one.
		rings := collective.Hierarchical{Domain: 1, Inner: "ring", Outer: "ring"}
		s, err := row.Expand(ctx, p, collective.Options{Hierarchical: rings})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}

	return all, nil
}

// UnservedReason returns an error if the algorithm that the scenario names for the
// tier of a call does not support the call. It returns nil if it does, or if no
// algorithm is named.
func (m *Machine) UnservedReason(ctx context.Context, c training.Call) error {
	t := m.JoiningTier(c)
	row, err := collective.ByName(m.tiers[t].Collective)

	// "best" is not the name of an algorithm, and all-to-alls are always direct.
	if err != nil || c.Kind == training.AllToAll {
		return nil
	}
	firstGroup := m.firstStageGroups(c)[:1]
	if _, err := m.expandCalls(ctx, row, c, firstGroup, t); errors.Is(err, collective.ErrUnserved) {
		return err
	}
	return nil
}

// simulate returns the time of schedules that start together in a domain of tier
// t, and the bytes that each tier carries. At level flow, the latency of a path
// delays the arrival of a transfer.
func (m *Machine) simulate(
	ctx context.Context, schedules []*collective.Schedule, t int,
) (engine.Time, []float64, error) {
	// Route the transfers without prescribed links. The groups share no GPU, so
	// their flows differ.
	network, firstLink := m.networks.Domain(t) // first link of each tier
	var flows []engine.Flow
	for _, s := range schedules {
		groupFlows, _ := s.FlowsOnPaths()
		flows = append(flows, groupFlows...)
	}

	var defaultRouter func([]int) (*engine.Paths, error) // of each tier
	paths, err := routing.RouteTiers(ctx, m.networks, t, network, firstLink, flows, m.seed, defaultRouter)
	if err != nil {
		return 0, nil, err
	}

	// Balance the transfers over parallel links. pinned holds the link that a transfer
	// must use, or -1. sendOrder holds its rank among the transfers of its sender, or -1.
	// Barriers at the end of a schedule use no link.
	var pinned, sendOrder []int32
	schedules = slices.Clone(schedules)
	for i, s := range schedules {
		s = s.Balance(flows, paths)
		schedules[i] = s
		barriers := slices.Repeat([]int32{-1}, len(s.Group))
		pinned = append(append(pinned, s.Links()...), barriers...)
		sendOrder = append(append(sendOrder, s.Ranks()...), barriers...)
	}

	// buildGraph returns the graph of all schedules. latencies, indexed by task, delay
	// the arrivals of transfers; nil means no delay.
	buildGraph := func(latencies []engine.Time) (*engine.Graph, error) {
		g := &engine.Graph{MessageOverhead: m.tiers[t].MessageOverhead}
		for _, s := range schedules {
			options := collective.AppendOptions{LinksKeepOrder: m.packet > 0}
			if latencies != nil {
				options.Latencies = latencies[len(g.Tasks):]
			}
			s.Append(g, options)
		}
		return g, g.Freeze()
	}

	// Replace the links of transfers that must use a certain one, and find the links of all tasks.
	var noLatencies []engine.Time // they are known only from the paths
	g, err := buildGraph(noLatencies)
	if err != nil {
		return 0, nil, err
	}
	ends, paths, err := collective.PinPaths(g, network, pinned, flows, paths)
	if err != nil {
		return 0, nil, err
	}

	r, err := engine.RoutesOf(g, network, paths, ends)
	if err != nil {
		return 0, nil, err
	}

	// Add up the bytes of each tier, and the latency of each transfer.
	bytes, latencies := make([]float64, len(m.tiers)), make([]engine.Time, len(g.Tasks))
	for i := range g.Tasks {
		uses := r.Of(int32(i))
		for _, u := range uses {
			latencies[i] += network.Links[u.Resource].Latency
		}
		if len(uses) > 0 {
			isLater := func(link int) bool { return link > int(uses[0].Resource) }
			tier := slices.IndexFunc(firstLink, isLater) - 1
			bytes[tier] += float64(g.Tasks[i].Bytes)
		}
	}

	// Simulate at the level of the machine.
	level := "flow"
	if m.packet > 0 {
		level = "packet"
		for i := range network.Links {
			network.Links[i].Channels = int32(paths.Channels())
		}
	}

	options := packet.Options{Seed: m.seed, TaskRank: sendOrder}
	d := composition.NewPathDecision(network, ends, paths, int32(m.packet), options)
	d.ArrivalDelays = func(*engine.Graph) []engine.Time { return latencies }
	job := &composition.Job{Graph: g, WithArrivalDelays: buildGraph}
	out, err := composition.Simulate(ctx, level, job, d)
	if err != nil {
		return 0, nil, err
	}
	return out.Trace.Makespan, bytes, nil
}
