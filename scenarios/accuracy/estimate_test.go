package accuracy

import (
	"context"
	"math"
	"testing"

	"sim/internal/parallel"
	"sim/scenarios"
)

// TestEstimate: estimates by formulas agree with the predictions of scenarios, for some rows of
// each series of the ledger.
func TestEstimate(t *testing.T) {
	ctx := context.Background()
	var rows []*Row
	for i, r := range Ledger() {
		if classOf(r).estimate != nil && i%5 == 0 {
			rows = append(rows, r)
		}
	}
	predictions, err := Predict(ctx, rows, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	estimates := make([]float64, len(rows))
	err = parallel.Do(ctx, 2, len(rows), func(i int) {
		if p := scenarios.Machine(predictions[i].Machine); p != nil {
			estimates[i], _ = Estimate(ctx, rows[i], p) // 0 without an estimate
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := range predictions {
		p := &predictions[i]
		if p.Reason == "" {
			compared++
		}
		const tolerance = 0.01 // bytes and times of scenarios are whole numbers
		if math.Abs(estimates[i]-p.Value) > tolerance*p.Value {
			t.Errorf("%s (%s): got the estimate %g and the prediction %g %s; measured %g", p.Row.ID, p.Row.Parameters["collective"], estimates[i], p.Value, p.Row.Unit, p.Row.Value)
		}
	}
	if compared < 50 {
		t.Errorf("compared %d rows, want 50 or more", compared)
	}
}
