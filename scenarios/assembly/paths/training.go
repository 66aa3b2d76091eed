package paths

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/schema"
	"sim/workloads/collective"
	"sim/workloads/training"
)

// stepLoad builds a training step whose ranks are on nodes that are up, as the mapping has it. Nodes beyond these have
// nothing to do.
func stepLoad(ctx context.Context, r *routed, _ int64) (*load, error) {
	it, err := r.place(ctx)
	if err != nil {
		return nil, err
	}
	t, err := collective.OfGraph(r.s.Workload.Kind, int(r.Whole.Nodes), it.Graph)
	if err != nil && (r.s.Workload.Trace == nil || !errors.Is(err, collective.ErrTraffic)) { // a trace may only compute
		return nil, err
	}
	r.it = it
	return &load{flows: t.Flows, demand: t.Demand(), graph: it.Graph, parts: []part{{end: int32(len(t.Flows)), traffic: t}}}, nil
}

// step builds a training step whose ranks are on some nodes.
func (r *routed) step(ctx context.Context, place []int32) (*training.Iteration, error) {
	if r.s.Workload.Trace != nil {
		return r.traced(ctx, place)
	}
	x := training.Extent{All: true, PerGPU: true}
	if r.s.Workload.Collectives == "graph" {
		x.Expand = r.stepCalls(place).Expand(ctx)
	}
	it, err := training.Build(r.s.Workload.Spec, x)
	if err != nil {
		return nil, err
	}
	for i := range it.Graph.Tasks {
		if t := &it.Graph.Tasks[i]; t.Kind == engine.Transfer && !it.Meta[i].Called {
			t.Src, t.Dst = place[t.Src], place[t.Dst]
		}
	}
	return it, nil
}

// lengthen lengthens the passes of a training step by the calls inside inner tiers.
func (r *routed) lengthen(ctx context.Context) (err error) {
	if r.it == nil {
		return nil
	}
	if r.placed != nil {
		if _, err := r.s.Longer.Lengthen(ctx, r.placed.usual); err != nil {
			return assembly.OrEnded(ctx, err)
		}
	}
	r.base, err = r.s.Longer.Lengthen(ctx, r.it)
	return assembly.OrEnded(ctx, err)
}

// compare finds what an iteration is compared with: the ideal fabric between the nodes of all links, whether they work
// or not, with ranks in the usual order, so that all mappings are compared with one.
func (r *routed) compare(ctx context.Context) (err error) {
	if r.it == nil || r.s.Engine.Level == "static" {
		return nil
	}
	g := r.load.graph
	if r.placed != nil {
		g = r.placed.usual.Graph
	}
	n, routes := r.Between(g)
	r.Ideal, err = composition.NewIdeal(ctx, g, n, routes)
	return err
}

// end names the metric of when the work ends.
func (r *routed) end() string {
	if r.it == nil {
		return "completion_s"
	}
	return "makespan_s"
}

// TransferBytes returns the bytes of all transfers of a training step on GPUs of their own, and how many there are: of
// collective calls the least bytes that any algorithm sends, and the transfers of a ring.
func TransferBytes(s *training.Spec) (bytes, transfers float64) {
	gpus := float64(s.StageGPUs() * s.Replicas())
	virtual := s.Virtual()
	if hops := 2 * float64(s.Microbatches) * float64(virtual/s.Copies()-1) * gpus; s.PP > 1 {
		bytes, transfers = hops*float64(s.PipelineBytes()), hops
	}
	if s.Collectives == "graph" {
		for _, c := range s.StepCalls() {
			b, n := callBytes(s, c)
			bytes, transfers = bytes+float64(c.Replicas*c.Times)*b, transfers+float64(c.Replicas*c.Times)*n
		}
		return bytes, transfers
	}
	for v := range virtual {
		parts := float64(s.SyncPieces(v))
		if s.Replicas() > 1 {
			bytes += float64(s.SyncBytes(v)) * gpus
			transfers += parts * gpus
		}
		for _, kind := range []training.CallKind{training.AllGather, training.ReduceScatter} {
			_, times := s.ShardCalls(v, kind)
			bytes += float64(times) * float64(s.ShardBytes(v, kind)) * gpus
			transfers += float64(times) * gpus
		}
		if s.Copies() > 1 {
			bytes += float64(s.CopyBytes(v, s.Choices.GradientBytes)+s.CopyBytes(v, s.Choices.ParameterBytes)) * gpus
			transfers += 2 * parts * gpus
		}
	}
	return bytes, transfers
}

// callBytes is TransferBytes of a call of a stage.
func callBytes(s *training.Spec, c training.StepCall) (bytes, transfers float64) {
	groups := s.Groups(c.Call, 0, c.Virtual%s.PP)
	n := float64(len(groups[0]))
	each, of := (n-1)*float64(c.Bytes), n*(n-1)
	switch c.Kind {
	case training.AllReduce:
		each, of = 2*each, 2*of
	case training.AllToAll:
		each *= n
	}
	return float64(len(groups)) * each, float64(len(groups)) * of
}

// checkTraining holds a training step against the nodes of a fabric, of which so many are up.
func checkTraining(c *schema.Reader, s *Scenario, up int) {
	const gpus = "workload.gpus"
	where := []string{gpus, "fabric.dims", "fabric.nodes", "fabric.edges", "fabric.file", "fabric.failed_chips", "fabric.failed_machines"}
	if !c.OK("workload.model", "workload.architecture.experts", "workload.tp", "workload.cp", "workload.pp", "workload.ep", "workload.etp", gpus) {
		return
	}
	t := &s.Workload.Spec
	full := t.PP * t.StageGPUs()
	switch {
	case t.GPUs%full != 0: // it was told
	case t.GPUs > up:
		nodes := fmt.Sprintf("%d nodes", up)
		if s.Domain > 0 {
			nodes = fmt.Sprintf("the %d of domains of %d without a node that is down", up, s.Domain)
		}
		c.Clash(where, fmt.Sprintf("%d GPUs do not fit %s", t.GPUs, nodes), "choose a larger fabric, or fewer GPUs")
	case t.PP == 1 && t.Replicas() == 1 && t.Collectives != "graph":
		c.Clash([]string{gpus, "workload.pp"}, "nothing is sent: there is one stage and one replica", "raise gpus or pp")
	case t.GPUs == 1:
		c.Clash([]string{gpus}, "nothing is sent: there is one GPU", "raise gpus")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "what links carry when they fail is lost, nothing sends it again, and what waits for it in a training step never begins", "let it fail from the start")
	default:
		_, transfers := TransferBytes(t)
		passes := 2 * float64(t.Microbatches*t.PP*t.Chunks*t.Replicas())
		if n := passes + transfers; n > assembly.MaxTasks {
			c.Clash([]string{"workload.pieces", "workload.microbatches", "workload.pp", gpus, "workload.virtual_stages"}, fmt.Sprintf("the job makes some %.2g passes of stages and transfers between GPUs, which %s", n, assembly.TaskCost(n)),
				fmt.Sprintf("stay within %d", assembly.MaxTasks))
		}
	}
}
