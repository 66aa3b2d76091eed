// Package inner is the inner tiers of a machine under a training step: how long the collective calls take that stay
// inside them. Those lengthen the passes of the step, and the synchronisation of gradients among the copies in a stage;
// the step then runs on the outermost tier as on that fabric alone.
//
// A tier of links simulates the calls of a stage as collective algorithms carry them out (policies/collective), all
// groups of the stage in a domain at once; a tier that reconfigures takes the time of a planner's plan. What two GPUs
// exchange takes the innermost tier that joins them. Calls of different stages are taken not to meet: behind a switch
// that does not block they do not.
package inner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/packet"
	"sim/engine/units"
	"sim/fabric/links"
	"sim/internal/once"
	"sim/policies/collective"
	"sim/policies/reconfigure"
	"sim/policies/routing"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/plans"
	"sim/workloads/training"
)

// Keys are what a scenario says of a tier beside the keys of its kind.
type Keys struct {
	Kind       string `key:"kind" doc:"fabric of the tier, whose other keys are those of that fabric" required:"" choices:"@tier-kinds" called:"tier"`
	Collective string `key:"collective" doc:"for an inner tier of links: the algorithm of its collective calls; 'best' selects the fastest by simulation" default:"best" choices:"@tier-collectives"`
	reconfigure.InnerTierKeys
	Chunk      units.Bytes `key:"chunk" doc:"for an inner tier 'scaleup': chunk size of messages" default:"4MB"`
	KnownAhead string      `key:"known_ahead" doc:"for an inner tier 'scaleup': all-to-alls for which switches reconfigure during the preceding compute: 'none'; 'returns', the returns and those of backward passes; or 'all'" default:"none" choices:"none|returns|all" implicit:""`
}

// Tier is a tier with what a scenario says of it.
type Tier struct {
	Keys
	Links *links.Links    // nil where it reconfigures
	Plans *plans.Scenario // nil of links
	// MessageOverhead is what starting a message costs its sender, on links.
	MessageOverhead engine.Time
}

// GPUs returns how many a domain has.
func (t Tier) GPUs() int {
	if t.Plans != nil {
		return t.Plans.Fabric.ScaleUp.GPUs
	}
	return t.Links.GPUs()
}

// Machine is the tiers whose time passes have, from the inside out, under a step. It is safe for concurrent use.
type Machine struct {
	spec    training.Spec
	tiers   []Tier
	machine *links.Tiers
	seed    uint64
	packet  units.Bytes // that data inside is sent in, 0 as fluid

	results once.Map[callKey, *callResult]
}

// callKey is what the time of a call depends on.
type callKey struct {
	training.Call
	exchangeIndex int     // which of the four all-to-alls of a layer it is, where switches know some ahead
	layers        float64 // that computing before it is of, where they do
}

// callResult is what becomes of a call.
type callResult struct {
	times  []engine.Time // by tier, which carry their parts at the same time
	bytes  []float64     // by tier, that GPUs of a stage send
	method string        // the algorithm or planner
}

// New returns the tiers of a step, in which data is sent in packets of a size, 0 as fluid. One tier has links of twice
// the rate; -1 is none.
func New(
	spec training.Spec, of []Tier, seed uint64, packet units.Bytes, faster int,
) (*Machine, error) {
	m := &Machine{spec: spec, seed: seed, packet: packet}
	var all []*links.Links
	var gpus []int
	for i, t := range of {
		if t.Plans != nil {
			p := *t.Plans
			if i == faster {
				p.Fabric.ScaleUp.LinkRate *= 2
			}
			t.Plans = &p
		} else if i == faster {
			t.Links = t.Links.Faster(2)
		}
		m.tiers, all, gpus = append(m.tiers, t), append(all, t.Links), append(gpus, t.GPUs())
	}

	var err error
	m.machine, err = links.NewTiers(all, gpus)
	return m, err
}

// PassDelay returns how much the calls of a pass of virtual stage v lengthen it.
func (m *Machine) PassDelay(ctx context.Context, v int, pass training.Phase) (engine.Time, error) {
	return m.PassDelayWithout(-1)(ctx, v, pass)
}

// PassDelayWithout returns Longer where a tier takes no time.
func (m *Machine) PassDelayWithout(tier int) composition.PassExtension {
	return func(ctx context.Context, v int, pass training.Phase) (engine.Time, error) {
		return m.spec.CallTime(v, pass, func(c training.Call) (engine.Time, error) {
			z, err := m.callResult(ctx, v, pass, c)
			if err != nil {
				return 0, err
			}
			longest := engine.Time(0)
			for i, t := range z.times {
				if i != tier {
					longest = max(longest, t)
				}
			}
			return longest, nil
		})
	}
}

// TierLoads returns by tier the bytes that it carries in an iteration, of all replicas, and how long it is busy with those
// of the stage that keeps it busy longest.
func (m *Machine) TierLoads(ctx context.Context) (bytes []float64, busy []engine.Time, err error) {
	s := &m.spec
	bytes, busy = make([]float64, len(m.tiers)), make([]engine.Time, len(m.tiers))
	for stage := range s.PP {
		of := make([]engine.Time, len(m.tiers))
		for chunk := range s.Chunks {
			v := chunk*s.PP + stage
			for _, pass := range s.ContractedPasses() {
				times := s.Repeats(v, pass)
				for _, c := range s.Calls(v, pass) {
					z, err := m.callResult(ctx, v, pass, c)
					if err != nil {
						return nil, nil, err
					}
					for i := range m.tiers {
						bytes[i] += z.bytes[i] * float64(times) * float64(s.Replicas())
						of[i] += z.times[i] * engine.Time(times)
					}
				}
			}
		}
		for i := range m.tiers {
			busy[i] = max(busy[i], of[i])
		}
	}

	return bytes, busy, nil
}

// callKey returns what the time of a call of a pass of virtual stage v depends on. Where sizes are drawn a virtual stage
// has one draw for all its micro-batches and pieces.
func (m *Machine) callKey(v int, pass training.Phase, c training.Call) callKey {
	c.Position = training.LayerStart // is no matter
	k := callKey{Call: c}
	if c.Kind != training.AllToAll {
		return k
	}
	if slices.ContainsFunc(m.tiers, func(t Tier) bool { return t.Plans != nil && cmp.Or(t.KnownAhead, "none") != "none" }) {
		if k.exchangeIndex = 2 * int(pass-training.Forward); c.Transposed {
			k.exchangeIndex++
		}
		k.layers = m.spec.PieceLayers(v)
	}

	if m.spec.ExpertSizes == "zipf" {
		k.Draw = 1 + uint64(v)
	} else {
		k.Transposed = false
	}

	return k
}

// callResult returns what becomes of a call of a pass of virtual stage v.
func (m *Machine) callResult(
	ctx context.Context, v int, pass training.Phase, c training.Call,
) (*callResult, error) {
	k := m.callKey(v, pass, c)
	return m.results.Get(ctx, k, func() (*callResult, error) {
		z := &callResult{times: make([]engine.Time, len(m.tiers)),
			bytes: make([]float64, len(m.tiers))}
		groups := m.spec.Groups(c, 0, 0)
		var err error
		switch t := m.JoiningTier(c); {
		case c.Kind == training.AllToAll:
			var sizes func(a, b int) int64
			if sizes, err = m.tokenSizes(len(groups[0]), k); err == nil {
				err = m.simulateExchange(ctx, len(groups[0]), sizes, k, z)
			}
		case t >= 0 && m.tiers[t].Plans != nil:
			share, ranks := k, int64(len(groups[0]))
			share.Bytes = (c.Bytes + ranks - 1) / ranks
			err = m.simulateExchange(ctx, m.spec.StageGPUs(),
				groupSizes(groups, share.Bytes), share, z)
		default:
			err = m.simulateCollective(ctx, groups, c, z)
		}
		if err != nil {
			err = fmt.Errorf("%v %v: %w", c.Dim, c.Kind, err)
		}
		return z, err
	})
}

// tokenSizes returns the bytes that GPU a of a group of n sends to GPU b in an all-to-all of tokens.
func (m *Machine) tokenSizes(n int, k callKey) (func(a, b int) int64, error) {
	drawn, err := calls.DrawSizes(&m.spec, k.Call, n, m.seed)
	if drawn == nil {
		return func(a, b int) int64 { return k.Bytes }, err
	}
	return func(a, b int) int64 { return drawn[a*n+b] }, err
}

// groupSizes returns the bytes that GPU a of a stage sends to GPU b if every group reduce-scatters or
// all-gathers directly, in which each rank sends every other rank of its group one share. The
// groups are those of the stage whose first rank is 0.
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

// simulateExchange carries messages between n consecutive GPUs, each straight to its destination. The
// function size returns the bytes from one GPU to another. Tiers carry their parts at the same
// time, each as long as the domain that takes longest. If sizes are not drawn, one domain stands
// for all.
func (m *Machine) simulateExchange(
	ctx context.Context, n int, size func(a, b int) int64, k callKey, z *callResult,
) error {
	group := make([]int32, n)
	for i := range group {
		group[i] = int32(i)
	}
	for i, tier := range m.machine.Machine {
		each := min(n, tier.GPUs)
		domains := n / each
		if k.Draw == 0 {
			domains = 1
		}
		by := ""
		for d := range domains {
			sizes, sum := make([]int64, each*each), int64(0)
			others := 0 // the most messages that a GPU sends over other tiers
			for a := range each {
				src, elsewhere := d*each+a, 0
				for b := range n {
					if src != b && m.machine.JoiningTier(true, int32(src), int32(b)) != i &&
						size(src, b) > 0 {
						elsewhere++
					}
				}
				others = max(others, elsewhere)
				for b := range each {
					if a != b && m.machine.JoiningTier(true, int32(a), int32(b)) == i {
						sizes[a*each+b] = size(d*each+a, d*each+b)
						sum += sizes[a*each+b]
					}
				}
			}
			if sum == 0 {
				continue
			}
			z.bytes[i] += float64(sum) * float64(n/each/domains)
			t, err := engine.Time(0), error(nil)
			if by = "direct"; m.tiers[i].Plans != nil {
				by = m.tiers[i].Planner
				t, err = m.planTime(ctx, i, each, k, sizes)
			} else {
				t, err = m.directTime(ctx, i, group[:each], sizes)
				t += engine.Time(others) * m.tiers[i].MessageOverhead // those may all be started first
			}
			if err != nil {
				return err
			}
			z.times[i] = max(z.times[i], t)
		}
		if by != "" {
			z.method = strings.TrimPrefix(z.method+" and "+by, " and ")
		}
	}

	return nil
}

// directTime returns how long messages of some sizes between the GPUs of a domain of tier i take that go straight.
func (m *Machine) directTime(
	ctx context.Context, i int, in []int32, sizes []int64,
) (engine.Time, error) {
	direct, _ := collective.ByName("direct")
	network, _ := m.machine.Domain(i)
	p := &collective.Problem{Call: collective.Call{Kind: collective.AllToAll, Group: in,
		Sizes: sizes}, Network: network}
	s, err := direct.Expand(ctx, p, collective.Options{})
	if err != nil {
		return 0, err
	}
	t, _, err := m.simulate(ctx, []*collective.Schedule{s}, i)
	return t, err
}

// planTime returns how long tier i, which reconfigures, takes for messages of some sizes among some GPUs.
func (m *Machine) planTime(
	ctx context.Context, i, gpus int, k callKey, sizes []int64,
) (engine.Time, error) {
	s := *m.tiers[i].Plans
	s.Seed, s.Fabric.ScaleUp.GPUs, s.Engine.Level, s.Policy.Planners = m.seed, gpus, "cost",
		[]string{m.tiers[i].Planner}
	s.Fabric.ScaleUp.KnownAhead = m.tiers[i].KnownAhead
	s.Workload = input.Workload{IsTraining: true,
		WorkloadKeys: input.WorkloadKeys{Spec: m.spec}}
	x := &s.Workload.Exchange
	x.Message, x.Chunk, x.Sizes = units.Bytes(k.Bytes), m.tiers[i].Chunk, "uniform"
	for j := range sizes {
		if j%gpus == 0 {
			x.Matrix = append(x.Matrix, make([]int, gpus))
		}
		if x.Matrix[j/gpus][j%gpus] = int(sizes[j]); sizes[j] != k.Bytes && j/gpus != j%gpus { // or goes inside
			x.Sizes = input.ListedSizes
		}
	}

	each, err := plans.ExchangeTimes(ctx, &s, k.layers)
	return each[k.exchangeIndex], err
}

// collectiveKinds are the calls that collective algorithms carry out.
var collectiveKinds = map[training.CallKind]collective.Kind{
	training.AllReduce:     collective.AllReduce,
	training.ReduceScatter: collective.ReduceScatter,
	training.AllGather:     collective.AllGather,
}

// simulateCollective is a call of another kind, by all groups of a stage in the first domain of the tier of links that joins
// them.
func (m *Machine) simulateCollective(
	ctx context.Context, groups [][]int32, c training.Call, z *callResult,
) error {
	t := m.JoiningTier(c)
	if t < 0 {
		return fmt.Errorf("no tier of links joins the %d GPUs of a group", len(groups[0]))
	}
	in := slices.DeleteFunc(slices.Clone(groups),
		func(g []int32) bool { return int(slices.Max(g)) >= m.machine.Machine[t].GPUs })
	shortest, failed := engine.Never, error(nil)
	for _, row := range collective.Table {
		if name := m.tiers[t].Collective; name != collective.BestName && name != row.Name {
			continue
		}
		schedules, err := m.expandCalls(ctx, row, c, in, t)
		if errors.Is(err, collective.ErrUnserved) {
			failed = err
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
				z.bytes[i] = bytes[i] * float64(len(groups)) / float64(len(in))
			}
		}
	}

	if z.method == "" {
		return failed
	}
	return nil
}

// expandCalls returns what an algorithm makes of a call by some groups in a domain of tier t.
func (m *Machine) expandCalls(
	ctx context.Context, row collective.Row, c training.Call, groups [][]int32, t int,
) (all []*collective.Schedule, err error) {
	network := m.machine.Direct(m.machine.Domain(t))
	for _, group := range groups {
		p := &collective.Problem{Call: collective.Call{Kind: collectiveKinds[c.Kind],
			Group: group,
			Bytes: c.Bytes}, Network: network}
		if y := m.machine.Systems[t].Torus; y != nil && t == 0 {
			p.Torus = y
		}
		if t > 0 {
			for _, gpu := range group {
				p.Domain = append(p.Domain, int(gpu)/m.machine.Machine[t-1].GPUs)
			}
		}
		s, err := row.Expand(ctx, p,
			collective.Options{Hierarchical: collective.Hierarchical{Domain: 1,
				Inner: "ring", Outer: "ring"}})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}

	return all, nil
}

// UnservedReason returns why the algorithm that the scenario names for the tier of a call does not serve it; nil where it
// does, or none is named.
func (m *Machine) UnservedReason(ctx context.Context, c training.Call) error {
	t := m.JoiningTier(c)
	row, err := collective.ByName(m.tiers[t].Collective)
	if err != nil || c.Kind == training.AllToAll { // which is best of all, or direct
		return nil
	}
	if _, err := m.expandCalls(ctx, row, c, m.spec.Groups(c, 0, 0)[:1], t); errors.Is(err,
		collective.ErrUnserved) {
		return err
	}
	return nil
}

// simulate returns how long schedules take that begin together in a domain of tier t, and the bytes that each tier
// carries. As fluid, transfers arrive by the latency of their route later.
func (m *Machine) simulate(
	ctx context.Context, schedules []*collective.Schedule, t int,
) (engine.Time, []float64, error) {
	network, first := m.machine.Domain(t)
	var flows []engine.Flow
	for _, s := range schedules {
		routed, _ := s.FlowsOnPaths()
		flows = append(flows, routed...) // of groups that share no GPU
	}

	paths, err := routing.RouteTiers(ctx, m.machine, t, network, first, flows, m.seed, nil)
	if err != nil {
		return 0, nil, err
	}
	var pinned, sendOrder []int32
	schedules = slices.Clone(schedules)
	for i, s := range schedules {
		s = s.Balance(flows, paths)
		schedules[i] = s
		stay := slices.Repeat([]int32{-1}, len(s.Group))
		pinned, sendOrder = append(append(pinned, s.Links()...), stay...),
			append(append(sendOrder, s.Ranks()...), stay...)
	}

	buildGraph := func(latencies []engine.Time) (*engine.Graph, error) {
		g := &engine.Graph{MessageOverhead: m.tiers[t].MessageOverhead}
		for _, s := range schedules {
			a := collective.AppendOptions{LinksKeepOrder: m.packet > 0}
			if latencies != nil {
				a.Latencies = latencies[len(g.Tasks):]
			}
			s.Append(g, a)
		}
		return g, g.Freeze()
	}

	g, err := buildGraph(nil)
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
	bytes, latencies := make([]float64, len(m.tiers)), make([]engine.Time, len(g.Tasks))
	for i := range g.Tasks {
		uses := r.Of(int32(i))
		for _, u := range uses {
			latencies[i] += network.Links[u.Resource].Latency
		}
		if len(uses) > 0 {
			bytes[slices.IndexFunc(first,
				func(f int) bool { return f > int(uses[0].Resource) })-1] += float64(g.Tasks[i].Bytes)
		}
	}

	level := "flow"
	if m.packet > 0 {
		level = "packet"
		for i := range network.Links {
			network.Links[i].Channels = int32(paths.Channels())
		}
	}

	d := composition.NewPathDecision(network, ends, paths, int32(m.packet),
		packet.Options{Seed: m.seed, TaskRank: sendOrder})
	d.ArrivalDelays = func(*engine.Graph) []engine.Time { return latencies }
	out, err := composition.Simulate(ctx, level,
		&composition.Job{Graph: g, WithArrivalDelays: buildGraph}, d)
	if err != nil {
		return 0, nil, err
	}
	return out.Trace.Makespan, bytes, nil
}

// JoiningTier returns the tier that carries a call of a stage, or -1 if no tier does. All tiers whose
// domains part a group carry an all-to-all; the outermost of them is returned. Another call is
// carried by the innermost tier of links that joins each group. A tier that reconfigures carries
// synchronisation among the copies in a stage, as an exchange, if no tier of links does.
func (m *Machine) JoiningTier(c training.Call) int {
	joins := func(all bool) (t int) {
		for _, g := range m.spec.Groups(c, 0, 0) {
			t = max(t, m.machine.JoiningTier(all, g...))
		}
		return t
	}
	t := joins(c.Kind == training.AllToAll)
	if t == len(m.tiers) && c.WithinStage {
		t = joins(true)
	}
	if t == len(m.tiers) {
		return -1
	}
	return t
}
