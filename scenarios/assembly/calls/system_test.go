package calls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/trace"
	"sim/workloads/training"
)

// errBroken is an error other than collective.ErrUnserved.
var errBroken = errors.New("broken")

// fakeSystem is a system with a given result: the end of the work, an error, or a
// rejection.
type fakeSystem struct {
	end      float64
	err      error
	unserved bool
	limits   *[]float64 // receives the limit of each call of Decide
}

func (f *fakeSystem) Reference() map[string]float64 { return map[string]float64{"comm_exposed_s": 2} }

func (f *fakeSystem) Begin(context.Context, *assembly.Outcome) error { return nil }

// Decide returns no result if the end is later than the limit. A result that ends at 7 s
// fails in Finish.
func (f *fakeSystem) Decide(_ context.Context, policy string, _ int, limit float64) (*assembly.PolicyResult, error) {
	*f.limits = append(*f.limits, limit)
	switch {
	case f.err != nil:
		return nil, f.err
	case f.unserved:
		return assembly.RejectedResult(policy, "no room", func() schema.Diagnostic { return schema.Diagnostic{} }), nil
	case f.end > limit:
		return nil, nil
	}
	a := &assembly.PolicyResult{Row: result.Row{Policy: policy, Metrics: map[string]float64{"completion_s": f.end, "comm_exposed_s": 3, "nct": 9}, Labels: map[string]string{}}}
	a.Finish = func(context.Context) error {
		a.Row.Labels["finished"] = policy
		if f.end == 7 {
			return errBroken
		}
		return nil
	}
	return a, nil
}

// TestBestAlgorithm compares the selected algorithm with the minimum over all algorithms,
// if policies are compared and if algorithms are. Systems serve the call, reject it or
// fail at random.
func TestBestAlgorithm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for round := range 400 {
		outcome := map[string]fakeSystem{}
		var limits []float64
		refusal := map[string]bool{} // algorithms that Build refuses
		broken, want, name := false, math.Inf(1), ""
		failures := 1 + 20*rng.IntN(2)
		for _, row := range collective.Table {
			f := fakeSystem{end: float64(1 + rng.IntN(12)), limits: &limits}
			switch rng.IntN(4 * failures) {
			case 0:
				f.unserved = true
			case 1:
				refusal[row.Name] = true
			case 2:
				f.err = errBroken
			}
			outcome[row.Name] = f
			if served := !f.unserved && !refusal[row.Name]; f.err != nil && !refusal[row.Name] {
				broken = true
			} else if served && f.end < want {
				want, name = f.end, row.Name
			}
		}
		s := &Scenario{Name: "s", Call: &Call{Call: collective.Call{Kind: collective.AllReduce, Bytes: 600}, Algorithm: collective.BestName}, Ranks: 3}
		as := collective.BestName
		if round%2 == 0 {
			s.Policy, s.Algorithm = "p", ""
		} else {
			as = "p"
		}
		s.Build = func(_ context.Context, algorithm string) (assembly.System, error) {
			if refusal[algorithm] {
				return nil, fmt.Errorf("%w: not %s", collective.ErrUnserved, algorithm)
			}
			f := outcome[algorithm]
			return &f, nil
		}
		s.LowerBound = func(context.Context) (collective.LowerBound, error) {
			return collective.LowerBound{Seconds: 0.5, Reason: "x"}, nil
		}
		z, err := NewSystem(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		a, err := assembly.Decide(t.Context(), z, as, 1)
		if broken || want == 7 {
			if !errors.Is(err, errBroken) {
				t.Errorf("round %d: an algorithm fails, the error is %v", round, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			if a.Rejection == nil || a.Row.Labels["unserved"] == "" {
				t.Errorf("round %d: nothing serves, %v answers", round, a)
			}
			continue
		}
		row, m := a.Row, a.Row.Metrics
		if m["completion_s"] != want || row.Labels["algorithm"] != name || row.Policy != as || row.Labels["finished"] != "p" {
			t.Errorf("round %d: %s ends at %v s, want %s at %v s; %+v", round, row.Labels["algorithm"], m["completion_s"], name, want, row)
		}
		if m["bound_completion_s"] != 0.5 || math.Abs(m["gap"]-(want/0.5-1)) > 1e-12 || m["algorithm_bytes_per_s"] != 600/want {
			t.Errorf("round %d: metrics %v", round, m)
		}
		for i := 1; i < len(limits); i++ {
			if limits[i] > limits[i-1] || limits[i] < want {
				t.Errorf("round %d: limits %v, the best ends at %v", round, limits, want)
			}
		}
	}
}

// TestNamedAlgorithm checks that a call with a named algorithm is expanded only by this
// algorithm. If the algorithm does not serve it, the result has the reason. All other
// errors are returned.
func TestNamedAlgorithm(t *testing.T) {
	var built []string
	var limits []float64
	failing := map[string]error{"tree": fmt.Errorf("%w: 3 ranks", collective.ErrUnserved), "direct": errBroken}
	s := &Scenario{Name: "s", Call: &Call{Call: collective.Call{Kind: collective.AllToAll, Bytes: 600}, Algorithm: "ring"}, Ranks: 3}
	s.Build = func(_ context.Context, algorithm string) (assembly.System, error) {
		built = append(built, algorithm)
		return &fakeSystem{end: 2, limits: &limits}, failing[algorithm]
	}
	s.LowerBound = func(context.Context) (collective.LowerBound, error) { return collective.LowerBound{}, nil }
	z, err := NewSystem(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"a", "b"} {
		a, err := assembly.Decide(t.Context(), z, policy, 1)
		if err != nil {
			t.Fatal(err)
		}
		row := a.Row
		if _, named := row.Labels["algorithm"]; named || row.Policy != policy || row.Metrics["algorithm_bytes_per_s"] != 600 || row.Bounds != nil {
			t.Errorf("%s: %+v", policy, row)
		}
	}
	if !slices.Equal(built, []string{"ring"}) {
		t.Errorf("built %v for two routers, want ring once", built)
	}
	if r := z.Reference(); r["ranks"] != 3 || r["bound_completion_s"] != 0 {
		t.Errorf("reference %v", r)
	}
	s.Policy, built = "p", nil
	if z, err = NewSystem(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if a, err := assembly.Decide(t.Context(), z, "tree", 1); err != nil {
		t.Error(err)
	} else if why := a.Row.Labels["unserved"]; a.Rejection == nil || why != "3 ranks" {
		t.Errorf("tree answers, or does not for %q", why)
	}
	if _, err := assembly.Decide(t.Context(), z, "direct", 1); !errors.Is(err, errBroken) {
		t.Errorf("direct: %v", err)
	}
	if _, err := z.(*callSystem).Work(t.Context(), "direct"); !errors.Is(err, errBroken) {
		t.Errorf("work of direct: %v", err)
	}
	var faults schema.Diagnostics
	if _, err := z.(*callSystem).Work(t.Context(), "tree"); !errors.As(err, &faults) || faults[0].Problem != "3 ranks" {
		t.Errorf("work of tree: %v", err)
	}
	if _, err := z.(*callSystem).Work(t.Context(), collective.BestName); err == nil {
		t.Error("the work of the best algorithm is known")
	}
	s.LowerBound = func(context.Context) (collective.LowerBound, error) { return collective.LowerBound{}, errBroken }
	if _, err := NewSystem(t.Context(), s); !errors.Is(err, errBroken) {
		t.Errorf("without a bound: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s.LowerBound = func(context.Context) (collective.LowerBound, error) { return collective.LowerBound{}, nil }
	if _, err := NewSystem(ended, s); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
}

// TestAddBound checks the gap against its definition. It is 0 within rounding errors, and
// negative if the completion time is below the bound.
func TestAddBound(t *testing.T) {
	for _, c := range []struct{ end, bound, gap float64 }{{3, 2, 0.5}, {2, 2, 0}, {2 * (1 - 1e-7), 2, 0}, {1, 2, -0.5}} {
		row := result.Row{Metrics: map[string]float64{"completion_s": c.end}, Labels: map[string]string{}, Bounds: &result.Bounds{}}
		addBound(&row, collective.LowerBound{Seconds: c.bound, Reason: "x"})
		if row.Metrics["gap"] != c.gap || row.Metrics["bound_completion_s"] != c.bound || row.Bounds == nil || row.Bounds.Proofs[0].Bound != c.bound {
			t.Errorf("end %v, bound %v: %+v", c.end, c.bound, row)
		}
	}
	row := result.Row{Metrics: map[string]float64{"completion_s": 1}, Labels: map[string]string{}, Bounds: &result.Bounds{}}
	if addBound(&row, collective.LowerBound{}); row.Bounds != nil || len(row.Labels) > 0 || len(row.Metrics) != 2 {
		t.Errorf("without a bound: %+v", row)
	}
}

// smallSpec returns a step with calls in all dimensions but context.
func smallSpec(t *testing.T) *training.Spec {
	t.Helper()
	a, ok := training.Model("mixtral-8x22b")
	if !ok {
		t.Fatal("no such model")
	}
	return &training.Spec{
		Arch: a, Sequence: 4096, Microbatch: 1, EP: 2, ETP: 1, Chunks: 1, TP: 2, PP: 2, GPUs: 8, Microbatches: 2,
		Choices: training.Choices{
			EffectiveTFLOPS: 200, BackwardRatio: 2, AttentionFLOPs: "causal", RouterFLOPs: "all-layers",
			ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2, SequenceParallel: true, Ring: "bidirectional",
		},
	}
}

// TestAlgorithmSearch uses systems whose end is a sum over dimensions. The search must
// then find the minimum of each dimension. Algorithms that do not serve are skipped, and
// errors are returned.
func TestAlgorithmSearch(t *testing.T) {
	spec := smallSpec(t)
	usedDims := map[training.Phase]bool{}
	for _, c := range spec.StepCalls() {
		usedDims[c.Dim] = true
	}
	if len(usedDims) < 2 {
		t.Fatalf("the step has calls of %d dimensions", len(usedDims))
	}
	rng := rand.New(rand.NewPCG(6, 6))
	for round := range 100 {
		part := map[string]float64{} // part of the end, by dimension and algorithm; -1 if not served
		for _, d := range training.Dims {
			for _, row := range collective.Table {
				if part[d.String()+row.Name] = float64(8 + rng.IntN(40)); rng.IntN(4) == 0 && row.Name != DefaultAlgorithm {
					part[d.String()+row.Name] = -1
				}
			}
		}
		fails := round%10 == 9
		var limits []float64
		built := 0
		build := func(_ context.Context, by Algorithms) (assembly.System, error) {
			f := &fakeSystem{limits: &limits}
			built++
			for _, d := range training.Dims {
				if !usedDims[d] {
					continue
				}
				p := part[d.String()+by.ForDim(d)]
				if p < 0 && rng.IntN(2) == 0 {
					return nil, fmt.Errorf("%w: no", collective.ErrUnserved)
				}
				f.unserved = f.unserved || p < 0
				f.end += p
			}
			if fails && built >= 5 {
				return nil, errBroken
			}
			return f, nil
		}
		b, err := NewAlgorithmSearch(t.Context(), spec, collective.BestName, build)
		if err != nil {
			t.Fatal(err)
		}
		a, err := assembly.Decide(t.Context(), b, "p", 1)
		if fails {
			if !errors.Is(err, errBroken) {
				t.Errorf("round %d: error %v", round, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for d := range usedDims {
			minEnd := math.Inf(1)
			for _, row := range collective.Table {
				if p := part[d.String()+row.Name]; p >= 0 {
					minEnd = min(minEnd, p)
				}
			}
			want += minEnd
		}
		row := a.Row
		if row.Metrics["completion_s"] != want || row.Bounds != nil || row.Labels["algorithm"] == "" || row.Metrics["nct"] != 1.5 {
			t.Errorf("round %d: ends at %v s, want %v s: %+v", round, row.Metrics["completion_s"], want, row)
		}
	}
	for _, f := range []fakeSystem{{err: errBroken}, {unserved: true}} {
		f.limits = new([]float64)
		b, err := NewAlgorithmSearch(t.Context(), spec, collective.BestName, func(context.Context, Algorithms) (assembly.System, error) { return &f, nil })
		if err != nil {
			t.Fatal(err)
		}
		a, err := assembly.Decide(t.Context(), b, "p", 1)
		if !errors.Is(err, f.err) || f.err != nil && err == nil {
			t.Errorf("the usual algorithms: %v", err)
		}
		if err == nil {
			if a.Rejection == nil || len(*f.limits) != 1 {
				t.Errorf("the usual algorithms do not serve, %d are tried", len(*f.limits))
			}
		}
	}
	if _, err := NewAlgorithmSearch(t.Context(), spec, collective.BestName, func(context.Context, Algorithms) (assembly.System, error) { return nil, errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("no system: %v", err)
	}
}

// TestAlgorithms checks that With changes the algorithm of one dimension only.
func TestAlgorithms(t *testing.T) {
	for _, start := range []Algorithms{"", "direct", "tp=tree", "tp=tree,dp=direct", collective.BestName, "ep=best"} {
		for _, d := range training.Dims {
			with := start.With(d, "x")
			for _, other := range training.Dims {
				want := start.ForDim(other)
				if other == d {
					want = "x"
				}
				if got := with.ForDim(other); got != want {
					t.Errorf("%q with %v=x has %v=%s, want %s", start, d, other, got, want)
				}
			}
			if got := with.With(d, "").ForDim(d); got != DefaultAlgorithm {
				t.Errorf("%q without %v has %s", with, d, got)
			}
			if _, named := start.With(d, "x").namedFor(training.Sync); d != training.Sync && start == "" && named {
				t.Errorf("%v=x names an algorithm for synchronisation", d)
			}
		}
		settled, open := start.SplitBest()
		for _, d := range training.Dims {
			best := start.ForDim(d) == collective.BestName
			if slices.Contains(open, d) != best || settled.ForDim(d) == collective.BestName || !best && settled.ForDim(d) != start.ForDim(d) {
				t.Errorf("%q is settled to %q, open %v", start, settled, open)
			}
		}
	}
	if got := Algorithms("tree").Names(); !slices.Equal(got, []string{"tree"}) {
		t.Errorf("names %v", got)
	}
	if got := Algorithms("tp=tree").Names(); len(got) != len(training.Dims) || !slices.Contains(got, "tree") || !slices.Contains(got, DefaultAlgorithm) {
		t.Errorf("names %v", got)
	}
}

// mesh returns a network of links between all pairs of nodes.
func mesh(nodes int) *engine.Network {
	n := &engine.Network{Nodes: int32(nodes)}
	for a := range int32(nodes) {
		for b := range int32(nodes) {
			if a != b {
				n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: 1e9, Channels: 2})
			}
		}
	}
	return n
}

// TestSchedules checks that an expander creates one schedule per call and group, among
// the nodes of its ranks, by the algorithm of its dimension. Schedules with random sizes
// are not cached.
func TestSchedules(t *testing.T) {
	spec := smallSpec(t)
	e := &Expander{Spec: spec, Network: mesh(8), NodeOfRank: []int32{7, 6, 5, 4, 3, 2, 1, 0}, Expansion: Expansion{Algorithms: "tp=direct"}}
	call := training.Call{Kind: training.AllReduce, Dim: training.Sync, Bytes: 400}
	first, err := e.Schedule(t.Context(), call, []int32{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	call.Position = training.LayerEnd
	if again, err := e.Schedule(t.Context(), call, []int32{0, 1, 2, 3}); err != nil || again != first {
		t.Errorf("the same call has another schedule (%v)", err)
	}
	other, err := e.Schedule(t.Context(), call, []int32{4, 5, 6, 7})
	if err != nil || other == first || !slices.Equal(first.Group, []int32{7, 6, 5, 4}) || !slices.Equal(other.Group, []int32{3, 2, 1, 0}) {
		t.Errorf("groups %v and %v (%v)", first.Group, other.Group, err)
	}
	e.NodeOfRank, e.schedules = nil, nil
	if s, err := e.Schedule(t.Context(), call, []int32{4, 5, 6, 7}); err != nil || !slices.Equal(s.Group, []int32{4, 5, 6, 7}) {
		t.Errorf("group %v (%v)", s.Group, err)
	}
	// Copies in domains of equal size reduce there first.
	domains := []int{0, 0, 1, 1}
	for _, c := range []struct {
		domains []int
		want    string
	}{{nil, DefaultAlgorithm}, {[]int{0, 0, 1, 1}, defaultInDomains}, {[]int{0, 0, 0, 1}, DefaultAlgorithm}, {[]int{0, 1, 2, 3}, DefaultAlgorithm}, {[]int{0, 0, 0, 0}, DefaultAlgorithm}, {[]int{0, 0, 0, 1, 1, 1}, defaultInDomains}} {
		if got := e.algorithm(training.Sync, c.domains); got != c.want {
			t.Errorf("domains %v reduce by %s, want %s", c.domains, got, c.want)
		}
		if got := e.algorithm(training.Tensor, c.domains); got != "direct" {
			t.Errorf("tensor parallelism is by %s", got)
		}
	}
	asked := 0
	e.Domains, e.schedules = func(group []int32) []int { asked++; return domains }, nil
	e.Options.Hierarchical = collective.Hierarchical{Domain: 1, Inner: "ring", Outer: "ring"}
	inDomains, err := e.Schedule(t.Context(), call, []int32{0, 1, 2, 3})
	if err != nil || asked != 1 || len(inDomains.Transfers) == len(first.Transfers) {
		t.Errorf("in domains %d transfers, in a ring %d (%v)", len(inDomains.Transfers), len(first.Transfers), err)
	}
	e.Domains = nil
	spec.ExpertSizes, spec.ExpertExponent = "zipf", 1
	draw := training.Call{Kind: training.AllToAll, Dim: training.Expert, Bytes: 400, Draw: 1}
	a, err := e.Schedule(t.Context(), draw, []int32{0, 1, 2})
	draw.Draw = 2
	b, err2 := e.Schedule(t.Context(), draw, []int32{0, 1, 2})
	if err != nil || err2 != nil || slices.Equal(a.Sizes, b.Sizes) {
		t.Errorf("two draws: %v, %v (%v, %v)", a.Sizes, b.Sizes, err, err2)
	}
	for _, bad := range []training.Call{{Kind: training.AllToAll, Bytes: -1, Draw: 1}, {Kind: training.AllReduce, Bytes: -1}} {
		if _, err := e.Schedule(t.Context(), bad, []int32{0, 1, 2}); err == nil {
			t.Errorf("%+v has a schedule", bad)
		}
	}
}

// TestCheckCalls checks that unserved calls and calls with too many transfers are errors
// that name the keys that cause them.
func TestCheckCalls(t *testing.T) {
	spec := smallSpec(t)
	e := &Expander{Spec: spec, Network: mesh(8), TaskCost: assembly.LinkTask, Expansion: Expansion{Algorithms: "ring"}}
	if keys, err := e.CheckCalls(t.Context()); err != nil {
		t.Errorf("keys %v at fault (%v)", keys, err)
	}
	// Visits cover every call of every group, with the number of times it is made.
	count, want := 0.0, 0.0
	if err := e.VisitCalls(t.Context(), func(_ training.Call, group []int32, times float64, s *collective.Schedule) {
		count += times
		if len(s.Group) != len(group) {
			t.Errorf("a schedule of %d ranks for %d", len(s.Group), len(group))
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range spec.StepCalls() {
		for r := range c.Replicas {
			want += float64(c.Count) * float64(len(spec.Groups(c.Call, r, c.VirtualStage%spec.PP)))
		}
	}
	if count != want || want == 0 {
		t.Errorf("%v calls are visited, want %v", count, want)
	}
	spec.Microbatches = 1 << 30
	if keys, err := e.CheckCalls(t.Context()); err == nil || !slices.Contains(keys, "workload.microbatches") {
		t.Errorf("too many micro-batches: keys %v (%v)", keys, err)
	}
	spec.Microbatches = 2
	refusing := &Expander{Spec: spec, Network: mesh(8), Expansion: Expansion{Algorithms: "torus"}}
	for _, row := range collective.Table { // one that does not serve a mesh without coordinates
		refusing.Algorithms = Algorithms(row.Name)
		refusing.schedules = nil
		if err := refusing.VisitCalls(t.Context(), func(training.Call, []int32, float64, *collective.Schedule) {}); errors.Is(err, collective.ErrUnserved) {
			break
		}
	}
	if keys, err := refusing.CheckCalls(t.Context()); err == nil || len(keys) == 0 || keys[0] != "policy.collective" || strings.Contains(err.Error(), collective.ErrUnserved.Error()) {
		t.Errorf("%s serves all, or keys %v (%v)", refusing.Algorithms, keys, err)
	}
	refusing.Algorithms = "nobody"
	refusing.schedules = nil
	if _, err := refusing.CheckCalls(t.Context()); err == nil {
		t.Error("an algorithm that there is not serves")
	}
	g := &engine.Graph{Tasks: make([]engine.Task, assembly.LinkTask.MaxCount())}
	add := e.Expand(t.Context())
	call := training.Call{Kind: training.AllReduce, Dim: training.Tensor, Bytes: 400}
	if _, err := add(g, call, []int32{0, 1}, []int32{0, 0}); !errors.Is(err, collective.ErrUnserved) {
		t.Errorf("a graph that is full takes more: %v", err)
	}
	if _, err := add(new(engine.Graph), training.Call{Kind: training.AllReduce, Bytes: -1}, []int32{0, 1}, []int32{0, 0}); err == nil {
		t.Error("a call of -1 B is added")
	}
	small := &engine.Graph{}
	small.AddTask(engine.Task{})
	s, err := e.Schedule(t.Context(), call, []int32{0, 1})
	if ends, err2 := add(small, call, []int32{0, 1}, []int32{0, 0}); err != nil || err2 != nil || len(ends) != 2 || len(small.Tasks) != 1+len(s.Transfers)+2 {
		t.Errorf("%d ends, %d tasks (%v, %v)", len(ends), len(small.Tasks), err, err2)
	}
}

// TestTraceSchedules compares the counted tasks of each call of a trace with the tasks of
// its expansion, and the lower bound on its transfers with its schedule. It covers all
// kinds, algorithms and small numbers of ranks.
func TestTraceSchedules(t *testing.T) {
	served := 0
	for _, row := range collective.Table {
		for _, kind := range []trace.Collective{trace.AllReduce, trace.ReduceScatter, trace.AllGather, trace.AllToAll, trace.Broadcast} {
			for n := 2; n <= 5; n++ {
				for _, bytes := range []int64{1, 3, 7, 1000} {
					c := trace.GroupCall{Kind: kind, Bytes: bytes}
					for r := range int32(n) {
						c.Nodes = append(c.Nodes, r)
					}
					e := &Expander{Network: mesh(n), NodeOfRank: c.Nodes, TaskCost: assembly.LinkTask, Expansion: Expansion{Algorithms: Algorithms(row.Name), Options: collective.Options{Hierarchical: collective.Hierarchical{Domain: 1, Inner: "ring", Outer: "ring"}}}}
					b := e.TraceOptions(t.Context(), false)
					count, err := b.Count(c)
					if errors.Is(err, collective.ErrUnserved) {
						continue
					}
					if err != nil {
						t.Fatalf("%s, %v of %d B among %d: %v", row.Name, kind, bytes, n, err)
					}
					g := &engine.Graph{}
					ready := make([]int32, n)
					for i := range ready {
						ready[i] = g.AddTask(engine.Task{})
					}
					ends, err := b.Expand(g, c, ready)
					if err != nil || len(ends) != n || len(g.Tasks)-n != count {
						t.Errorf("%s, %v of %d B among %d: %d tasks, counted %d (%v)", row.Name, kind, bytes, n, len(g.Tasks)-n, count, err)
					}
					if minCount := minTransfers(row.Name, c); minCount > count-n {
						t.Errorf("%s, %v of %d B among %d: at least %d transfers, made %d", row.Name, kind, bytes, n, minCount, count-n)
					} else if minCount > 0 {
						served++
					}
					few := *e
					few.TaskCost.Bytes = assembly.DefaultBudget.Bytes
					if few, err := few.TraceOptions(t.Context(), false).Count(c); err != nil || few <= 1 && count-n > 1 && minTransfers(row.Name, c) > 1 {
						t.Errorf("%s, %v of %d B among %d: %d tasks of at most 1 (%v)", row.Name, kind, bytes, n, few, err)
					}
				}
			}
		}
	}
	if served == 0 {
		t.Error("no call has a lower bound on its transfers")
	}
	for _, bad := range []*Expander{{Network: mesh(3), TaskCost: assembly.LinkTask, Expansion: Expansion{Algorithms: "nobody"}}} {
		b := bad.TraceOptions(t.Context(), false)
		c := trace.GroupCall{Kind: trace.AllReduce, Bytes: 9, Nodes: []int32{0, 1, 2}}
		if _, err := b.Count(c); err == nil {
			t.Error("no algorithm is counted")
		}
		if _, err := b.Expand(new(engine.Graph), c, nil); err == nil {
			t.Error("no algorithm expands")
		}
	}
}

// TestCheckSize checks that a call beyond the memory limit has no schedule, and that the
// error states its number of transfers.
func TestCheckSize(t *testing.T) {
	group := []int32{0, 1, 2, 3}
	p := &collective.Problem{Call: collective.Call{Kind: collective.AllToAll, Bytes: 100, Group: group}, Network: mesh(4)}
	c := New(collective.AllToAll, &Keys{Message: 100, Group: []int{0, 1, 2, 3}}, collective.Options{}).WithAlgorithm("direct")
	c.TransferCost = assembly.LinkTask
	seen := 0
	if err := c.CheckSize(t.Context(), p, func(src, dst int32) { seen++ }); err != nil || seen != 12 {
		t.Errorf("%d of 12 transfers (%v)", seen, err)
	}
	if s, err := c.Expand(t.Context(), p); err != nil || len(s.Transfers) != 12 {
		t.Errorf("%v", err)
	}
	c.TransferCost.Bytes = assembly.DefaultBudget.Bytes / maxSchedulesInMemory / 12
	if err := c.CheckSize(t.Context(), p, nil); err != nil {
		t.Errorf("12 transfers of a 12th of the memory: %v", err)
	}
	for _, fits := range []struct {
		fit  float64
		want string
	}{{11, "is 12 transfers"}, {6, "is 12 transfers"}, {5, "is more than 10 transfers"}} {
		c.TransferCost.Bytes = assembly.DefaultBudget.Bytes / maxSchedulesInMemory / fits.fit
		seen = 0
		err := c.CheckSize(t.Context(), p, func(src, dst int32) { seen++ })
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), fits.want) || seen != int(fits.fit) {
			t.Errorf("12 transfers, where %v fit: %v, %d visited", fits.fit, err, seen)
		}
		if _, err := c.Expand(t.Context(), p); !errors.Is(err, collective.ErrUnserved) {
			t.Errorf("expanded: %v", err)
		}
	}
	c.Algorithm = "nobody"
	if _, err := c.Expand(t.Context(), p); err == nil {
		t.Error("an algorithm that there is not expands")
	}
	if err := c.CheckSize(t.Context(), p, nil); err == nil {
		t.Error("an algorithm that there is not fits")
	}
	if got, want := c.Description(), "all-to-all of 100B among 4 ranks"; got != want {
		t.Errorf("named %q, want %q", got, want)
	}
	if got := UnservedReason(fmt.Errorf("x: %w: y", ErrTooLarge)); got != "x: y" {
		t.Errorf("refused with %q", got)
	}
}
