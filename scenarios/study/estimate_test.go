package study

import (
	"context"
	"testing"
)

// TestWork: cells of packets are guessed by their hops, so that the time of a small one tells that of a large one;
// those that are there, or that another's decision serves, take none.
func TestWork(t *testing.T) {
	const text = `
[workload]
kind = "all-to-all"
packet = "1000B"
[fabric]
kind = "torus"
dims = [4, 4, 4]
failed_ocs = ["x0"]
[policy]
routers = ["wild-first"]
[sweep]
"workload.message" = ["1KB", "100MB"]
"workload.step.share" = [0.1, 0.2]
`
	p := plan(t, text)
	store := &Store{records: map[string]*Record{}, failures: map[string]string{}}
	w, err := p.Work(context.Background(), store)
	if err != nil {
		t.Fatal(err)
	}
	const pairs, hops = 64 * 63, 64.0 / 63 * 3 // on average
	want := pairs * hops * (1 + 1e5)           // packets
	if w.Hops < want || w.Hops > 1.02*want {   // round the switch
		t.Errorf("%g hops, want %g and a little more", w.Hops, want)
	}
	if w.Of[1] != 0 || w.Of[3] != 0 || w.Of[2] < 1000*w.Of[0] {
		t.Errorf("work of %g", w.Of)
	}
	small := &Record{Key: p.Sweep.Cells[0].Key}
	small.Timings.SimulateS = 2 * w.Of[0]
	store.records[small.Key] = small
	if w, err = p.Work(context.Background(), store); err != nil {
		t.Fatal(err)
	}
	seconds, missing, ok := p.Estimate(store, 1, w, nil)
	if least := 2 * w.Of[2]; !ok || missing != 3 || seconds < least || seconds > 1.01*least {
		t.Errorf("%g s for %d cells (%t), want %g", seconds, missing, ok, least)
	}
	if w, err = plan(t, text, "engine.level=static").Work(context.Background(), store); err != nil || w.Hops != 0 || w.Of[2] != 1 {
		t.Errorf("not of packets: %+v, %v", w, err)
	}
}
