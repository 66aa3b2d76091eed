package plots

import (
	"fmt"
	"strings"

	"sim/scenarios/result"
)

// manyPolicies returns a run with 40 policies, long names and undefined values.
func manyPolicies() (*result.Document, *result.Detail) {
	s := small
	s.policies = nil
	for i := range 40 {
		s.policies = append(s.policies, fmt.Sprintf("policy-%d%s", i+1, strings.Repeat("-with-a-long-name", i%3)))
	}
	doc, d := synthetic(s)
	delete(doc.Rows[3].Metrics, "nct")
	doc.Rows[3].Labels = map[string]string{"nct": "the ideal fabric exposes no communication, so there is nothing to compare with, " + strings.Repeat("whatever ", 30)}
	delete(doc.Rows[7].Metrics, "nct")
	return doc, d
}

// nearIdeal returns a run with values close to 1, below 1, and undefined.
func nearIdeal() (*result.Document, *result.Detail) {
	s := small
	s.policies = []string{"one", "two", "three-with-a-rather-long-name-for-a-policy", "four"}
	doc, d := synthetic(s)
	for i, v := range []float64{1.00012, 1, 0.99997} {
		doc.Rows[i].Metrics["nct"] = v
		delete(doc.Rows[i].Metrics, "bound_makespan_s")
	}
	delete(doc.Rows[3].Metrics, "nct")
	doc.Rows[3].Labels = map[string]string{"nct": "the ideal fabric exposes no communication"}
	return doc, d
}

// withTopology returns a small run with topology t under the first policy, and nearly the same
// topology under the second.
func withTopology(t *result.Topology) (*result.Document, *result.Detail) {
	doc, d := synthetic(small)
	d.Policies[0].Topology = t
	u := *t
	u.Pairs = append([]result.Pair{}, t.Pairs...)
	u.Pairs[0].Circuits += 3
	d.Policies[1].Topology = &u
	for i := range doc.Rows {
		delete(doc.Rows[i].Metrics, "ports") // the value of another topology
	}
	return doc, d
}

func meshTopology(pods, replicas int) *result.Topology {
	t := &result.Topology{}
	for r := range replicas {
		for p := range pods {
			t.Pods = append(t.Pods, result.PodPorts{Name: fmt.Sprintf("pod %d", len(t.Pods)), Replica: r, Used: 10 + p, Total: 32})
			for q := range p {
				if replicas == 1 || q == p-1 {
					t.Pairs = append(t.Pairs, result.Pair{A: r*pods + q, B: r*pods + p, Circuits: (p*q)%7 + 1})
				}
			}
			if replicas == 1 {
				t.Pairs = append(t.Pairs, result.Pair{A: p, B: p, DP: true, Circuits: 8, Copies: 1 + p%2})
			} else if r > 0 {
				t.Pairs = append(t.Pairs, result.Pair{A: (r-1)*pods + p, B: r*pods + p, Circuits: 9})
			}
		}
	}
	return t
}

// makeRun creates a run for the tests.
type makeRun func() (*result.Document, *result.Detail)

// runs are runs of the sizes and shapes that figures must support.
var runs = map[string]makeRun{
	"small":  func() (*result.Document, *result.Detail) { return synthetic(small) },
	"large":  func() (*result.Document, *result.Detail) { return synthetic(large) },
	"many":   manyPolicies,
	"near":   nearIdeal,
	"ring":   func() (*result.Document, *result.Detail) { return withTopology(meshTopology(6, 1)) },
	"matrix": func() (*result.Document, *result.Detail) { return withTopology(meshTopology(20, 1)) },
	"grid":   func() (*result.Document, *result.Detail) { return withTopology(meshTopology(4, 3)) },
	"chain":  func() (*result.Document, *result.Detail) { return withTopology(meshTopology(16, 2)) },
	"one": func() (*result.Document, *result.Detail) {
		return synthetic(runShape{stages: 1, perPod: 1, micro: 1, forward: 1e-6, transfer: 1e-7, sync: 100,
			nic: 1e9, circuit: 1e9, replicas: 1, policies: []string{"only"}})
	},
	"tiny": func() (*result.Document, *result.Detail) {
		s := small
		s.stages, s.micro = 2, 2
		return synthetic(s)
	},
	"plans": planRun("ring", "three", "many", "bare", "kautz", "steps", "turns"),
	"wide": func() (*result.Document, *result.Detail) {
		s := large
		s.stages, s.perPod, s.micro = 64, 2, 80
		return synthetic(s)
	},
}
