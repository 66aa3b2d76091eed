// This file describes the workloads that are a single collective call, such as
// "all-reduce". An algorithm (policy.collective) expands the call into transfers. Without
// a named algorithm, the scenario compares several (policy.collectives).
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/assembly/paths"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// callPacketTags are the tags of TrafficPacket for a collective call.
var callPacketTags = schema.Tags{
	"Packet": `key:"packet" doc:"size of a packet on the wire" default:"16KB" when:"engine.level=packet"`,
}

// callKinds describes the workloads that are collective calls. Traffic in which all nodes
// send the same bytes, such as an all-to-all, is a call too if policy.collective or
// policy.collectives names an algorithm.
func callKinds() []*kind {
	var all []*kind
	for _, row := range []struct {
		kind   collective.Kind
		doc    string
		groups []string
	}{
		{collective.AllReduce, "All ranks sum a vector.", []string{"step"}},
		{collective.ReduceScatter, "All ranks sum a vector of which each keeps a part.", []string{"step"}},
		{collective.AllGather, "All ranks gather the parts of a vector.", []string{"step"}},
		{collective.Broadcast, "A rank sends a vector to all others.", []string{"root"}},
		{collective.Reduce, "All ranks sum a vector at one of them.", []string{"root"}},
		{collective.SendReceive, "A rank sends a vector to another.", []string{"root", "peer"}},
	} {
		// The algorithm expands the call on links and pods. Some calls can also be planned
		// on scale-up domains.
		k := &kind{
			name:           row.kind.String(),
			keyGroups:      row.groups,
			usesDimensions: func(s *Scenario) bool { return s.isCall() && len(s.Workload.Call.Along) > 0 },
			forms: []*form{{
				doc:              row.doc,
				acceptedCarriers: []carrier{linkCarrier, circuitCarrier},
				isCall:           true,
				checkOnPods:      checkPodTraffic,
				parts: func(s *Scenario) []schema.Part {
					w := &s.Workload
					return []schema.Part{
						{
							Path: "workload",
							Doc:  "The collective call and its size.",
							Specs: []any{
								&w.Call,
								schema.RetaggedSpec{Spec: &w.TrafficPacket, Tags: callPacketTags},
								&w.TrafficStep,
							},
						},
					}
				},
			}},
		}
		if slices.Contains(plan.Ops, row.kind) {
			k.forms = append(
				k.forms,
				planForm(strings.Replace(row.doc, "ranks", "GPUs", 1), "How much.", func(s *Scenario) []any {
					return []any{
						schema.RetaggedSpec{Spec: &s.Workload.Exchange.MeanMessage, Tags: vectorTags},
					}
				}),
			)
		}

		all = append(all, k)
	}
	return all
}

// callDefaults returns a copy of the keys of [policy] about collectives, with the defaults
// that follow from other keys.
func (s *Scenario) callDefaults() *collective.Keys {
	d := s.Policy.Calls
	if d.Collectives = []string{}; s.comparesAlgorithms() {
		d.Collectives = s.algorithmNames()
	}
	return &d
}

// isCall reports whether the workload of s is a single collective call that an algorithm
// expands into transfers.
func (s *Scenario) isCall() bool {
	f := workloadForm(s)
	p := &s.Policy.Calls
	return f != nil && (f.isCall || f.canBeCall && (p.Collective != "" || len(p.Collectives) > 0))
}

// hasCallsInGraph reports whether the task graph of s contains the transfers of collective
// calls, as training with collectives = "graph" or a trace does.
func (s *Scenario) hasCallsInGraph() bool {
	// Programs and traces always have calls in their graph.
	switch f := workloadForm(s); {
	case f == nil:
		return false
	case f.isTraining:
		return s.Workload.CallsInGraph()
	}
	return s.workload().rankWork != nil
}

// expansion returns how the calls of a training step become transfers. Dimensions whose
// best algorithm is searched use the default algorithm here. The ranks of a program form
// one group, whose synchronisation has no hierarchical default.
func (s *Scenario) expansion() calls.Expansion {
	algorithms, _ := calls.Algorithms(s.Policy.Calls.Collective).SplitBest()
	if s.Workload.rankProgram() != nil {
		algorithms = algorithms.With(training.Sync, algorithms.ForDim(training.Sync))
	}
	return calls.Expansion{Algorithms: algorithms, Options: s.Policy.Calls.Options}
}

// normaliseAlgorithms replaces algorithms that are written as a table of dimensions by a
// text such as "dp=ring,tp=direct", before the keys are read.
func (c *checker) normaliseAlgorithms() {
	policy := schema.Child(c.Root, "policy")
	table, ok := policy["collective"].(map[string]any)
	var parts []string
	for _, dim := range slices.Sorted(maps.Keys(table)) {
		name, isText := table[dim].(string)
		ok = ok && isText
		if ok {
			parts = append(parts, dim+"="+name)
		}
	}

	// Read rejects tables with other values.
	if ok && len(parts) > 0 {
		policy["collective"] = strings.Join(parts, ",")
	}
}

// comparesAlgorithms reports whether s compares algorithms of a collective call.
func (s *Scenario) comparesAlgorithms() bool { return s.isCall() && s.Policy.Calls.Collective == "" }

// peekPolicies sets the keys about collectives that determine which decision the file
// compares, before the keys are read.
func (c *checker) peekPolicies() {
	policy, p := schema.Child(c.Root, "policy"), &c.s.Policy.Calls
	p.Collective, _ = policy["collective"].(string)

	// Only the length of the list matters here.
	if list, ok := policy["collectives"].([]any); ok && len(list) > 0 {
		p.Collectives = []string{""}
	}
}

// collectiveCall returns the collective call of s with the algorithm that policy.collective
// names. It returns nil if the workload is not a call.
func (s *Scenario) collectiveCall() *calls.Call {
	k := s.Workload.Call
	if workloadForm(s).canBeCall {
		k.Message = s.Workload.Message
	}
	kind, err := collective.ParseKind(s.Workload.Kind)
	if err != nil {
		return nil
	}
	c := calls.New(kind, &k, s.Policy.Calls.Options).WithAlgorithm(s.Policy.Calls.Collective)
	c.TransferCost = assembly.LinkTask
	c.MayFold = s.Engine.Level == "flow" && s.Engine.MessageOverhead == 0 && s.Fabric.FailAt == 0
	if s.fabricDecision().policyKey == "allocators" {
		c.TransferCost, c.MayFold = assembly.PodTask, false
	}
	return c
}

// withAlgorithm returns a copy of s that names one algorithm, so that it compares the
// decision of the fabric.
func (s *Scenario) withAlgorithm(name string) *Scenario {
	one := *s
	one.Policy.Calls.Collective, one.Policy.Calls.Collectives = name, nil
	return &one
}

// buildCallSystem is hardware.build for a collective call. Each algorithm expands the call
// into transfers, which a system of the fabric simulates.
func buildCallSystem(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	next := s.fabricDecision()
	p, err := next.callProblem(s)
	if err != nil {
		return nil, err
	}

	// Each algorithm gets a system of its own.
	z := &calls.Scenario{
		Name: s.Name, Call: s.collectiveCall(), Ranks: len(p.Group),
		Build: func(ctx context.Context, algorithm string) (assembly.System, error) {
			return next.build(ctx, s.withAlgorithm(algorithm), workers)
		},
		LowerBound: func(ctx context.Context) (collective.LowerBound, error) { return next.callBound(ctx, s) },
	}
	if s.comparesAlgorithms() {
		z.Policy = (*next.list(&s.Policy))[0]
	}
	return calls.NewSystem(ctx, z)
}

// callErrorKeys lists the keys that can be at fault for a collective.CallError, by its
// field.
var callErrorKeys = map[string][]string{
	"":      append([]string{"workload.group"}, paths.EndpointKeys...),
	"group": {"workload.group", "workload.call_dims"},
	"bytes": {"workload.message"},
	"sizes": {"workload.message"},
	"root":  {"workload.root"},
	"peer":  {"workload.peer"},
}

// checkCall checks a collective call against the nodes of its fabric, and the named
// algorithms against the call. All other keys must be valid.
func checkCall(c *checker) {
	s, p := c.s, &c.s.Policy.Calls
	const one, several, message = "policy.collective", "policy.collectives", "workload.message"
	if !c.OK("workload", "fabric", "policy", one, several, message) ||
		!c.OK("workload.group", "workload.root", "workload.peer") {
		return
	}

	next := s.fabricDecision()

	// Only one decision can have several policies: the algorithm, or the decision of the
	// fabric.
	listed := *next.list(&s.Policy)
	switch {
	case len(calls.Algorithms(p.Collective).Names()) > 1:
		c.conflictf(one,
			`names algorithms per dimension of parallelism, but the workload is a single call; name one, such as "%s"`,
			calls.DefaultAlgorithm)
		return
	case p.Collective != "" && len(p.Collectives) > 0:
		c.conflictf(several+" "+one, "conflicts with policy.collective; keep one of the two")
		return
	case s.comparesAlgorithms() && len(listed) > 1:
		c.conflictf("policy."+next.policyKey+" "+several,
			"%d %s and %d algorithms would be compared; list one of the "+next.policyKey+", or name one algorithm as policy.collective",
			len(listed), next.policyKey, len(p.Collectives))
		return
	}

	// The bound checks the call. Its value is not used, so a cancelled context keeps the
	// computation short.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	problem, err := next.callProblem(s)
	if err == nil {
		_, err = problem.Bound(ended)
	}
	if err != nil {
		keys := []string{"workload.group", "workload.root", "workload.peer", message, "workload.kind"}
		if fault := (*collective.CallError)(nil); errors.As(err, &fault) {
			keys = callErrorKeys[fault.Field]
		}
		assembly.ReportConflict(c, keys, err)
		return
	}

	// Data inside a pod takes no time, so a message must leave its pod.
	d := problem.Domain
	isMessage := problem.Kind == collective.SendReceive
	if d != nil && next.hasDomains && isMessage && d[problem.Root] == d[problem.Peer] {
		c.conflictf("workload.peer workload.root",
			"ranks %d and %d share a pod, in which data takes no time; choose ranks of two pods",
			problem.Root, problem.Peer)
		return
	}
	if !c.isCell {
		checkAlgorithms(c, problem)
	}
}

// maxCountedRanks limits the ranks of calls whose transfers are counted for each of several
// algorithms. The time to count grows with their square: at 256 it takes about 0.1 s.
const maxCountedRanks = 256

// callCost estimates the cost of the call by the algorithm that takes the longest, of the
// algorithms that the scenario compares. It is 0 if no number of transfers is known; see maxCountedRanks.
func (s *Scenario) callCost(ctx context.Context) (Cost, error) {
	next := s.fabricDecision()
	p, err := next.callProblem(s)
	if err != nil || s.Engine.Level == "static" {
		return Cost{}, err
	}

	// The cost of a packet between two nodes.
	var perPacket func(src, dst int32) Cost
	switch {
	case s.Engine.Level != "packet":
	case next.hasDomains:
		perPacket = func(src, dst int32) Cost { return assembly.QueuedHop.Scale(hopsPerPacket) }
	default:
		allLinks := func(int) bool { return true }
		hop, distances := s.pathsView().HopCost(), p.Network.Hops(allLinks)
		perPacket = func(src, dst int32) Cost { return hop.Scale(float64(distances(src)[dst])) }
	}

	worst := Cost{}
	names := s.comparedAlgorithms()
	for _, name := range names {
		call := s.withAlgorithm(name).collectiveCall()
		if len(names) > 1 && len(p.Group) > maxCountedRanks && !call.HasKnownCount(p) {
			continue
		}
		cost, err := call.Cost(ctx, p, int64(s.Workload.Packet), perPacket)
		if ctx.Err() != nil {
			return Cost{}, ctx.Err()
		}
		if err == nil { // the algorithm serves the call
			worst = worst.Max(cost)
		}
	}
	return worst, nil
}

// comparedAlgorithms returns the algorithms that may perform the call: the ones that the
// scenario names, or all if it names none or searches the best one.
func (s *Scenario) comparedAlgorithms() []string {
	p := &s.Policy.Calls
	names := p.Collectives
	if p.Collective != "" {
		names = []string{p.Collective}
	}
	if len(names) == 0 || slices.Contains(names, collective.BestName) {
		return s.algorithmNames()
	}
	return names
}

// algorithmNames returns the names of all choices for policy.collectives. Algorithms that need a
// machine are choices only with one.
func (s *Scenario) algorithmNames() []string {
	return slices.DeleteFunc(slices.Clone(choiceNames("collectives")), func(name string) bool {
		return s.Profile == nil && algorithmNeedsMachine(name)
	})
}

// algorithmNeedsMachine reports whether a policy is an algorithm of calls that needs a machine.
func algorithmNeedsMachine(name string) bool {
	row, err := collective.ByName(name)
	return err == nil && row.NeedsMachine
}

// checkAlgorithms rejects a call that none of its algorithms serves. It also rejects each
// algorithm that the scenario names if it needs more memory, or more ports per pod, than
// available.
func checkAlgorithms(c *checker, problem *collective.Problem) {
	p, key := &c.s.Policy.Calls, "policy.collectives"
	if p.Collective != "" {
		key = "policy.collective"
	}

	// Without a list, or with "best", all algorithms are candidates.
	names := c.s.comparedAlgorithms()
	listed := c.Given(key) && p.Collective != collective.BestName && !slices.Contains(p.Collectives, collective.BestName)

	// One algorithm that serves the call is enough, unless the scenario names several.
	var refused []error
	served := false
	for _, name := range names {
		switch err := checkCallFits(context.Background(), c.s.withAlgorithm(name), problem); {
		case !errors.Is(err, collective.ErrUnserved):
			served = true
		case listed && errors.Is(err, calls.ErrTooLarge), !served:
			refused = append(refused, err)
		}

		if served && !listed {
			return
		}
	}

	// Report algorithms that do not fit, or all algorithms if none serves the call.
	for _, err := range refused {
		problem, want := assembly.SplitError(errors.New(calls.UnservedReason(err)))
		switch {
		case errors.Is(err, errPorts):
			c.conflictf("fabric.ports_per_pod fabric.pods "+key, "%s; %s, or another algorithm", problem, want)
		case errors.Is(err, calls.ErrTooLarge) && p.Chunk > 0:
			c.conflictf("policy.chunk "+key, "%s; %s", problem, want)
		case errors.Is(err, calls.ErrTooLarge) || !served:
			c.conflictf(key, "%s; %s, another algorithm, or %q", problem, want, collective.BestName)
		}
	}
}

// maxSearchedRanks limits the calls for which an algorithm that searches is run during the
// check. The search then takes less than a second.
const maxSearchedRanks = 256

// errPorts is wrapped if an algorithm connects a pod with more pods than it has ports.
var errPorts = fmt.Errorf("%w: too few ports", calls.ErrTooLarge)

// checkCallFits checks the algorithm of s. It fails with collective.ErrUnserved if the
// algorithm does not serve the call p, or if the fabric cannot hold its transfers.
func checkCallFits(ctx context.Context, s *Scenario, p *collective.Problem) error {
	if s.fabricDecision().policyKey != "allocators" {
		// Nearly all algorithms that search decide before their search whether they serve the
		// call. A cancelled context ends the search at once. For the others a small call is
		// searched.
		row, err := collective.ByName(s.Policy.Calls.Collective)
		mustSearch := row.SearchDecides && len(p.Group) <= maxSearchedRanks
		if err == nil && row.Searches && !mustSearch {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			ctx = ended
		}
		return s.collectiveCall().CheckSize(ctx, p, nil)
	}

	// On pods, every pod needs a port per pod with which it exchanges data.
	joined := make(circuits.PodNeighbours, s.Fabric.Pods)
	join := func(src, dst int32) {
		joined.Add(int(src)/s.Fabric.GPUsPerPod, int(dst)/s.Fabric.GPUsPerPod)
	}
	if err := s.collectiveCall().CheckSize(ctx, p, join); err != nil {
		return err
	}

	if pod, n := joined.FirstAbove(s.Fabric.PortsPerPod); n > 0 {
		return fmt.Errorf(
			"%s: %w: pod %d exchanges data with %d pods and has %d ports; want at least %d ports",
			s.Policy.Calls.Collective, errPorts, pod, n, s.Fabric.PortsPerPod, n,
		)
	}
	return nil
}

// podCallProblem returns the collective call among the GPUs of pods. Data inside a pod
// takes no time, so only the network interfaces matter to an algorithm. Pods are the
// domains of hierarchical algorithms.
func podCallProblem(s *Scenario) (*collective.Problem, error) {
	p := &collective.Problem{Call: s.collectiveCall().Call, Network: s.circuitsView().GPUExpander().Network}
	for g := range s.Fabric.Pods * s.Fabric.GPUsPerPod {
		p.Group, p.Domain = append(p.Group, int32(g)), append(p.Domain, g/s.Fabric.GPUsPerPod)
	}
	return p, nil
}

// podCallBound returns a lower bound for a call on pods, for any algorithm and any
// circuits. GPUs of a pod share all data at once, so the bound is the bound of a call among
// pods. Each pod sends and receives at the rate of its ports, or of its network interfaces
// if they are slower. Except for the root, all pods do the same in a call. No topology can
// therefore be faster than one that connects all pairs of pods equally.
func podCallBound(ctx context.Context, s *Scenario) (collective.LowerBound, error) {
	f, whole := &s.Fabric, s.collectiveCall().Call
	pods, gpus := int64(f.Pods), int64(f.GPUsPerPod)
	rate := min(float64(f.PortsPerPod)*float64(f.PortBandwidth), float64(gpus)*float64(f.NICBandwidth))
	p := &collective.Problem{Call: whole, Network: &engine.Network{Nodes: int32(pods)}}
	p.Root, p.Peer, p.Group = whole.Root/f.GPUsPerPod, whole.Peer/f.GPUsPerPod, nil

	// Convert the bytes of a GPU into the bytes of a pod.
	switch whole.Kind {
	case collective.AllToAll:
		p.Bytes *= gpus * gpus // one message per pair of GPUs
	case collective.ReduceScatter, collective.AllGather:
		p.Bytes = p.Bytes / (pods * gpus) * gpus * pods // blocks are rounded down to whole bytes
	case collective.SendReceive:
		if p.Root == p.Peer {
			return collective.LowerBound{}, nil
		}
	}

	// Connect all pairs of pods equally.
	for a := range int32(pods) {
		p.Group = append(p.Group, a)
		for b := range int32(pods) {
			if a != b {
				p.Network.Links = append(
					p.Network.Links,
					engine.Link{From: a, To: b, Rate: rate / float64(pods-1)},
				)
			}
		}
	}

	if p.Bytes == 0 {
		return collective.LowerBound{}, nil
	}

	l, err := p.Bound(ctx)
	l.Reason = "the ports of a pod"
	return l, err
}

// podCallGraph returns the transfers between the GPUs of pods into which the algorithm of s
// expands its call.
func podCallGraph(ctx context.Context, s *Scenario) (*engine.Graph, error) {
	p, err := podCallProblem(s)
	if err != nil {
		return nil, err
	}
	if err := checkCallFits(ctx, s, p); err != nil {
		return nil, err
	}
	schedule, err := s.collectiveCall().Expand(ctx, p)
	if err != nil {
		return nil, err
	}
	g := new(engine.Graph)
	schedule.Append(g, collective.AppendOptions{})
	return g, g.Freeze()
}
