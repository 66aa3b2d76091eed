package training_test

import (
	"fmt"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/workloads/training"
)

// smallSpec returns a dense job with stages of four GPUs and two stages per pod.
func smallSpec(schedule string, pp, microbatches, replicas int) training.Spec {
	s := training.Spec{
		Arch: training.Architecture{
			Layers: 24, Hidden: 4096, Vocab: 32000, Attention: "mha", Heads: 32, KVHeads: 32, HeadDim: 128, FFN: 16384,
		},
		Choices: calibrated(150), Sequence: 4096, Microbatch: 1, Microbatches: microbatches,
		TP: 4, PP: pp, EP: 1, ETP: 1, GPUs: 4 * pp * replicas, Schedule: schedule, Chunks: 1,
	}
	if schedule == training.Interleaved || schedule == training.DualPipe {
		s.Chunks = 2
	}
	return s
}

const smallPod = 8

// circuitCounts assigns to each bundle of o a number of circuits from a pattern, in the
// order of pods within a replica. A pair of pods gets the same number in every replica,
// and all links to peer pods get the same number.
func circuitCounts(o *fabric.Optical, podsPerReplica int, pattern []int) []int {
	x := make([]int, len(o.Bundles))
	for i, b := range o.Bundles {
		at := int(b.A) % podsPerReplica
		if b.Peer || o.Pods[b.A].Replica != o.Pods[b.B].Replica {
			at += 3
		}
		x[i] = pattern[at%len(pattern)]
	}
	return x
}

// provision returns the network and routes of g on p with circuits by pattern.
func provision(t *testing.T, p *fabric.Pods, g *engine.Graph, podsPerReplica int, pattern []int) (*engine.Network, *engine.Routes) {
	t.Helper()
	o, err := p.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	n, err := o.Provision(circuitCounts(o, podsPerReplica, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return n, o.Routes
}

// buildWide is build with more ports per pod than any pattern needs.
func buildWide(t *testing.T, s training.Spec, x training.BuildOptions) (*training.Iteration, *fabric.Pods) {
	t.Helper()
	it, p := build(t, s, x, smallPod, 100e9)
	for i := range p.Pods {
		p.Pods[i].Ports = 64
	}
	return it, p
}

var patterns = [][]int{{1}, {2, 3, 1}, {1, 2, 2, 3, 1}, {4, 1}, {8}}

var services = []flow.Service{flow.MaxMin, flow.LevelPriority}

// TestReducedIsFull checks that every transfer between pods starts and ends at the same
// time in the reduced and in the full graph (DELTA, Fig. 3).
func TestReducedIsFull(t *testing.T) {
	for _, schedule := range []string{training.OneFOneB, training.Eager, training.GPipe, training.Interleaved, training.ZBH1, training.ZBH2, training.DualPipe} {
		for _, x := range []training.BuildOptions{{}, {All: true, PerGPU: true}, {All: true}} {
			t.Run(fmt.Sprintf("%v/%+v", schedule, x), func(t *testing.T) {
				s := smallSpec(schedule, 4, 8, 3)
				it, p := buildWide(t, s, x)
				g, origin, err := p.Reduce(it.Graph, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(g.Tasks) >= len(it.Graph.Tasks) || g.EdgeCount() >= it.Graph.EdgeCount() {
					t.Errorf("%d tasks and %d edges became %d and %d", len(it.Graph.Tasks), it.Graph.EdgeCount(), len(g.Tasks), g.EdgeCount())
				}
				for _, pattern := range patterns {
					fn, fr := provision(t, p, it.Graph, 2, pattern)
					n, r := provision(t, p, g, 2, pattern)
					for _, service := range services {
						full, reduced := simulate(t, it.Graph, fn, fr, service), simulate(t, g, n, r, service)
						if full.Makespan != reduced.Makespan {
							t.Fatalf("%v, %v: %v, reduced %v", pattern, service, full.Makespan, reduced.Makespan)
						}
						for id, from := range origin {
							if from >= 0 && g.Tasks[id].Kind == engine.Transfer &&
								(full.Start[from] != reduced.Start[id] || full.End[from] != reduced.End[id]) {
								t.Fatalf("%v, %v: %s from %v to %v, reduced %v to %v", pattern, service, it.Graph.Name(from),
									full.Start[from], full.End[from], reduced.Start[id], reduced.End[id])
							}
						}
					}
				}
			})
		}
	}
}

// TestAggregatedIsPerGPU checks that flows that start together can be one task (DELTA,
// Sec. III-B). Each flow starts and ends with its aggregate, except for rounding of sums
// with different terms.
//
// One replica that stands for more than two has only half of the ring's transfers. Flows
// of one task then meet others at only some of its GPUs. In this case all replicas are
// needed.
func TestAggregatedIsPerGPU(t *testing.T) {
	const ticks = 4
	for _, c := range []struct {
		replicas int
		all      bool
	}{{1, false}, {2, false}, {2, true}, {3, true}, {4, true}} {
		t.Run(fmt.Sprintf("%d replicas/all %v", c.replicas, c.all), func(t *testing.T) {
			s := smallSpec(training.OneFOneB, 4, 6, c.replicas)
			it, p := buildWide(t, s, training.BuildOptions{All: c.all})
			each, q := buildWide(t, s, training.BuildOptions{All: c.all, PerGPU: true})
			aggregate := map[training.TaskMeta]int32{}
			for id, m := range it.Meta {
				aggregate[m] = int32(id)
			}
			for _, pattern := range patterns {
				n, r := provision(t, p, it.Graph, 2, pattern)
				en, er := provision(t, q, each.Graph, 2, pattern)
				for _, service := range services {
					want, got := simulate(t, it.Graph, n, r, service), simulate(t, each.Graph, en, er, service)
					for id, m := range each.Meta {
						m.GPU = -1
						k, ok := aggregate[m]
						if !ok {
							t.Fatalf("%s has no aggregate", each.Graph.Name(int32(id)))
						}
						if difference(got.Start[id], want.Start[k]) > ticks || difference(got.End[id], want.End[k]) > ticks {
							t.Fatalf("%v, %v: %s from %v to %v, as one of all from %v to %v", pattern, service,
								each.Graph.Name(int32(id)), got.Start[id], got.End[id], want.Start[k], want.End[k])
						}
					}
				}
			}
		})
	}
}

// difference returns |a - b|.
func difference(a, b engine.Time) engine.Time { return max(a-b, b-a) }

// TestOneReplicaIsAll checks that one of several identical replicas can stand for all
// (DELTA, Sec. IV-A.1): the makespan and the times of every task are equal. Each replica
// has the same circuits between pods and to its peers on both sides.
func TestOneReplicaIsAll(t *testing.T) {
	for _, replicas := range []int{1, 2, 3, 8} {
		for _, schedule := range []string{training.OneFOneB, training.Interleaved, training.ZBH2, training.DualPipe} {
			for _, split := range []bool{true, false} {
				t.Run(fmt.Sprintf("%d replicas/%v/split %v", replicas, schedule, split), func(t *testing.T) {
					s := smallSpec(schedule, 6, 6, replicas)
					if schedule == training.DualPipe {
						s.Microbatches = 12
					}
					s.Choices.Ring = map[bool]string{true: "bidirectional", false: "unidirectional"}[split]
					one, p := buildWide(t, s, training.BuildOptions{})
					all, q := buildWide(t, s, training.BuildOptions{All: true})
					type key struct { // copies exchange gradients and then parameters, which differ in bytes
						training.TaskMeta
						bytes int64
					}
					counterpart := map[key]int32{}
					for id, m := range one.Meta {
						counterpart[key{m, one.Graph.Tasks[id].Bytes}] = int32(id)
					}
					for _, pattern := range patterns {
						n, r := provision(t, p, one.Graph, 3, pattern)
						an, ar := provision(t, q, all.Graph, 3, pattern)
						for _, service := range services {
							want, got := simulate(t, one.Graph, n, r, service), simulate(t, all.Graph, an, ar, service)
							if want.Makespan != got.Makespan {
								t.Errorf("%v, %v: one replica %v, all %v", pattern, service, want.Makespan, got.Makespan)
							}
							for id, m := range all.Meta {
								if m.Phase == training.Barrier {
									continue
								}
								m.Replica, m.ToPrevious = 0, false
								if k := counterpart[key{m, all.Graph.Tasks[id].Bytes}]; got.Start[id] != want.Start[k] || got.End[id] != want.End[k] {
									t.Fatalf("%v, %v: %s from %v to %v, in one replica %v to %v", pattern, service,
										all.Graph.Name(int32(id)), got.Start[id], got.End[id], want.Start[k], want.End[k])
								}
							}
						}
					}
				})
			}
		}
	}
}

// TestPortsOfOneReplicaAreAll checks that the ports of one replica times the number of
// replicas are the ports of all.
func TestPortsOfOneReplicaAreAll(t *testing.T) {
	for _, replicas := range []int{1, 2, 3, 8} {
		s := smallSpec(training.OneFOneB, 6, 6, replicas)
		ports := map[bool]int{}
		for _, all := range []bool{false, true} {
			it, p := buildWide(t, s, training.BuildOptions{All: all})
			o, err := p.Connect(it.Graph)
			if err != nil {
				t.Fatal(err)
			}
			for _, used := range o.Ports(circuitCounts(o, 3, []int{2, 3, 0, 4, 1, 2})) {
				ports[all] += used * o.Copies
			}
		}
		if ports[true] != ports[false] || ports[true] == 0 {
			t.Errorf("%d replicas: %d ports by one, %d by all", replicas, ports[false], ports[true])
		}
	}
}

// TestSlowReplicaDelaysAll checks that all replicas synchronise a stage when the slowest
// is ready, and that earlier tasks of the other replicas are not delayed.
func TestSlowReplicaDelaysAll(t *testing.T) {
	for _, replicas := range []int{2, 3, 8} {
		s := smallSpec(training.OneFOneB, 4, 8, replicas)
		scale := make([]float64, replicas)
		for r := range scale {
			scale[r] = 1
		}
		even, p := buildWide(t, s, training.BuildOptions{All: true, ComputeScale: scale})
		scale[1] = 1.1
		slow, q := buildWide(t, s, training.BuildOptions{All: true, ComputeScale: scale})
		n, r := provision(t, p, even.Graph, 2, []int{3, 2})
		sn, sr := provision(t, q, slow.Graph, 2, []int{3, 2})
		for _, service := range services {
			want, got := simulate(t, even.Graph, n, r, service), simulate(t, slow.Graph, sn, sr, service)
			if got.Makespan <= want.Makespan {
				t.Errorf("%d replicas: %v with a slow one, %v without", replicas, got.Makespan, want.Makespan)
			}
			syncs := 0
			for id, m := range slow.Meta {
				if m.Phase == training.Sync {
					syncs++
					last := engine.Time(0)
					for _, ready := range slow.GradientsReady {
						last = max(last, got.End[ready[m.Stage][0]])
					}
					if got.Start[id] != last || got.End[slow.GradientsReady[1][m.Stage][0]] != last {
						t.Errorf("%s starts at %v, the slowest is ready at %v", slow.Graph.Name(int32(id)), got.Start[id], last)
					}
				}
				if m.Phase == training.Forward && m.Replica != 1 && got.Start[id] != want.Start[id] {
					t.Errorf("%s starts at %v, without the slow replica at %v", slow.Graph.Name(int32(id)), got.Start[id], want.Start[id])
				}
			}
			if halves := 1 + min(1, replicas-2); syncs != s.PP*replicas*halves {
				t.Errorf("%d replicas: %d sync transfers", replicas, syncs)
			}
		}
	}
}

// TestTaskCounts compares the number of tasks with DELTA's footnote 3: 2 (PP - 1) x
// micro-batches PP tasks and PP DP tasks per replica under 1F1B. The reduced graph keeps
// the tasks between pods.
func TestTaskCounts(t *testing.T) {
	for _, model := range append([]string{"gpt-7b"}, training.ModelNames()[:4]...) {
		s, perPod := table1(t, model)
		it, p := build(t, s, training.BuildOptions{}, perPod, 400e9)
		count := func(g *engine.Graph, origin func(id int32) int32) (pipeline map[[2]int32]int, sync int) {
			pipeline = map[[2]int32]int{}
			for id := range int32(len(g.Tasks)) {
				from := origin(id)
				if g.Tasks[id].Kind != engine.Transfer {
					continue
				}
				switch m := it.Meta[from]; m.Phase {
				case training.PipelineForward, training.PipelineBackward:
					pipeline[[2]int32{m.Stage, m.ToStage}]++
				case training.Sync:
					sync++
				}
			}
			return pipeline, sync
		}
		full, syncs := count(it.Graph, func(id int32) int32 { return id })
		if len(full) != 2*(s.PP-1) || syncs != s.PP {
			t.Errorf("%s: %d directed boundaries, %d DP tasks", model, len(full), syncs)
		}
		g, origin, err := p.Reduce(it.Graph, nil)
		if err != nil {
			t.Fatal(err)
		}
		reduced, syncs := count(g, func(id int32) int32 { return origin[id] })
		if pods := len(p.Pods); len(reduced) != 2*(pods-1) || syncs != s.PP {
			t.Errorf("%s: %d directed boundaries between %d pods, %d DP tasks", model, len(reduced), pods, syncs)
		}
		for boundary, n := range full {
			if n != s.Microbatches {
				t.Errorf("%s: %d tasks over boundary %v", model, n, boundary)
			}
			if k, ok := reduced[boundary]; ok && k != n {
				t.Errorf("%s: %d of %d tasks kept at boundary %v", model, k, n, boundary)
			}
		}
	}
}

// TestOneReplicaOfTableI is TestOneReplicaIsAll for the paper's workloads, reduced to 24
// micro-batches.
func TestOneReplicaOfTableI(t *testing.T) {
	for _, model := range training.ModelNames()[:4] {
		s, perPod := table1(t, model)
		s.Microbatches = 24
		for _, pattern := range [][]int{{2, 3, 1, 5, 4, 3}, {4, 4, 2, 6, 4, 5}} {
			var makespan [2][2]engine.Time
			for k, x := range []training.BuildOptions{{}, {All: true}} {
				it, p := build(t, s, x, perPod, 400e9)
				n, r := provision(t, p, it.Graph, s.PP*s.StageGPUs()/perPod, pattern)
				for i, service := range services {
					makespan[k][i] = simulate(t, it.Graph, n, r, service).Makespan
				}
			}
			if makespan[0] != makespan[1] {
				t.Errorf("%s, %v: one replica %v, all %v", model, pattern, makespan[0], makespan[1])
			}
		}
	}
}

// TestHalfRing checks that one replica cannot stand for more than two if every flow is a
// task, because it contains only one direction of the ring.
func TestHalfRing(t *testing.T) {
	for d, want := range map[int]bool{2: true, 3: false} {
		_, err := training.Build(smallSpec(training.OneFOneB, 4, 8, d), training.BuildOptions{PerGPU: true})
		if (err == nil) != want {
			t.Errorf("%d replicas: %v", d, err)
		}
	}
}
