package topology_test

import (
	"testing"

	"sim/policies/topology"
)

// BenchmarkSolve measures complete decisions, with proofs and minimum ports, on Table I's
// workloads and with 512 micro-batches.
func BenchmarkSolve(b *testing.B) {
	for _, policy := range []string{"delta-joint", "delta-topo"} {
		run := func(name string, j *job) {
			b.Run(policy+"/"+name, func(b *testing.B) {
				evaluations := int64(0)
				for b.Loop() {
					p, err := topology.NewProblem(j.problem.Graph, j.problem.Fabric)
					if err != nil {
						b.Fatal(err)
					}
					evaluations += choose(b, &job{problem: p}, policy, defaultOptions()).Evaluations
				}
				b.ReportMetric(float64(evaluations)/float64(b.N), "evaluations/op")
			})
		}
		for _, m := range models {
			run(m, setting{m, 400e9, 4096}.job(b))
		}
		for _, m := range []string{"megatron-462b", "deepseek-671b"} {
			s, perPod := trainingSpec(b, m, 4096)
			s.Microbatches = 512
			run(m+"/512-microbatches", prepare(b, s, perPod, 400e9))
		}
	}
}
