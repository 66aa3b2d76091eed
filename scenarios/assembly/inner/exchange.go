// This file computes the times of all-to-alls, and of reduce-scatters and all-gathers in
// which every rank sends directly to all others.

package inner

import (
	"context"
	"strings"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/collective"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/plans"
)

// tokenSizes returns the bytes that rank a of a group of n sends to rank b in an
// all-to-all of tokens.
func (m *Machine) tokenSizes(n int, k callKey) (func(a, b int) int64, error) {
	drawn, err := calls.DrawSizes(&m.spec, k.Call, n, m.seed)
	if drawn == nil {
		return func(a, b int) int64 { return k.Bytes }, err
	}
	return func(a, b int) int64 { return drawn[a*n+b] }, err
}

// groupSizes returns the bytes that GPU a of a stage sends to GPU b if every group
// performs a direct reduce-scatter or all-gather. In these, each rank sends one
// share to every other rank of its group. groups are the groups of the stage whose
// first rank is 0.
func groupSizes(groups [][]int32, share int64) func(a, b int) int64 {
	groupOf := map[int]int{} // by rank
	for i, g := range groups {
		for _, rank := range g {
			groupOf[int(rank)] = i
		}
	}
	return func(a, b int) int64 {
		if groupOf[a] != groupOf[b] {
			return 0
		}
		return share
	}
}

// simulateExchange computes the times of messages between n consecutive GPUs. size
// returns the bytes from one GPU to another. The tiers carry their parts at the
// same time, and in each tier the slowest domain determines the time. If sizes are
// not drawn, one domain stands for all.
func (m *Machine) simulateExchange(
	ctx context.Context, n int, size func(a, b int) int64, k callKey, z *callResult,
) error {
	group := make([]int32, n)
	for i := range group {
		group[i] = int32(i)
	}
	for i, tier := range m.networks.Machine {
		gpus := min(n, tier.GPUs) // of a domain
		domains := n / gpus
		if k.Draw == 0 {
			domains = 1
		}

		method := ""

		// Compute the time of each domain. Messages of links are sent directly; a
		// tier that reconfigures has a plan.
		for d := range domains {
			sizes, sum, otherMessages := m.domainSizes(i, gpus, d, n, size)
			if sum == 0 {
				continue
			}
			represented := n / gpus / domains // domains that this one stands for
			z.bytes[i] += float64(sum) * float64(represented)
			var t engine.Time
			var err error
			if m.tiers[i].Plans != nil {
				method = m.tiers[i].Planner
				t, err = m.planTime(ctx, i, gpus, k, sizes)
			} else {
				method = "direct"
				t, err = m.directTime(ctx, i, group[:gpus], sizes)

				// The messages over other tiers may all be started first.
				t += engine.Time(otherMessages) * m.tiers[i].MessageOverhead
			}

			if err != nil {
				return err
			}
			z.times[i] = max(z.times[i], t)
		}
		if method != "" {
			z.method = strings.TrimPrefix(z.method+" and "+method, " and ")
		}
	}
	return nil
}

// domainSizes returns the messages of simulateExchange that domain d of tier i
// carries, row by row, and the sum of their bytes. otherMessages is the maximum
// number of messages that a GPU of the domain sends over other tiers.
func (m *Machine) domainSizes(
	i, gpus, d, n int, size func(a, b int) int64,
) (sizes []int64, sum int64, otherMessages int) {
	sizes = make([]int64, gpus*gpus)
	for a := range gpus {
		src, others := d*gpus+a, 0
		for dst := range n {
			isOther := m.tierOfPair(src, dst) != i
			if src != dst && isOther && size(src, dst) > 0 {
				others++
			}
		}
		otherMessages = max(otherMessages, others)

		for b := range gpus {
			if a != b && m.tierOfPair(a, b) == i {
				sizes[a*gpus+b] = size(src, d*gpus+b)
				sum += sizes[a*gpus+b]
			}
		}
	}
	return sizes, sum, otherMessages
}

// tierOfPair returns the innermost tier, of links or reconfigurable, that joins two GPUs.
func (m *Machine) tierOfPair(a, b int) int { return m.networks.JoiningTier(int32(a), int32(b)) }

// directTime returns the time of messages that the GPUs of a domain of tier i send
// directly to their destinations. sizes are their bytes, row by row.
func (m *Machine) directTime(
	ctx context.Context, i int, gpus []int32, sizes []int64,
) (engine.Time, error) {
	direct, _ := collective.ByName("direct")
	network, _ := m.networks.Domain(i)
	call := collective.Call{Kind: collective.AllToAll, Group: gpus, Sizes: sizes}
	p := &collective.Problem{Call: call, Network: network}
	s, err := direct.Expand(ctx, p, collective.Options{})
	if err != nil {
		return 0, err
	}
	t, _, err := m.simulate(ctx, []*collective.Schedule{s}, i)
	return t, err
}

// planTime returns the exposed time of messages between GPUs of a domain of tier
// i, which reconfigures. sizes are their bytes, row by row.
func (m *Machine) planTime(
	ctx context.Context, i, gpus int, k callKey, sizes []int64,
) (engine.Time, error) {
	s := *m.tiers[i].Plans
	s.Seed, s.Engine.Level = m.seed, "cost"
	s.Policy.Planners = []string{m.tiers[i].Planner}
	s.Fabric.ScaleUp.GPUs = gpus
	s.Fabric.ScaleUp.KnownInAdvance = m.tiers[i].KnownInAdvance
	s.Workload = input.Workload{IsTraining: true, WorkloadKeys: input.WorkloadKeys{Spec: m.spec}}

	// Sizes are listed unless all messages have the size of the call. They differ
	// if they are drawn, or if some messages use inner tiers.
	x := &s.Workload.Exchange
	x.Message, x.Chunk, x.Sizes = units.Bytes(k.Bytes), m.tiers[i].Chunk, "uniform"
	for j := range sizes {
		if j%gpus == 0 {
			x.Matrix = append(x.Matrix, make([]int, gpus))
		}
		x.Matrix[j/gpus][j%gpus] = int(sizes[j])
		if sizes[j] != k.Bytes && j/gpus != j%gpus {
			x.Sizes = input.ListedSizes
		}
	}

	times, err := plans.ExchangeTimes(ctx, &s, k.layers)
	return times[k.exchangeIndex], err
}
