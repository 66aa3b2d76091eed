package scenarios

import (
	"context"

	"testing"
)

// TestMissingSolver checks a policy that requires an external solver that is not installed. If
// rows are decided separately, only its row fails. A run of all policies fails.
func TestMissingSolver(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, err := Load("gpt7b", []string{`policy.allocators=["prop-alloc","delta-joint-milp"]`,
		"workload.microbatches=2"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Decide(context.Background(), "prop-alloc", 1); err != nil {
		t.Errorf("prop-alloc: got error %v, want none", err)
	}
	want := "no MILP solver is on the PATH"
	_, _, err = p.Decide(context.Background(), "delta-joint-milp", 1)
	checkError(t, err, want, "delta-joint-milp")
	_, err = Run(context.Background(), s, RunOptions{Workers: 1})
	checkError(t, err, want, "all policies")
}
