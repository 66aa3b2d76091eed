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
	const step = "[workload]\nkind = \"training\"\nmodel = \"gpt-7b\"\nsequence = 4096\nmicrobatches = 4\ntp = 2\npp = 4\ngpus = 16\n"
	for name, text := range map[string]string{
		"pods":  step + "[fabric]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = 4\nport_bandwidth = \"400Gbps\"\n[policy]\nallocators = [\"prop-alloc\", \"sqrt-alloc\"]\n",
		"torus": step + "[fabric]\nkind = \"torus\"\ndims = [4, 4]\nlink_rate = \"400Gbps\"\n[engine]\nlevel = \"flow\"\n[policy]\nrouters = [\"dor\"]\n",
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
							t.Fatalf("%s: %s %q carries %d bytes, want bytes if and only if it is a transfer", p.Policy, s.Kind, s.Label, s.Bytes)
						}
						if s.Critical {
							criticalS += s.EndS - s.StartS
						}
					}
				}
				m := o.Document.Rows[i].Metrics
				if end := max(m["makespan_s"], m["completion_s"]); math.Abs(criticalS-end) > 1e-9*end {
					t.Errorf("%s: the critical path takes %g s, want the makespan of %g s", p.Policy, criticalS, end)
				}
			}
		})
	}
}
