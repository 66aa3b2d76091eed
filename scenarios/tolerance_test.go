package scenarios

import (
	"strings"
	"testing"
)

// TestToleranceIsStated checks that the result of a run with engine.tolerance states its perturbation in
// the row and in the detail, that an exact run states none, and that completion obeys its lower bound.
func TestToleranceIsStated(t *testing.T) {
	const text = `[workload]
kind = "matrix"
matrix = [[0, 50000, 90000], [70000, 0, 20000], [60000, 10000, 0]]
[fabric]
kind = "electrical"
gpus = 3
link_rate = "400Gbps"
[engine]
level = "flow"
`
	exact := runText(t, text)
	row := exact.Document.Rows[0]
	if _, ok := row.Metrics["tolerance_delay_s"]; ok || row.Labels["tolerance"] != "" || exact.Detail.Policies[0].Perturbation != nil {
		t.Errorf("got a tolerance in an exact run: %v, %v", row.Metrics, row.Labels)
	}

	coarse := runText(t, text, "engine.tolerance=1us")
	if coarse.Document.Digest == exact.Document.Digest {
		t.Error("got one digest with and without a tolerance")
	}
	row = coarse.Document.Rows[0]
	p := coarse.Detail.Policies[0].Perturbation
	if p == nil || p.ToleranceS != 1e-6 || p.Bytes != row.Metrics["tolerance_bytes"] || p.Load != row.Metrics["tolerance_load"] ||
		p.DelayS != row.Metrics["tolerance_delay_s"] {
		t.Fatalf("got detail %+v for the metrics %v", p, row.Metrics)
	}
	if p.Bytes <= 0 || p.Bytes > 400e9/8*1e-6 || p.Load <= 0 || p.DelayS != 0 {
		t.Errorf("got %+v, want bytes up to a link's rate times 1 us, and no delay of starts at 0", p)
	}
	if label := row.Labels["tolerance"]; !strings.HasPrefix(label, "rates are computed at least 1.0000 µs apart") {
		t.Errorf("got label %q, want the tolerance", label)
	}
	const busiest = 140_000 * 8 / 400e9 // time of the most loaded link
	if got := row.Metrics["completion_s"]; got < busiest*(1-1e-9) || got > busiest*(1+p.Load)+1e-6 {
		t.Errorf("got completion %v with %+v, want about %v", got, p, busiest)
	}
}
