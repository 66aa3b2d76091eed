// This file describes workloads that a single file implements as programs of ranks. To
// add one, add a row to programs.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"
	"fmt"
	"strings"

	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/schema"
)

// programRow is a row of programs: a kind of workload that a single file implements. It
// defines the computes and collective calls of each rank, independent of the hardware.
type programRow struct {
	name string             // value of workload.kind
	doc  string             // one sentence for sim list and the reference
	keys string             // description of the table of keys
	new  func() rankProgram // creates a program with zero keys
}

// rankProgram is the work of ranks together with its keys.
type rankProgram interface {
	calls.Work
	// Spec returns a pointer to the struct whose fields are the keys of [workload].
	Spec() any
	// SizeKeys returns the keys that determine the size of the work.
	SizeKeys() []string
}

// programs are the workloads of ranks with collective calls, other than training and
// traces.
var programs = []programRow{{
	name: "recommendation",
	doc:  "One training step of a recommendation model: lookups, exchanges of embeddings and of their gradients, dense networks and the reduction of their gradients.",
	keys: "What is trained, on how many samples.",
	new:  func() rankProgram { return new(recommendation) },
}}

// program returns the program of a row, which the workload creates on first use.
func (w *Workload) program(row int) rankProgram {
	for i := len(w.Programs); i <= row; i++ {
		w.Programs = append(w.Programs, programs[i].new())
	}
	return w.Programs[row]
}

// rankProgram returns the program of the workload's kind, or nil.
func (w *Workload) rankProgram() rankProgram {
	for i := range programs {
		if programs[i].name == w.Kind {
			return w.program(i)
		}
	}
	return nil
}

// rankWork returns the work of the ranks of s, each on a GPU of its own. It returns nil if
// the workload has no ranks.
func (s *Scenario) rankWork() calls.Work {
	if k := s.workload(); k != nil && k.rankWork != nil {
		return k.rankWork(s)
	}
	return nil
}

// programKinds describes the rows of programs as kinds.
func programKinds() (all []*kind) {
	for i, row := range programs {
		all = append(all, &kind{
			name: row.name, rankWork: func(s *Scenario) calls.Work { return s.Workload.program(i) },
			forms: []*form{{
				doc:              row.doc,
				acceptedCarriers: []carrier{linkCarrier, circuitCarrier},
				checkOnPods:      checkPodProgram,
				parts: func(s *Scenario) []schema.Part {
					w := &s.Workload
					return []schema.Part{
						{
							Path: "workload",
							Doc:  row.keys,
							Specs: []any{
								w.program(i).Spec(),
								schema.RetaggedSpec{Spec: &w.TrafficPacket, Tags: trainingPacketTags},
							},
						},
					}
				},

				// A program has no dimensions of parallelism whose algorithms could be
				// searched.
				check: func(c *checker) {
					_, searched := calls.Algorithms(c.s.Policy.Calls.Collective).SplitBest()
					c.conflictIf(c.OK("policy.collective") && len(searched) > 0,
						"policy.collective",
						"%q is searched per dimension of parallelism of a training step, but this workload has no dimensions; name an algorithm",
						c.s.Policy.Calls.Collective)
				},
			}},
		})
	}
	return all
}

// checkPodProgram checks a program of ranks against the pods. Each pod needs a port per
// other pod that holds ranks.
func checkPodProgram(c *checker) {
	s, f, w := c.s, &c.s.Fabric, c.s.Workload.rankProgram()
	gpus := strings.Join(w.RankKeys(), " ")
	if !c.OK("fabric.pods", "fabric.gpus_per_pod") ||
		!c.OK("workload.message", "workload.matrix", "workload.matrix_file") || !c.requireSeveralPods() {
		return
	}
	if !c.OK("workload", "fabric", "engine", "policy") {
		return
	}

	const mayFold = false
	// A cell of a sweep records a failure in its row instead.
	if w.Check(c.Reader, mayFold); len(c.Diagnostics) > 0 || c.isCell {
		return
	}

	// The ranks fill the first pods. All-to-alls connect each pod to all others.
	others := (w.Ranks() - 1) / f.GPUsPerPod // other pods with ranks
	slowest := min(f.PortBandwidth, f.NICBandwidth)
	bytes, transfers, _ := w.Size()
	switch long := 8 * bytes / float64(slowest); {
	case w.Ranks() > f.Pods*f.GPUsPerPod:
		c.conflictf(gpus+" fabric.pods fabric.gpus_per_pod",
			"%d GPUs do not fit %d pods of %d; choose more pods, or fewer GPUs",
			w.Ranks(), f.Pods, f.GPUsPerPod)
	case others == 0:
		c.conflictf(gpus+" fabric.gpus_per_pod",
			"no traffic crosses pods: all %d GPUs are in one of %d; choose smaller pods, or more GPUs",
			w.Ranks(), f.GPUsPerPod)
	case f.PortsPerPod < others:
		c.conflictf("fabric.ports_per_pod fabric.pods "+gpus,
			"U_p = %d is too small to connect: each pod exchanges data with %d others; give at least %d ports",
			f.PortsPerPod, others, others)
	case long > maxIterationSeconds:
		c.Conflict(append(w.SizeKeys(), "fabric.port_bandwidth", "fabric.nic_bandwidth"),
			fmt.Sprintf("the step may take %.3g s, which is too long to simulate", long),
			fmt.Sprintf("stay within %d s", maxIterationSeconds))
	case s.Engine.Level == "packet":
		packets := bytes/float64(max(1, s.Workload.Packet)) + transfers
		c.checkPodPackets(slowest, hopsPerPacket*packets)
	}

	if len(c.Diagnostics) > 0 {
		return
	}

	keys, err := w.CheckCalls(context.Background(), s.circuitsView().GPUExpander())
	assembly.ReportConflict(c, keys, err)
}
