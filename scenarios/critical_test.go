package scenarios

import (
	"math"
	"testing"

	"sim/scenarios/result"
)

// TestCriticalSpans checks the spans of timelines that are marked critical. Their durations add
// up to the makespan of a training step, on circuits and on links. Exactly the spans of
// transfers carry bytes.
func TestCriticalSpans(t *testing.T) {
	const step = `[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
`

	for name, text := range map[string]string{
		"pods": step + `[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 4
port_bandwidth = "400Gbps"
[policy]
allocators = ["prop-alloc", "sqrt-alloc"]
`,
		"torus": step + `[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
[engine]
level = "flow"
[policy]
routers = ["dor"]
`,
	} {
		t.Run(name, func(t *testing.T) {
			o := runText(t, text)
			if err := o.Detail.Check(); err != nil {
				t.Fatal(err)
			}
			for i, p := range o.Detail.Policies {
				tracks := append(p.Tracks, p.Nodes...)
				criticalS := 0.0
				for _, track := range tracks {
					for _, s := range track.Spans {
						if (&result.PathStep{Kind: s.Kind}).Transfer() != (s.Bytes > 0) {
							t.Fatalf("%s: %s %q carries %d bytes, want bytes if and only if it "+
								"is a transfer", p.Policy, s.Kind, s.Label, s.Bytes)
						}
						if s.Critical {
							criticalS += s.EndS - s.StartS
						}
					}
				}
				m := o.Document.Rows[i].Metrics
				if end := max(m["makespan_s"], m["completion_s"]); math.Abs(criticalS-end) > 1e-9*end {
					t.Errorf("%s: the critical path takes %g s, want the makespan of %g s",
						p.Policy, criticalS, end)
				}
			}
		})
	}
}
