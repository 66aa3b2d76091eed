// This file describes the workload "training", and implements calls.Work for a training
// step in which every GPU is a rank.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"

	"sim/engine"
	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// trainingPacketTags are the tags of TrafficPacket for a training step.
var trainingPacketTags = schema.Tags{
	"Packet": `key:"packet" doc:"size of a packet on the wire" default:"64KB" when:"engine.level=packet & unplanned"`,
}

// trainingKind describes the workload "training". Its second form is for scale-up domains,
// which simulate the all-to-alls of experts. The third is for pods that the ranks fill in order.
func trainingKind() *kind {
	return &kind{
		name: "training", keyGroups: []string{"exchange", "step-exchange"}, hasMappings: true,
		rankWork: func(s *Scenario) calls.Work { return (*stepWork)(&s.Workload.Spec) },
		forms: []*form{
			{
				doc:              "One training step of a model under pipeline, tensor, expert and data parallelism.",
				acceptedCarriers: []carrier{linkCarrier, circuitCarrier},
				isTraining:       true,
				parts:            trainingParts,
				prepare:          prepareTraining,
				check:            checkTraining,
			},
			{
				doc:              "A training step of a model with experts, whose all-to-alls stay inside scale-up domains of the GPUs of a stage.",
				acceptedCarriers: []carrier{planCarrier}, isTraining: true, check: checkTraining,
				parts: func(s *Scenario) []schema.Part {
					return append(
						trainingParts(s),
						schema.Part{
							Path:  "workload.experts",
							Doc:   "The all-to-alls to and from experts.",
							Specs: []any{&s.Workload.Exchange.Messages},
						},
					)
				},
				prepare: func(c *checker) {
					prepareTraining(c)
					prepareExchange(c)
				},
			},
			{
				doc:              "A training step whose ranks fill the hosts of a cluster in order, or by a mapping.",
				acceptedCarriers: []carrier{circuitCarrier},
				onlyFabric:       clusterKindName,
				isTraining:       true,
				parts:            trainingParts,
				prepare:          prepareTraining,
				check:            checkTraining,
				checkOnPods:      checkPodTraining,
			},
		},
	}
}

// trainingParts are the tables of the workload "training".
func trainingParts(s *Scenario) []schema.Part {
	return []schema.Part{{
		Path: "workload",
		Doc:  "The model and its parallelism. Set `model`, or describe another model in `[workload.architecture]`.",
		Specs: []any{
			&s.Workload.Spec,
			schema.RetaggedSpec{Spec: &s.Workload.TrafficPacket, Tags: trainingPacketTags},
		},
		Defaults: func(int) []any {
			d := s.Workload.Spec.Defaults()
			d.Speed.Sustained = 1
			if s.Profile != nil {
				d.Speed.Variation, d.Speed.Sustained = s.Profile.Step.Variation, s.Profile.Step.Sustained
			}
			return []any{d}
		},
	}}
}

// stepWork is a training step in which every GPU is a rank of its own. It implements
// calls.Work.
type stepWork training.Spec

// spec returns the step with the methods of training.Spec.
func (w *stepWork) spec() *training.Spec { return (*training.Spec)(w) }

// Description returns the title and the model in one line.
func (w *stepWork) Description(title string) string { return w.spec().Words(title) }

// Ranks returns the number of GPUs of all replicas.
func (w *stepWork) Ranks() int { return w.GPUs }

// RankKeys returns the keys that determine the number of ranks.
func (w *stepWork) RankKeys() []string {
	return []string{
		"workload.gpus", "workload.model", "workload.architecture.experts", "workload.tp", "workload.cp",
		"workload.pp", "workload.ep", "workload.etp",
	}
}

// Dims returns the dimensions of parallelism, by which mappings place ranks.
func (w *stepWork) Dims() []mapping.Dim { return circuits.StepDims(w.spec()) }

// SizeRemedy completes the remedy "choose fewer GPUs ..." if the step is too large.
func (w *stepWork) SizeRemedy() string { return "or fewer micro-batches" }

// Size returns the bytes and transfers of all GPUs: activations and gradients between
// stages, and either the calls in the graph or the synchronisation of gradients.
func (w *stepWork) Size() (bytes, transfers, slack float64) {
	s := w.spec()
	virtual := s.VirtualStages()
	gpus := float64(s.StageGPUs() * s.Replicas()) // of one stage, in all replicas

	// Each micro-batch passes all borders of virtual stages, forward and backward.
	if s.PP > 1 {
		borders := float64(virtual/s.ModelCopies() - 1)
		transfers = 2 * float64(s.Microbatches) * borders * gpus
		bytes = transfers * float64(s.PipelineBytes())
	}

	// The calls in the graph include the synchronisation of gradients.
	if s.CallsInGraph() {
		for _, c := range s.StepCalls() {
			callBytes, callTransfers := minCallBytes(s, c)
			count := float64(c.Replicas * c.Count)
			bytes, transfers = bytes+count*callBytes, transfers+count*callTransfers
		}
		return bytes, transfers, 1
	}

	for v := range virtual {
		s.StageMessages(v, func(each int64, times, parts int) {
			bytes += float64(times) * float64(each) * gpus
			transfers += float64(times*parts) * gpus
		})
	}
	return bytes, transfers, 1
}

// minCallBytes returns the minimum number of bytes that any algorithm sends in a call of a
// stage, and the number of transfers of a ring.
func minCallBytes(s *training.Spec, c training.StepCall) (bytes, transfers float64) {
	const replica = 0 // represents all
	groups := s.Groups(c.Call, replica, c.VirtualStage%s.PP)
	n := float64(len(groups[0])) // ranks per group

	// A reduce-scatter or all-gather sends all but one of n parts to or from each rank. An
	// all-reduce is one of each, and an all-to-all has parts per pair of ranks.
	groupBytes, transferCount := (n-1)*float64(c.Bytes), n*(n-1)
	switch c.Kind {
	case training.AllReduce:
		groupBytes, transferCount = 2*groupBytes, 2*transferCount
	case training.AllToAll:
		groupBytes *= n
		if c.NodeGPUs > 0 {
			perNode := float64(c.NodeGPUs)
			groupBytes = n * ((perNode-1)*float64(c.Bytes) + (n/perNode-1)*float64(c.BetweenBytes))
		}
	}
	return float64(len(groups)) * groupBytes, float64(len(groups)) * transferCount
}

// Tasks estimates the tasks of the task graph, and of its folded form. The latter is 0 if the
// step cannot be folded.
func (w *stepWork) Tasks() (all, folded float64) {
	t := w.spec()
	_, transfers, _ := w.Size()
	passes := 2 * float64(t.Microbatches*t.PP*t.Chunks*t.Replicas())
	if t.CanFold() {
		folded = calls.FoldedTasks(t)
	}
	return passes + transfers, folded
}

// Check rejects a step without transfers, and a task graph that does not fit into memory.
func (w *stepWork) Check(c *schema.Reader, mayFold bool) {
	const gpus = "workload.gpus"
	t := w.spec()
	switch {
	case t.PP == 1 && t.Replicas() == 1 && !t.CallsInGraph():
		c.Conflict([]string{gpus, "workload.pp"},
			"nothing is sent: there is one stage and one replica",
			"raise gpus or pp")
	case t.GPUs == 1:
		c.Conflict([]string{gpus}, "nothing is sent: there is one GPU", "raise gpus")
	default:
		keys := []string{
			"workload.pieces", "workload.microbatches", "workload.pp", gpus, "workload.virtual_stages",
		}
		tasks, folded := w.Tasks()
		if mayFold && folded > 0 {
			tasks = min(tasks, folded)
		}
		cost := assembly.LinkTask.Scale(tasks)
		assembly.ReportConflict(c, keys, cost.CheckLimits("passes of stages and transfers between GPUs", "fewer"))
	}
}

// CheckCalls checks the algorithms of the collective calls in the graph.
func (w *stepWork) CheckCalls(ctx context.Context, e *calls.Expander) (keys []string, err error) {
	if !w.spec().CallsInGraph() {
		return nil, nil
	}
	e.Spec = w.spec()
	return e.CheckCalls(ctx)
}

// Build returns the task graph. Transfers outside calls get the nodes of their ranks;
// transfers in calls have them already.
func (w *stepWork) Build(ctx context.Context, e *calls.Expander) (*training.Iteration, [][2]int, error) {
	e.Spec = w.spec()
	x := training.BuildOptions{All: true, PerGPU: true}
	x.Folded = e.Quotient != nil
	switch {
	case !e.Spec.CallsInGraph():
	case x.Folded:
		x.Expand = e.ExpandFolded(ctx, e.Quotient)
	default:
		x.Expand = e.Expand(ctx)
	}
	it, err := training.Build(*w.spec(), x)
	if err != nil {
		return nil, nil, err
	}
	if e.Quotient != nil {
		e.FoldHops(e.Quotient, it)
		return it, nil, nil
	}
	for i := range it.Graph.Tasks {
		if t := &it.Graph.Tasks[i]; t.Kind == engine.Transfer && !it.Meta[i].InCall {
			t.Src, t.Dst = e.NodeOfRank[t.Src], e.NodeOfRank[t.Dst]
		}
	}
	return it, nil, nil
}
