package training_test

import (
	"fmt"
	"math"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"
)

// shardedSpec returns a job of one stage and two replicas of one GPU, with passes of four
// parts.
func shardedSpec(t *testing.T, sharding string) training.Spec {
	s := training.Spec{
		Arch: mustModel(t, "palm-8b"), Choices: calibrated(127), Sequence: 2048, Microbatch: 1, Microbatches: 3,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 2, Chunks: 1, Sharding: sharding, Prefetch: 1,
	}
	s.Arch.Layers = 4
	return s
}

// TestSharded compares the makespan with a recurrence. A part starts when the previous
// part has ended and its parameters have arrived. Gathers follow one another and start no
// earlier than the end of the part Prefetch+1 before. Scatters follow one another.
// Gathers and scatters share links, so either takes no time here.
func TestSharded(t *testing.T) {
	const parts, within = 4, 1000 // ticks, for rounding of each part
	for _, slow := range []float64{1, 4, 40} {
		for _, prefetch := range []int{0, 1, 3} {
			for _, sharding := range []string{training.ShardGradients, training.ShardParameters} {
				s := shardedSpec(t, sharding)
				s.Choices.EffectiveTFLOPS, s.Prefetch = 127*slow, prefetch
				if sharding == training.ShardParameters {
					s.Choices.GradientBytes = 0
				} else {
					s.Choices.ParameterBytes = 0
				}
				it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true})
				if err != nil {
					t.Fatal(err)
				}
				n, r := mesh(it.Graph, s.GPUs)
				got := simulate(t, it.Graph, n, r, flow.MaxMin).Makespan

				kind := training.ReduceScatter
				if sharding == training.ShardParameters {
					kind = training.AllGather
				}
				one := engine.Graph{}
				one.AddTask(engine.Task{Kind: engine.Transfer, Src: 0, Dst: 1, Flows: 1, Bytes: s.ShardBytes(0, kind)})
				if err := one.Freeze(); err != nil {
					t.Fatal(err)
				}
				on, or := mesh(&one, s.GPUs)
				each := simulate(t, &one, on, or, flow.MaxMin).Makespan
				forward := engine.Time(s.ForwardSeconds(0) / parts * float64(engine.Second))
				var end, moved engine.Time
				var ends []engine.Time
				for range s.Microbatches {
					for pass := range 2 {
						for range parts {
							d := forward
							if pass == 1 {
								d *= 2
							}
							if sharding == training.ShardParameters {
								if at := len(ends) - 1 - prefetch; at >= 0 {
									moved = max(moved, ends[at])
								}
								moved += each
								end = max(end, moved) + d
							} else if end += d; pass == 1 {
								moved = max(moved, end) + each
							}
							ends = append(ends, end)
						}
					}
				}
				if want := max(end, moved); got-want > within || want-got > within {
					t.Errorf("%s, %gx, %d ahead: %v, want %v", sharding, slow, prefetch, got, want)
				}
			}
		}
	}
}

// TestShardBytes compares the bytes that a GPU sends with Rajbhandari et al. 2020, Sec.
// 7. It sends (d-1)/d of its gradients once per step, or once per micro-batch if they are
// sharded, and (d-1)/d of its parameters once per step, or twice per micro-batch if they
// are sharded.
func TestShardBytes(t *testing.T) {
	for _, d := range []int{2, 3, 8} {
		for sharding, times := range map[string][2]float64{
			training.ShardNothing: {2, 0}, training.ShardOptimizer: {1, 1}, training.ShardGradients: {3, 1}, training.ShardParameters: {3, 6},
		} {
			s := shardedSpec(t, sharding)
			s.GPUs = d
			it, err := training.Build(s, training.BuildOptions{All: true})
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for i, m := range it.Meta {
				if m.Phase == training.Sync {
					sum += float64(it.Graph.Tasks[i].Bytes)
				}
			}
			c := s.Choices
			want := (times[0]*float64(c.GradientBytes) + times[1]*float64(c.ParameterBytes)) * s.Parameters(0) * float64(d-1)
			if got := sum; got < want*(1-1e-6) || got > want*(1+1e-6) {
				t.Errorf("%s of %d: %g bytes, want %g", sharding, d, got, want)
			}
		}
	}
}

// TestShardedReplicaIsAll is TestOneReplicaIsAll for sharded replicas.
func TestShardedReplicaIsAll(t *testing.T) {
	for _, replicas := range []int{1, 2, 3} {
		for _, sharding := range []string{training.ShardNothing, training.ShardGradients, training.ShardParameters} {
			for _, schedule := range []string{training.OneFOneB, training.Interleaved, training.ZBH1} {
				t.Run(fmt.Sprintf("%d replicas/%s/%s", replicas, sharding, schedule), func(t *testing.T) {
					s := smallSpec(schedule, 4, 8, replicas)
					s.Arch.Layers, s.Sharding, s.Prefetch = 8, sharding, 1
					one, p := buildWide(t, s, training.BuildOptions{})
					all, q := buildWide(t, s, training.BuildOptions{All: true})
					for _, pattern := range patterns {
						n, r := provision(t, p, one.Graph, 2, pattern)
						an, ar := provision(t, q, all.Graph, 2, pattern)
						for _, service := range services {
							want, got := simulate(t, one.Graph, n, r, service), simulate(t, all.Graph, an, ar, service)
							if want.Makespan != got.Makespan {
								t.Errorf("%v, %v: one replica %v, all %v", pattern, service, want.Makespan, got.Makespan)
							}
						}
					}
				})
			}
		}
	}
}

// TestHybridSharding compares a step of four GPUs in two groups that share parameters with a hand
// computation: after the first gather, two passes compute, gradients are scattered in each group,
// and each shard is reduced over both groups. The second gather is hidden behind the forward pass.
func TestHybridSharding(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(300), Sequence: 4096, Microbatch: 1, Microbatches: 1,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 4, Chunks: 1, PassPieces: 1, Collectives: "graph",
		Sharding: training.ShardParameters, Prefetch: 1, ShardGroup: 2,
	}
	var calls []training.StepCall
	want := engine.Time(3 * s.ForwardSeconds(0) * float64(engine.Second))
	for _, c := range s.StepCalls() {
		calls = append(calls, c)
		want += directTime(t, s, c.Call)
	}
	groups := map[training.ReplicaSpan]string{training.ShardGroups: "[[0 1] [2 3]]", training.ShardCopies: "[[0 2] [1 3]]"}
	for _, c := range calls {
		if got := fmt.Sprint(s.Groups(c.Call, 0, 0)); got != groups[c.Span] {
			t.Errorf("%v: got groups %s, want %s", c, got, groups[c.Span])
		}
	}
	parameters := s.Parameters(0)
	if got, want := float64(calls[2].Bytes), 4*parameters/2; len(calls) != 3 || math.Abs(got-want) > 1 {
		t.Errorf("got %v, want a gather, a scatter and a reduction of %g bytes", calls, want)
	}
	it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
	if err != nil {
		t.Fatal(err)
	}
	n, r := mesh(it.Graph, s.GPUs)
	if got := simulate(t, it.Graph, n, r, flow.MaxMin).Makespan; difference(got, want) > 1000 {
		t.Errorf("got %v, want %v", got, want)
	}
}
