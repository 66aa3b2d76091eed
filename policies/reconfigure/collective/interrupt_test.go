package collective

import (
	"errors"
	"testing"

	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
)

// TestPlansHalt: planning and verification end with cancellation.ErrCancelled as soon as Problem.Stop
// returns true, and call it often.
func TestPlansHalt(t *testing.T) {
	p := problem(48, 3, collective.AllReduce, 64<<20, 8e11, us/2, us)
	want := must(best(p))(t)
	asked := 0
	count := *p
	count.Stop = func() bool { asked++; return false }
	must(frontierPlans(&count))(t)
	if asked < 100 {
		t.Errorf("asked %d times", asked)
	}
	for _, n := range []int{1, 2, asked / 2, asked} {
		left := n
		some := *p
		some.Stop = func() bool { left--; return left <= 0 }
		if _, err := frontierPlans(&some); !errors.Is(err, cancellation.ErrCancelled) {
			t.Errorf("asked %d of %d times: %v", n, asked, err)
		}
	}
	if err := want.toPlan().SealWithStop(func() bool { return true }); !errors.Is(err, cancellation.ErrCancelled) {
		t.Errorf("SealWithStop with a stop: %v, want cancellation.ErrCancelled", err)
	}
}
