package accuracy

import (
	"math"
	"strings"
	"testing"
)

// TestExpertRows checks the calls to which the profile of H800 was fitted, and that a machine
// without the copies of its libraries is predicted too slow by several times.
func TestExpertRows(t *testing.T) {
	var rows []*Row
	for _, r := range Ledger() {
		if strings.HasPrefix(r.ID, "M-DEEPEP-") {
			rows = append(rows, r)
		}
	}
	predict := func(without ...string) (fitted, open float64) {
		predictions, err := Predict(t.Context(), rows, Options{Without: without})
		if err != nil {
			t.Fatal(err)
		}
		var sums, counts [2]float64 // of fitted and of open rows
		for _, p := range predictions {
			if p.Reason != "" {
				t.Fatalf("%s: %s", p.Row.ID, p.Reason)
			}
			i := 0
			if !p.Row.Fitted {
				i = 1
			}
			sums[i], counts[i] = sums[i]+math.Abs(math.Log(p.Ratio())), counts[i]+1
		}
		return math.Exp(sums[0] / counts[0]), math.Exp(sums[1] / counts[1])
	}
	fitted, open := predict()
	if fitted > 1.04 || open > 1.10 {
		t.Errorf("got typical factors of %.3f of fitted rows and %.3f of others, want at most 1.04 and 1.10", fitted, open)
	}
	if _, open := predict(expertCopies); open < 1.5 {
		t.Errorf("got a typical factor of %.3f with a copy per expert, want more than 1.5", open)
	}
	if fitted, _ := predict(expertLaunch); fitted < 1.1 {
		t.Errorf("got a typical factor of %.3f without launch, want more than 1.1", fitted)
	}
}

// TestOddExpertRows checks that rows that cannot be posed have a reason.
func TestOddExpertRows(t *testing.T) {
	const head = "id,hardware,gpus,nodes,parameters,metric,value,unit\n"
	for parameters, want := range map[string]string{
		"ep=8;op=dispatch":                              "the row does not state tokens_per_rank",
		"ep=8;op=dispatch;tokens_per_rank=-4":           "the row has tokens_per_rank=-4, not a count",
		"ep=12;op=dispatch;tokens_per_rank=4":           "12 GPUs do not fill nodes of 8",
		"ep=8;op=dispatch;tokens_per_rank=4;topk=x":     "the row has topk=x, not a count",
		"ep=16;op=combine;tokens_per_rank=4;topk=17000": "workload.top_k",
	} {
		rows, err := Read("odd.csv", []byte(head+"X,H800,8,1,"+parameters+",latency,5,us\n"))
		if err != nil {
			t.Fatal(err)
		}
		predictions, err := Predict(t.Context(), rows, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := predictions[0].Reason; !strings.Contains(got, want) {
			t.Errorf("%s: got reason %q, want %q", parameters, got, want)
		}
	}
}
