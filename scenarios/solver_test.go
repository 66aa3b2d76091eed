package scenarios

import (
	"context"
	"strings"
	"testing"
)

// TestMissingSolver checks a policy that requires an external solver that is not installed. If
// rows are decided separately, only its row fails. A run of all policies fails.
func TestMissingSolver(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, err := Load("gpt7b", []string{`policy.allocators=["prop-alloc","delta-joint-milp"]`, "workload.microbatches=2"})
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
	if _, _, err := p.Decide(context.Background(), "delta-joint-milp", 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
	if _, err := Run(context.Background(), s, RunOptions{Workers: 1}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}
