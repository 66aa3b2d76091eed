package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/scenarios"
)

// TestAnnounceRun: a message with the estimated time precedes a long simulation, and no other. It
// names a cheaper level unless the scenario has keys that this level does not use.
func TestAnnounceRun(t *testing.T) {
	const text = "name = \"a2a\"\n[workload]\nkind = \"all-to-all\"\nmessage = \"1MB\"\n" +
		"[fabric]\nkind = \"torus\"\ndims = [8, 8, 8]\n[policy]\nrouters = [\"dor\"]\n[engine]\nlevel = \"packet\"\n"
	file := filepath.Join(t.TempDir(), "a2a.toml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const toFlow, toStatic = "--set engine.level=flow", "--set engine.level=static"
	for _, c := range []struct {
		set  []string
		want []string // parts of the message; nil means no message
		hint bool     // the message names a level
	}{
		{[]string{"engine.level=packet"}, []string{"a2a: each policy takes about", "at level packet", toFlow}, true},
		{[]string{"workload.packet=2KB"}, []string{"at level packet"}, false},
		{[]string{"engine.level=flow"}, nil, false},
		{[]string{"engine.level=flow", `fabric.failed_links=["0 x+"]`, `policy.routers=["shortest"]`},
			[]string{"at level flow", "loads without times", toStatic}, true},
		{[]string{"fabric.dims=[2, 2, 2]"}, nil, false},
	} {
		s, err := scenarios.Load(file, c.set)
		if err != nil {
			t.Fatal(err)
		}
		cmd, _, stderr := newBufferedCommand()
		cost, err := s.Cost(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cmd.announceRun(t.Context(), &preparedRun{scenario: s, file: file, overrides: c.set}, cost)
		got := stderr.String()
		if (got == "") != (c.want == nil) || strings.Contains(got, "--set") != c.hint {
			t.Errorf("%s: %q", c.set, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q, want %q", c.set, got, part)
			}
		}
	}
}
