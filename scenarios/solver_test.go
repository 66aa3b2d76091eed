package scenarios

import (
	"context"
	"strings"
	"testing"
)

// TestMissingSolver: where a policy needs a program that is not there it fails by itself when cells are decided one by
// one, and a run of all fails at once.
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
		t.Error(err)
	}
	want := "no MILP solver is on the PATH"
	if _, _, err := p.Decide(context.Background(), "delta-joint-milp", 1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Run(context.Background(), s, RunOptions{Workers: 1}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
