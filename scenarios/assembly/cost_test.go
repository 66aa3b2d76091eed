package assembly

import "testing"

// TestCostLimits checks that MaxCount tasks or flows, and the packet hops of ten hours, are within
// the budget, and that one more is rejected with its cost. Under a larger budget it is not.
func TestCostLimits(t *testing.T) {
	for _, c := range []struct {
		unit  Cost
		count int
		want  string
	}{
		{LinkTask, LinkTask.MaxCount(), "they take about 8.59e+06 tasks, 8.59 GB of memory, 34 s to simulate; want fewer, for at most 8.59 GB of memory, or allow more with --max-memory"},
		{PodTask, PodTask.MaxCount(), "they take about 4.29e+06 tasks, 8.59 GB of memory, 34 s to simulate; want fewer, for at most 8.59 GB of memory, or allow more with --max-memory"},
		{Flow, Flow.MaxCount(), "they take about 8.59 GB of memory to simulate; want fewer, for at most 8.59 GB of memory, or allow more with --max-memory"},
		{Cost{Hops: 1, Seconds: 1. / 4e6}, 144e9, "they take about 1.44e+11 hops of packets, 10 h to simulate; want fewer, for at most 10 h, or allow more with --max-time"},
	} {
		if err := c.unit.Scale(float64(c.count)).CheckLimits("they", "fewer"); err != nil {
			t.Errorf("the maximum is rejected: %v", err)
		}
		if err := c.unit.Scale(float64(c.count+1)).CheckLimits("they", "fewer"); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		SetBudget(Budget{2 * DefaultBudget.Bytes, 2 * DefaultBudget.Seconds})
		if err := c.unit.Scale(float64(c.count+1)).CheckLimits("they", "fewer"); err != nil {
			t.Errorf("under twice the budget: %v", err)
		}
		SetBudget(DefaultBudget)
	}
	sum := LinkTask.Scale(2).Add(ScheduledHop.Scale(8e6))
	if want := (Cost{Tasks: 2, Hops: 8e6, Bytes: 2000, Seconds: 1 + 8e-6}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}
