package paths

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/fabric/electrical"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/schema"
	"sim/workloads/collective"
	"sim/workloads/training"
)

// training builds a training step whose ranks are the nodes that are up, in order: GPU after GPU, stage after stage,
// replica after replica. Nodes beyond these have nothing to do.
func (r *routed) training(int64) (*load, error) {
	it, err := training.Build(r.s.Workload.Spec, training.Extent{All: true, PerGPU: true})
	if err != nil {
		return nil, err
	}
	var place []int32 // by rank
	for node := range r.Whole.Nodes {
		if r.Down == nil || !r.Down[node] {
			place = append(place, node)
		}
	}
	if len(it.Nodes) > len(place) {
		return nil, fmt.Errorf("%d GPUs on %d nodes that are up", len(it.Nodes), len(place))
	}
	for i := range it.Graph.Tasks {
		if t := &it.Graph.Tasks[i]; t.Kind == engine.Transfer {
			t.Src, t.Dst = place[t.Src], place[t.Dst]
		}
	}
	t, err := collective.OfGraph("training", int(r.Whole.Nodes), it.Graph)
	if err != nil {
		return nil, err
	}
	r.it = it
	return &load{flows: t.Flows, demand: t.Demand(), graph: it.Graph, parts: []part{{end: int32(len(t.Flows)), traffic: t}}}, nil
}

// compare finds what an iteration is compared with: the ideal fabric between the nodes of all links, whether they work
// or not.
func (r *routed) compare(ctx context.Context) (err error) {
	if r.it == nil || r.s.Engine.Level == "static" {
		return nil
	}
	n, routes := electrical.Between(r.Whole, r.load.graph)
	r.Ideal, err = assembly.NewIdeal(ctx, r.load.graph, n, routes)
	return err
}

// end names the metric of when the work ends.
func (r *routed) end() string {
	if r.it == nil {
		return "completion_s"
	}
	return "makespan_s"
}

// transferBytes returns the bytes of all transfers of a training step on GPUs of their own, and how many there are.
func transferBytes(s *training.Spec) (bytes, transfers float64) {
	gpus := float64(s.StageGPUs() * s.Replicas())
	virtual := s.PP * s.Chunks
	if hops := 2 * float64(s.Microbatches) * float64(virtual-1) * gpus; s.PP > 1 {
		bytes, transfers = hops*float64(s.PipelineBytes()), hops
	}
	if s.Replicas() > 1 {
		for v := range virtual {
			bytes += float64(s.SyncBytes(v)) * gpus
			transfers += gpus
		}
	}
	return bytes, transfers
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
		c.Clash(where, fmt.Sprintf("%d GPUs do not fit %d nodes", t.GPUs, up), "choose a larger fabric, or fewer GPUs")
	case t.PP == 1 && t.Replicas() == 1:
		c.Clash([]string{gpus, "workload.pp"}, "nothing is sent: there is one stage and one replica", "raise gpus or pp")
	case s.Fabric.FailAt > 0:
		c.Clash([]string{"fabric.fail_at"}, "a training step waits for what is lost", "let it fail from the start")
	default:
		_, transfers := transferBytes(t)
		passes := 2 * float64(t.Microbatches*t.PP*t.Chunks*t.Replicas())
		if n := passes + transfers; n > circuits.MaxTasks {
			c.Clash([]string{"workload.microbatches", "workload.pp", gpus, "workload.virtual_stages"}, fmt.Sprintf("the job makes some %.2g passes of stages and transfers between GPUs", n),
				fmt.Sprintf("stay within %d", circuits.MaxTasks))
		}
	}
}
