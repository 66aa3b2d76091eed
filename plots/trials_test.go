package plots

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

func init() {
	runs["trials"] = withTrials
	goldens["trials"] = []string{"trials"}
}

// withTrials returns a run of three policies with trials and one without. One policy stalls in
// a fifth of its trials, and one always has the same result.
func withTrials() (*result.Document, *result.Detail) {
	s := small
	s.policies = []string{"steady", "wide", "stalling", "no-trials"}
	doc, d := synthetic(s)
	for i := range 3 {
		r := &doc.Rows[i]
		r.Metrics["nct"] = 1.3 + 0.1*float64(i)
		r.Metrics["trial_count"] = 50
		var nct []float64
		for k := range 50 - 10*(i/2) {
			nct = append(nct, 1.25+float64(i)*(0.1+0.3*math.Abs(math.Sin(float64(k)))))
		}
		r.Samples = map[string][]float64{"nct": nct}
		r.Metrics["trial_stalls"] = float64(50 - len(nct))
	}
	return doc, d
}

// TestReplayFigure: the figure exists if there are samples, notes list omitted series, and
// numbers that are too large are rejected.
func TestReplayFigure(t *testing.T) {
	has := func(doc *result.Document, d *result.Detail) bool {
		t.Helper()
		figs, err := every(doc, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figs {
			f.Image(20)
		}
		return slices.ContainsFunc(figs, func(f sheet.Figure) bool { return f.Name == "trials" })
	}
	if has(synthetic(small)) {
		t.Error("a run without trials has the figure")
	}
	doc, d := withTrials()
	if !has(doc, d) {
		t.Error("a run with trials has no figure")
	}
	for i := range 20 { // more series than line styles, with one sample each, without a decision
		doc.Rows = append(doc.Rows, result.Row{Policy: fmt.Sprint("more ", i), Samples: map[string][]float64{"nct": {1}}})
	}
	if !has(doc, d) {
		t.Error("a run with many trials has no figure")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e300} {
		doc, d := withTrials()
		doc.Rows[1].Samples["nct"][3] = bad
		if _, err := every(doc, d); err == nil {
			t.Errorf("a sample of %v is drawn", bad)
		}
	}
}
