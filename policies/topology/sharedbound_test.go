package topology

import (
	"context"
	"testing"

	"pgregory.net/rapid"
)

// TestSharedWork checks that a search limited by work has the same result each time, and
// that its bound does not exceed the makespan found with more work.
func TestSharedWork(t *testing.T) {
	stopped := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		whole := solveJoint(context.Background(), p, newSharedBudget())
		o := searchBudget{SearchOptions: SearchOptions{MaxEvaluations: sharedEvaluations},
			maxWork: rapid.Int64Range(1, 3000).Draw(t, "work")}
		some := solveJoint(context.Background(), p, o)
		again := solveJoint(context.Background(), p, o)
		if some.bound != again.bound || some.makespan != again.makespan ||
			some.evaluations != again.evaluations {
			t.Fatalf("%+v, then %+v", some, again)
		}
		if some.bound > whole.makespan {
			t.Fatalf("bound %v exceeds makespan %v", some.bound, whole.makespan)
		}
		if some.stopped != "" {
			stopped++
		}
	})

	if stopped == 0 {
		t.Error("no search was stopped: nothing is tested")
	}
}
