package cli

import (
	"strings"
	"testing"
)

// TestTrialsTable prints policies whose trials stall sometimes or always, and a policy without
// trials.
func TestTrialsTable(t *testing.T) {
	var out strings.Builder
	o := fakeOutcome()
	d := &o.Document
	out.WriteString(formatReport(o, "out"))
	if strings.Contains(strings.ToLower(out.String()), "replay") {
		t.Error("the table of a run without trials speaks of them")
	}
	for i := range 3 {
		m := d.Rows[i].Metrics
		d.Rows[i].Labels["trials"] = "100 plays with compute times varying by 5 %, 1 circuit dark from the start; nominal priorities"
		m["trial_count"] = 100
		m["trial_stalls"] = []float64{0, 3, 100}[i]
		if i == 2 {
			d.Rows[i].Labels["trial_nct_mean"] = "as no play ends: pods that exchange data lose their last circuit"
			continue
		}
		for k, name := range []string{"mean", "p50", "p95", "p99", "max"} {
			m["trial_nct_"+name] = 1.25 + float64(i)/10 + float64(k)/100
		}
		m["trial_makespan_mean_s"], m["trial_makespan_p95_s"] = 3.7+float64(i)/10, 3.8
	}
	d.Reference["trial_makespan_mean_s"], d.Reference["trial_compute_makespan_mean_s"] = 3.677, 3.333
	d.Reference["trial_gap_max"] = 0.0123
	out.Reset()
	out.WriteString(formatReport(o, "out"))
	compareGolden(t, "table-replay.txt", out.String())
	checkLineWidths(t, out.String())
}
