package scenarios

import (
	"slices"
	"strings"
	"testing"
)

// TestAllPolicies: a list of policies named "all" contains each policy that the scenario accepts
// on its own, in the order of the table. The others are left out with a reason.
func TestAllPolicies(t *testing.T) {
	for _, c := range []struct {
		file      string
		overrides []string
		rows      []policyRow
		leftOut   string // a part of the reasons
	}{
		{"gpt7b", []string{`policy.allocators="all"`}, allocators, `"all" leaves out fixed; policy.fixed.circuits is missing`},
		{"gpt7b", []string{`policy.allocators=["all"]`}, allocators, "leaves out fixed"},
		{"gpt7b", []string{"unset=workload,fabric.gpus_per_pod_per_replica", `policy.allocators=["all"]`, "engine.level=static", "workload.kind=all-to-all", "workload.message=1MB", "fabric.pods=2", "fabric.gpus_per_pod=4"}, allocators, "leaves out rotor"},
		{"fault", []string{`policy.routers="all"`}, routers, ""},
		{"fault", []string{`policy.allocators=["all"]`}, routers, ""},                        // as --policy all
		{"all-reduce", []string{`policy.allocators=["all"]`}, planners, "leaves out fast; "}, // plans other collectives
		{"twojobs", []string{`policy.allocators=["all"]`}, multiJobAllocators, ""},
	} {
		s, err := Load(c.file, c.overrides)
		if err != nil {
			t.Errorf("%s %v: %v", c.file, c.overrides, err)
			continue
		}
		reasons := s.LeftOut.Error()
		if !strings.Contains(reasons, c.leftOut) || c.leftOut == "" && len(s.LeftOut) > 0 {
			t.Errorf("%s %v leaves out %s, want %q", c.file, c.overrides, reasons, c.leftOut)
		}
		var want []string
		for _, row := range c.rows {
			if !strings.Contains(reasons, "leaves out "+row.name+";") {
				want = append(want, row.name)
			}
		}
		if got := s.PolicyNames(); !slices.Equal(got, want) || len(got) < 2 {
			t.Errorf("%s %v compares %v, want %v", c.file, c.overrides, got, want)
		}

		// The resolved scenario names the policies.
		again, err := Parse("again.toml", s.TOML(), nil)
		if err != nil || !slices.Equal(again.PolicyNames(), s.PolicyNames()) || again.Digest() != s.Digest() {
			t.Errorf("%s %v: read again: %v", c.file, c.overrides, err)
		}
	}

	// In [sweep], too, the list is compared in each variant.
	st, err := ParseStudy("s.toml", []byte("base = \"fault\"\n[sweep]\n\"policy.routers\" = \"all\"\nseed = [1, 2]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := st.Variant(1); err != nil || st.Variants() != 2 || len(s.PolicyNames()) != len(routers) {
		t.Errorf("a study of all routers: %v, %v", s, err)
	}

	// If the scenario accepts no policy, the checks report why.
	if _, err := Load("fault", []string{`policy.routers="all"`, "fabric.failed_chips=[999]"}); err == nil || strings.Contains(err.Error(), "leaves out") {
		t.Errorf("with a fault that is not there: %v", err)
	}
}
