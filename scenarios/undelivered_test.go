package scenarios

import (
	"strings"
	"testing"
)

// TestUndeliveredPackets checks runs in which packets are dropped or still in flight at the
// end. They have no completion time and no ratio to level flow, and labels with the reason.
// Otherwise losing packets would seem fast.
func TestUndeliveredPackets(t *testing.T) {
	for _, c := range []struct {
		why string
		set []string
	}{
		{"dropped", []string{"fabric.queue=20p", "policy.routers=[\"shortest\"]"}},
		{"on their way at engine.until", []string{"engine.until=1us"}},
		{"", nil},
	} {
		row := runText(t, smallTorus, append(c.set, "workload.source=greedy")...).Document.Rows[0]
		checkConservation(t, c.why, &row)
		for _, name := range []string{"completion_s", "over_fluid"} {
			_, has := row.Metrics[name]
			if has != (c.why == "") || !strings.Contains(row.Labels[name], c.why) {
				t.Errorf("reason %q: got %s = %g with label %q, want the metric only if all "+
					"packets are delivered", c.why, name, row.Metrics[name], row.Labels[name])
			}
		}
	}
}

// TestDeadlock checks that a deadlock of one router affects only its own simulation. Its row
// keeps the link loads and has a label with the reason. The other rows equal runs without that
// router.
func TestDeadlock(t *testing.T) {
	text := strings.Replace(smallTorus, `["dor"]`, `["ecmp", "dor", "shortest"]`, 1)
	set := []string{"fabric.queue=credit", "workload.source=greedy", "workload.message=16KB"}
	o := runText(t, text, set...)
	if len(o.Document.Rows) != 3 || len(o.PolicyErrors) != 1 {
		t.Fatalf("got %d rows and errors %v, want 3 rows and 1 error",
			len(o.Document.Rows), o.PolicyErrors)
	}
	ecmp := o.Document.Rows[0]
	if why := o.PolicyErrors[0].Error(); !strings.HasPrefix(why, "ecmp: packet: deadlock") ||
		"ecmp: "+ecmp.Labels["failed"] != why {
		t.Errorf("got error %q and label %q, want a deadlock of ecmp in both",
			why, ecmp.Labels["failed"])
	}
	if _, ok := ecmp.Metrics["completion_s"]; ok || ecmp.Metrics["max_link_load"] == 0 {
		t.Errorf("ecmp: got %v, want link loads without a completion time", ecmp.Metrics)
	}
	alone := runText(t, text, append(set, `policy.routers=["dor"]`)...).Document.Rows[0]
	got := o.Document.Rows[1].Metrics["completion_s"]
	if got == 0 || got != alone.Metrics["completion_s"] {
		t.Errorf("dor completes after %g s in the comparison, want %g s as in a run of its own",
			got, alone.Metrics["completion_s"])
	}
}
