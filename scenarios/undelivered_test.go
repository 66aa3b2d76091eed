package scenarios

import (
	"strings"
	"testing"
)

// TestNotAllDelivered: where packets are dropped, or on their way at the end, there is no completion, and labels say
// so; losing packets must not look fast.
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
				t.Errorf("%q: %s = %g, %q", c.why, name, row.Metrics[name], row.Labels[name])
			}
		}
	}
}

// TestHalted: a deadlock costs the router that has it its simulation and no other router anything.
func TestDeadlock(t *testing.T) {
	text := strings.Replace(smallTorus, `["dor"]`, `["ecmp", "dor", "shortest"]`, 1)
	set := []string{"fabric.queue=credit", "workload.source=greedy", "workload.message=16KB"}
	o := runText(t, text, set...)
	if len(o.Document.Rows) != 3 || len(o.PolicyErrors) != 1 {
		t.Fatalf("%d rows, failed %v", len(o.Document.Rows), o.PolicyErrors)
	}
	ecmp := o.Document.Rows[0]
	if why := o.PolicyErrors[0].Error(); !strings.HasPrefix(why, "ecmp: packet: deadlock") || "ecmp: "+ecmp.Labels["failed"] != why {
		t.Errorf("failed %q, label %q", why, ecmp.Labels["failed"])
	}
	if _, ok := ecmp.Metrics["completion_s"]; ok || ecmp.Metrics["max_link_load"] == 0 {
		t.Errorf("ecmp: %v", ecmp.Metrics)
	}
	alone := runText(t, text, append(set, `policy.routers=["dor"]`)...).Document.Rows[0]
	if got := o.Document.Rows[1].Metrics["completion_s"]; got == 0 || got != alone.Metrics["completion_s"] {
		t.Errorf("dor ends after %g s beside others, %g s alone", got, alone.Metrics["completion_s"])
	}
}
